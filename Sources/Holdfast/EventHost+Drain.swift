internal import Logging
internal import RunLoops

extension EventHost {
    /// Adds a handler that is called on the main loop before the process is replaced: refuse new work, end what is under way.
    ///
    /// Called when a thread other than the main one has faulted and cannot be resumed, and before a planned restart. A fault
    /// of the main thread that is not resumed leaves nobody to call it. The process is replaced as soon as every hold that the
    /// handlers took is released, and after `Configuration.drainDeadline` at the latest. A handler that faults costs itself.
    ///
    /// - Parameter handler: What is called.
    /// - Returns: What to give it up with.
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
        // Held until the last handler was called: one that releases at once must not end it for the others.
        let whole = drain.hold()
        for handler in drainHandlers.all {
            loop.performWithoutWaking(in: .common, label: "drain handler") {
                MainActor.assumeIsolated { handler(drain) }
            }
        }
        loop.performWithoutWaking(in: .common, label: "drain") { MainActor.assumeIsolated { whole.release() } }
        drain.keepTime(on: loop)
        loop.wakeUp()
    }

    /// A thread stands in its handler and waits for the main loop to drain, until the same time.
    func drainAfterFault(until deadline: HostRunLoop.Instant, parkedThread: CInt) {
        // One that was planned is under way: at its end the process is replaced, and that thread with it.
        guard drain == nil, !isStopping else { return }
        // Nothing has been served yet. The thread goes on waiting for the end of the back-off.
        guard !isWaiting else { return capture.endDrain() }
        startDrain(.fault, until: deadline, parkedThread: parkedThread == 0 ? nil : parkedThread) { [self] in
            callRestartHandlers(restartHandlers.all[...], for: .fault) { [capture] in
                // The record of that fault is finished by the next process: there is nothing to wait for.
                capture.endDrain()
            }
        }
    }

    /// Ends a drain without what was to follow it: the process is not replaced.
    func forgoDrain() {
        drain?.forgo()
        drain = nil
    }

    /// Calls the handlers of a restart and then `finish`: one that faults costs itself.
    func callRestartHandlers(
        _ handlers: ArraySlice<Handlers<Void>.Handler>,
        for reason: RestartReason,
        finish: @escaping @MainActor () -> Void
    ) {
        // One of them may have told the host to stop. The program's own wish comes after that, or it would not be there.
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
