import FaultInjection
import Glibc
import Holdfast

/// What the host keeps count of, and what it needs itself.
extension Probe {
    /// The quarantine ends before the message of its beginning was served.
    ///
    /// No port is served in the pass that fires timers, so these observers come between the fault and the message.
    func quarantineEndedEarly() {
        let bad = faultingTimer()
        host.loop.add(bad)
        let early = HostRunLoop.Observer(label: "early", activities: [.beforeTimers, .exit]) { _, _ in
            guard bad.isQuarantined, bad.endQuarantine() else { return }
            Probe.say(bad.isQuarantined ? "still there" : "ended")
            bad.invalidate()
        }
        host.loop.add(early)
        stopWhenQuarantined()
    }

    /// Its handler must not keep the host from taking the item out.
    func ownAbandonHandler() throws {
        let thread = try HostRunLoop.LoopThread(name: "second")
        kept.append(thread)
        // Not the main actor's, as one that is written behind the call would be.
        let bury: @Sendable (HostRunLoop.AbandonedCallout) -> Void = { callout in callout.stack.bury() }
        thread.loop.setAbandonHandler(bury)
        stopWhenQuarantined()
        thread.loop.add(faultingTimer())
        thread.loop.wakeUp()
    }

    /// The runtime puts each text behind those that are there, and keeps both: they would grow with the square of the faults.
    func clearedMessages() {
        typealias Buffer = @convention(c) () -> UnsafePointer<UnsafePointer<CChar>?>
        guard let symbol = dlsym(nil, "swift_getFatalErrorMessageBuffer") else { return }
        let buffer = unsafeBitCast(symbol, to: Buffer.self)()
        for number in 1...3 {
            perform(
                { fatalError("text \(number)") },
                { Probe.say(buffer.pointee.map { String(cString: $0) } ?? "none") }
            )
        }
        finish()
    }

    private func faultingTimer() -> HostRunLoop.Timer {
        let commit: @Sendable (HostRunLoop.Timer) -> Void = { _ in Fault.nilUnwrap.commit() }
        return HostRunLoop.Timer(label: "bad timer", after: .zero, repeating: .milliseconds(1), perform: commit)
    }

    private func stopWhenQuarantined() {
        host.onFault { [host] message in
            guard case .quarantined = message.event else { return }
            Probe.say("quarantined \(host.quarantinedLabels)")
            host.stop()
        }
    }

    /// A handler that always faults must not cost the process its other signals.
    func faultsInSignalHandler() throws {
        var heard = 0
        try host.onSignal(SIGUSR1) { _ in Fault.nilUnwrap.commit() }
        try host.onSignal(SIGUSR1) { [host] _ in
            guard host.statistics.resumedFaults == 3 else { return }
            // The fourth signal: the first handler is left out.
            heard += 1
            guard heard == 2 else { return }
            Probe.say("the others are called")
            host.stop()
        }
        host.onFault { [host] message in
            Probe.say("fault \(message.number) \(host.quarantinedLabels)")
            kill(getpid(), SIGUSR1)
        }
        kill(getpid(), SIGUSR1)
    }

    /// The same, and its time out is short.
    func signalHandlerTriedAgain() throws {
        try host.onSignal(SIGUSR1) { _ in Fault.nilUnwrap.commit() }
        host.onFault { [host] message in
            Probe.say("fault \(message.number) \(host.quarantinedLabels)")
            if message.number == 4 { return host.stop() }
            guard message.number == 3 else {
                kill(getpid(), SIGUSR1)
                return
            }
            // Until it is called again.
            let again = HostRunLoop.Timer(label: "again", after: .zero, repeating: .milliseconds(5)) { _ in
                kill(getpid(), SIGUSR1)
            }
            host.loop.add(again, to: .common)
        }
        kill(getpid(), SIGUSR1)
    }

    /// Blocked for a few instructions, of which one faults.
    func blockedSignal() throws {
        try host.onSignal(SIGTERM) { [host] _ in
            Probe.say("told to end")
            host.stop()
        }
        perform(
            {
                var set = sigset_t()
                sigemptyset(&set)
                sigaddset(&set, SIGTERM)
                pthread_sigmask(SIG_BLOCK, &set, nil)
                Fault.nilUnwrap.commit()
                pthread_sigmask(SIG_UNBLOCK, &set, nil)
            },
            { kill(getpid(), SIGTERM) }
        )
    }

    /// A thread that stands still has left its words behind.
    func wordsOfAnother() {
        host.onDrain { _ in Fault.fatalError.commit() }
        perform { Probe.startThread { fatalError("the other thread's words") } }
        finishNever()
    }
}
