import FaultInjection
import Glibc
import Holdfast
import Synchronization

extension Probe {
    /// What a policy's objection does on the crash thread is nobody's to decide on.
    nonisolated static func faultingObjection(_ fault: FaultSummary) -> StaticString? {
        // The made-up fault with which it is warmed up.
        if fault.number > 0 { Fault.nilUnwrap.commit() }
        return nil
    }

    /// What a policy's objection waits for on the crash thread does not come.
    nonisolated static func blockingObjection(_ fault: FaultSummary) -> StaticString? {
        while fault.number > 0 { pause() }
        return nil
    }

    // MARK: Draining

    /// Another thread faults: both handlers are called, and the restart waits for the hold of the first.
    func drain() {
        host.onDrain { [host] drain in
            let hold = drain.hold()
            Probe.say("first, for \(drain.reason), draining \(host.isDraining)")
            let later = HostRunLoop.Timer(label: "later", after: .milliseconds(20)) { _ in
                Probe.say("drained")
                hold.release()
            }
            host.loop.add(later)
        }
        host.onDrain { _ in
            Probe.say("second")
            Fault.nilUnwrap.commit()
        }
        host.onDrain { _ in Probe.say("third") }
        host.onFault { message in
            if case .draining = message.event { Probe.say("told of it") }
        }
        perform { self.otherThread() }
        finishNever()
    }

    /// The hold is never released.
    func drainDeadline() {
        var holds: [Hold] = []
        host.onDrain { drain in
            Probe.say("holding")
            holds.append(drain.hold())
        }
        perform { self.otherThread() }
        finishNever()
    }

    /// The main loop does not come back from a drain handler.
    func drainNeverReturns() {
        host.onDrain { _ in
            Probe.say("waiting")
            while true { pause() }
        }
        perform { self.otherThread() }
    }

