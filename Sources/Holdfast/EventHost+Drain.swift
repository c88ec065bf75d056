internal import CrashCapture
internal import CrashReports
internal import Logging
internal import RunLoops

extension EventHost {
    /// Adds a handler that is called on the main loop before the process is replaced: refuse new work, and end the work under way.
    ///
    /// It is called when another thread than the main one has faulted and cannot be resumed, and before a planned restart. After a fault of
    /// the main thread that is not resumed, nobody could call it. The process is replaced as soon as every hold that the handlers took is
    /// released, and at the latest after `Configuration.drainDeadline`. If a handler faults, the others are called all the same.
    ///
    /// - Parameter handler: The handler.
    /// - Returns: An observation, which gives the handler up.
    @discardableResult
    public func onDrain(_ handler: @escaping @MainActor (Drain) -> Void) -> Observation {
        drainHandlers.add(handler)
    }

    /// Whether the process is about to be replaced.
    public var isDraining: Bool { drain != nil }

    /// Calls the drain handlers, each in a callout of its own, and then `finish`; a drain that is under way goes on.
    func startDrain(
        _ reason: Drain.Reason,
        until deadline: HostRunLoop.Instant,
        parkedThread: CInt? = nil,
        finish: @escaping @MainActor () -> Void
    ) {
        guard drain == nil else { return }
        let drain = Drain(reason, until: deadline, parkedThread: parkedThread, whenDone: finish)
        self.drain = drain
        configuration.logger.notice(
            "draining",
            metadata: ["reason": "\(reason)", "handlers": "\(drainHandlers.all.count)"]
        )
        // Held until the last handler was called: a handler that releases its hold at once must not end the drain for the others.
        let whole = drain.hold()
        for handler in drainHandlers.all {
            loop.performWithoutWaking(in: .common, label: "drain handler") { handler(drain) }
        }
        loop.performWithoutWaking(in: .common, label: "drain") { whole.release() }
        drain.whenLate = { [capture, logger = configuration.logger] in
            // Not for long: it is late already.
            guard let dump = TaskDumper(capture, within: .milliseconds(500)).dumpUnlessEmpty() else { return }
            logger.warning("the deadline of the drain has come, and these tasks have not ended:")
            for line in dump.lines { logger.warning("\(line)") }
        }
        drain.keepTime(on: loop)
        loop.wakeUp()
    }

    /// Has the process that stands by serve from now on, if there is one, because a thread has faulted and this process will drain.
    ///
    /// - Parameter thread: The thread that faulted. If it is an event loop, its connections are ended.
    /// - Returns: What was under way at that moment; nil if nothing is to be waited for.
    func releaseStandby(afterFaultOf thread: CInt) -> RequestsUnderWay? {
        guard drain == nil, !isStopping, !isWaiting, SignalEvents.ownOrder == nil else {
            sink.drains.signal()
            drain?.requests?.note(faultOf: thread)
            if drain != nil { endConnections(of: thread) }
            return nil
        }
        let isSucceeded =
            configuration.restart.exitCode == nil && kept.isEmpty && !mayTakeOver && capture.releaseStandby()
        if isSucceeded { ListenerHandover.restNow() }
        let patience = configuration.advanced.requestPatience
        let requests = RequestsUnderWay(afterFaultOf: thread, isSucceeded: isSucceeded, patience)
        endConnections(of: thread)
        sink.drains.signal()
        return requests
    }

    /// Ends the connections of an event loop whose thread stands still.
    private func endConnections(of thread: CInt) {
        let ended = ListenerHandover.endConnections(ofThread: thread)
        guard ended > 0 else { return }
        configuration.logger.notice(
            "ended the connections of the thread that stands still",
            metadata: ["count": "\(ended)"]
        )
    }

    /// Drains while a thread that faulted stands in its handler and waits, until the same deadline.
    ///
    /// - Parameters:
    ///   - deadline: The deadline.
    ///   - parkedThread: The thread.
    ///   - requests: What was under way when the thread faulted; nil if nothing is to be waited for.
    func drainAfterFault(until deadline: HostRunLoop.Instant, parkedThread: CInt, requests: RequestsUnderWay?) {
        // A planned drain is under way: at its end the process is replaced, and that thread with it.
        guard drain == nil, !isStopping else { return }
        // Nothing was served yet, so nothing drains. The thread goes on waiting for the end of the back-off.
        guard !isWaiting else {
            if let order = SignalEvents.ownOrder { return endInstead(by: order, at: deadline) }
            return capture.endDrain()
        }
        startDrain(.fault, until: deadline, parkedThread: parkedThread == 0 ? nil : parkedThread) { [self] in
            requests?.forget()
            let end = drain?.deadline ?? deadline
            // One that stands by and waits for what is kept can serve at once.
            guard let requests, !requests.isSucceeded, standby?.hasStandby != true else {
                return endDrain(at: end, isSucceeded: requests?.isSucceeded ?? false)
            }
            requests.rest(on: loop, before: end, keepsSockets: configuration.restart == .inPlace) { [self] in
                endDrain(at: end, isSucceeded: false)
            }
        }
        drain?.requests = requests
        if let drain, let requests, requests.isSucceeded { requests.hold(drain, on: loop) }
    }

    /// Replaces the process, unless the program has taken an order to end.
    private func endDrain(at deadline: HostRunLoop.Instant, isSucceeded: Bool) {
        if let order = SignalEvents.ownOrder { return endInstead(by: order, at: deadline) }
        callRestartHandlers(restartHandlers.all[...], for: .fault) { [capture] in
            if isSucceeded { ListenerHandover.endConnections() }
            // The next process finishes the record of that fault: there is nothing to wait for.
            capture.endDrain()
        }
    }

    /// Lets the program end by itself, because it has taken an order to end, and ends the process by that order if it has not in time.
    ///
    /// The next process would know nothing of the order. The work of the thread that stands still never ends, so a graceful shutdown that
    /// waits for all work may not end either.
    private func endInstead(by order: CInt, at deadline: HostRunLoop.Instant) {
        configuration.logger.notice(
            "the process is not restarted, because the program was told to end: it has until the deadline of the drain for that",
            metadata: ["signal": "\(order)"]
        )
        for slot in capture.forgoRestart() { writer.enqueue(slot: slot) }
        let late = HostRunLoop.Timer(ofHost: "end by an order", fireAt: deadline) {
            [writer, logger = configuration.logger] _ in
            logger.notice(
                "the program has not ended in time: the process ends by the order",
                metadata: ["signal": "\(order)"]
            )
            writer.flush(limit: .seconds(2))
            SignalEvents.end(by: order)
        }
        loop.add(late, to: .common)
    }

    /// Ends a drain without what was to follow it: the process is not replaced.
    func forgoDrain() {
        drain?.forgo()
        drain = nil
    }

    /// Calls the handlers of a restart and then `finish`; if a handler faults, the others are called all the same.
    func callRestartHandlers(
        _ handlers: ArraySlice<Handlers<Void>.Handler>,
        for reason: RestartReason,
        finish: @escaping @MainActor () -> Void
    ) {
        // One of them may have told the host to stop. That does not end a restart that the program itself asked for.
        guard reason == .requested || !isStopping else { return }
        guard let handler = handlers.first else { return finish() }
        let rest = handlers.dropFirst()
        let others = HostRunLoop.addCleanup { [weak self] in
            MainActor.assumeIsolated { self?.callRestartHandlers(rest, for: reason, finish: finish) }
        }
        handler(())
        others.cancel()
        callRestartHandlers(rest, for: reason, finish: finish)
    }
}