    /// The main loop hears of the fault long after the thread that faulted has begun to wait.
    func drainClock() {
        var holds: [Hold] = []
        var latest = HostRunLoop.Instant.distantPast
        host.onDrain { drain in
            holds.append(drain.hold())
            Probe.say("in time \(drain.deadline <= latest), told \(drain.parkedThread != nil)")
        }
        host.onRestart { Probe.say("handing over") }
        perform { [host] in
            self.otherThread()
            // Until its message has come: the deadline stands by then.
            let port = host.loop.snapshot().json.firstMatch(of: #/"label":"crash messages",[^}]*"descriptor":(\d+)/#)
            var wanted = pollfd(fd: port.flatMap { CInt($0.1) } ?? -1, events: Int16(POLLIN), revents: 0)
            while poll(&wanted, 1, -1) != 1 {}
            latest = .now.advanced(by: .seconds(5))
            // Busy, so that the main loop's own clock would begin later.
            usleep(500_000)
        }
        finishNever()
    }

    /// A handler of the restart that releases another hold does not begin the end once more.
    func drainEndsOnce() {
        var drain: Drain?
        host.onDrain { drain = $0 }
        host.onRestart {
            Probe.say("handing over")
            drain?.hold().release()
        }
        host.onRestart { Fault.nilUnwrap.commit() }
        host.onRestart { Probe.say("the last handler") }
        perform { self.otherThread() }
        finishNever()
    }

    /// The hold is never released, and the deadline is hours away.
    func drainEndWithin() {
        let worker = ThreadNumber()
        var holds: [Hold] = []
        host.onRestart { Probe.say("handing over") }
        host.onDrain { drain in
            holds.append(drain.hold())
            let whole = drain.deadline
            drain.end(within: .milliseconds(1))
            let earlier = drain.deadline
            drain.end(within: .seconds(3600))
            let isParked = drain.parkedThread == worker.value.load(ordering: .acquiring)
            Probe.say("earlier \(earlier < whole), later \(drain.deadline != earlier), thread \(isParked)")
        }
        perform {
            Probe.startThread {
                worker.value.store(ThreadNumber.own, ordering: .releasing)
                Fault.nilUnwrap.commit()
            }
        }
        finishNever()
    }

    /// Nobody serves the main loop, so nobody could drain it.
    func threadFaultWithoutRun() {
        host.onDrain { _ in Probe.say("draining") }
        Probe.startThread { Fault.nilUnwrap.commit() }
        while true { pause() }
    }

    /// There is nothing to drain with a broken heap.
    func brokenHeapOnThread() {
        host.onDrain { _ in Probe.say("draining") }
        perform { Probe.startThread { Fault.doubleFree.commit() } }
        finishNever()
    }

    // MARK: Loops of other threads

    func loopThread() throws {
        let thread = try HostRunLoop.LoopThread(name: "second")
        // Three messages, and the word of the other thread that it is done.
        var left = 4
        let done: @MainActor () -> Void = {
            left -= 1
            if left == 0 { self.host.stop() }
        }
        host.onFault { message in
            Probe.say("fault \(message.number) of \(message.thread == getpid() ? "main" : "another")")
            done()
        }
        for number in 1...3 {
            thread.loop.performForNobody(label: "second") { Fault.nilUnwrap.commit() }
            thread.loop.performForNobody(label: "second") { Probe.say("after \(number)") }
        }
        thread.loop.performForNobody(label: "second") {
            HostRunLoop.main.perform { MainActor.assumeIsolated { done() } }
        }
        thread.loop.wakeUp()
        kept.append(thread)
        finishNever()
    }

    // MARK: Quarantine

    /// A timer that always faults, until it is out; then once more on probation, and out for ever.
    func quarantine() {
        let timer = HostRunLoop.Timer(label: "bad timer", after: .zero, repeating: .milliseconds(1)) { _ in
            Fault.nilUnwrap.commit()
        }
        host.loop.add(timer)
        watchQuarantine(of: timer.identifier)
    }

    func quarantineOnLoopThread() throws {
        let thread = try HostRunLoop.LoopThread(name: "second")
        let commit: @Sendable (HostRunLoop.Timer) -> Void = { _ in Fault.nilUnwrap.commit() }
        let timer = HostRunLoop.Timer(label: "bad timer", after: .zero, repeating: .milliseconds(1), perform: commit)
        kept.append(thread)
        watchQuarantine(of: timer.identifier)
        thread.loop.add(timer)
        thread.loop.wakeUp()
    }

    private func watchQuarantine(of item: UInt64) {
        var rounds = 0
        host.onFault { [self] message in
            guard case .quarantined(let coolDown) = message.event else { return Probe.say("fault \(message.number)") }
            rounds += 1
            Probe.say("quarantined \(host.quarantinedLabels) own \(message.item == item) again \(coolDown != nil)")
            if rounds == 2 {
                perform { Probe.say("served") }
                finish()
            }
        }
        finishNever()
    }

    // MARK: Restarts

    func afterTheRun() {
        finish()
    }

    func exitForRestart() {
        perform { Fault.wildPointer.commit() }
        finishNever()
    }

    /// Each process faults in the callout of the same item, until it is left out; then somewhere else, until there is no host.
    func runInCrashLoop() {
        switch host.stage {
        case .normal:
            Probe.say("normal")
            let source = HostRunLoop.Timer(label: "bad timer", after: .zero) { _ in Fault.wildPointer.commit() }
            host.loop.add(source)
        case .safeMode(let labels):
            Probe.say("without \(labels.sorted()), for \(host.history.reason)")
            let source = HostRunLoop.Timer(label: "bad timer", after: .zero) { _ in Probe.say("served") }
            host.loop.add(source)
            Probe.say("withheld \(host.loop.withheldItems.map(\.label))")
            perform { Fault.wildPointer.commit() }
        case .giveUp: Probe.say("given up")
        }
        host.run()
    }

    func crashLoop() {}

    // MARK: Policies and budgets

    func itemPolicy() throws {
        let timer = HostRunLoop.Timer(label: "strict", after: .milliseconds(1)) { _ in Fault.nilUnwrap.commit() }
        timer.recoveryPolicy = .never
        perform({ Fault.nilUnwrap.commit() }, { Probe.say("resumed") })
        host.loop.add(timer)
        finishNever()
    }

    func objection() {
        perform({ Fault.nilUnwrap.commit() }, { Probe.say("resumed") }, { Fault.divideByZero.commit() })
        finishNever()
    }

    func faultInPolicy() {
        perform { Fault.nilUnwrap.commit() }
        finishNever()
    }

    func blockingPolicy() {
        perform { Fault.nilUnwrap.commit() }
        finishNever()
    }

    /// Each callout leaves four descriptors open.
    func descriptorBudget() {
        var received = 0
        host.onFault { _ in received += 1 }
        for number in 1...5 {
            perform(
                {
                    for _ in 1...4 { _ = dup(STDOUT_FILENO) }
                    Fault.nilUnwrap.commit()
                },
                { Probe.say("after \(number)") }
            )
            // The message of a fault, with which the descriptors are counted, comes before the next one.
            perform {
                while received < number {
                    self.host.loop.run(in: .default, for: .seconds(10), returnAfterSourceHandled: true)
                }
            }
        }
        finishNever()
    }

    // MARK: After a callout

    /// What an abandoned callout registered runs, the newest first; one that faults costs itself; the others were dropped.
    func cleanups() {
        let box = Poisonable([1, 2, 3], name: "the list")
        perform(
            {
                HostRunLoop.addCleanup { Probe.say("oldest") }
                HostRunLoop.addCleanup { Fault.nilUnwrap.commit() }
                HostRunLoop.addCleanup { Probe.say("newest") }
                HostRunLoop.addCleanup { Probe.say("cancelled") }.cancel()
                try? box.withValue { values in
                    values.append(4)
                    Fault.nilUnwrap.commit()
                }
            },
            {
                HostRunLoop.addCleanup { Probe.say("dropped") }
                do {
                    try box.withValue { values in Probe.say("\(values)") }
                } catch {
                    Probe.say("poisoned \(box.isPoisoned)")
                }
                box.replace(with: [])
                Probe.say("healed \(!box.isPoisoned)")
            }
        )
        finish()
    }
}

/// The id of a thread that a scenario starts.
private final class ThreadNumber: Sendable {
    let value = Atomic<CInt>(0)

    /// That of the calling thread: a link of proc(5) to "PID/task/NUMBER".
    static var own: CInt {
        var bytes = [CChar](repeating: 0, count: 64)
        let count = readlink("/proc/thread-self", &bytes, bytes.count)
        let path = String(decoding: bytes.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return path.split(separator: "/").last.flatMap { CInt($0) } ?? -1
    }
}
