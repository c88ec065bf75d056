internal import CRecoveryPoint
internal import CrashCapture
internal import Logging
internal import RunLoops
internal import StallDetection

extension EventHost {
    /// Serves until `stop()` is called.
    ///
    /// The loop runs in its default mode. After a fault all of its modes run in short slices until a probation has passed (`ReentrySweep`).
    /// If `stop()` was called since the last run, or before the first one, it returns at once. Once it has returned, a fault ends the
    /// process by its signal.
    ///
    /// After `stop()` nothing restarts the process. A thread that had faulted, and waited for the main loop to drain, stands still until
    /// the process ends: do not wait for it. If the program runs again instead, the process is replaced at once.
    public func run() {
        beginServing()
        if standby?.hasWaited == true {
            doLater("tell that it serves") { if !$0.isStopping { $0.tellReady() } }
        } else if !isStopping, standby?.isWaiting != true {
            tellReady()
        }
        // What a verdict needs is read in a moment.
        inspector.noteServing()
        while !isStopping { serveOnce() }
        endServing()
    }

    /// Does what a run begins with.
    func beginServing() {
        if hasBegun, !isStopping { SignalEvents.settleOrders() }
        setStopping(false)
        // A run that was stopped meanwhile has not handed over.
        isLeaving = false
        endsForGood = false
        if isStopping { forgoRestart() } else { capture.allowRestart() }
        // After restarts are allowed: from then on a thread that begins to stand still restarts the process itself.
        let isBroken = !isStopping && (hasForgone || capture.hasThreadThatStandsStill)
        supervisor.isServed = true
        signalWarden.serve()
        if let open = DescriptorCensus.openDescriptors() { census.begin(open: open, watched: loop.watchedDescriptors) }
        // Signals that came while the process before this one was replaced: their observers are in place by now.
        SignalEvents.release(history.heldSignals)
        beginToServe()
        leaveIfSucceeded()
        if isBroken { restartForForgone() }
    }

    /// Runs the loop until something has to be done at the top.
    func serveOnce() {
        if mustRestart {
            leave(.planned)
        } else if needsSweep {
            needsSweep = false
            sweep()
        } else {
            // Longer than CFRunLoop's own notion of for ever (CFRunLoop.c, TIMER_INTERVAL_LIMIT).
            _ = loop.run(in: .default, for: .seconds(1_000_000_000))
        }
    }

    /// Does what a run ends with.
    func endServing() {
        setStopping(true)
        handOver()
        writer.flush(limit: .seconds(5))
        supervisor.isServed = false
        // Reset only here: a service that is told to end while it starts must not serve for ever.
        isStopping = false
    }

    private func setStopping(_ isStopping: Bool) {
        supervisor.isStopping = isStopping
        setEnding(isStopping)
    }

    /// Has faults end the process instead of restarting it, or undoes that.
    private func setEnding(_ isEnding: Bool) {
        supervisor.isEnding = isEnding
        capture.setVerdictWithoutDecision(isEnding ? .terminate : configuration.restart.verdict)
    }

    /// Ends `run()` after the callout that is running; before `run()`, the next one ends at once.
    ///
    /// Unlike a stop of the loop it is never lost. Reports that wait are written first. From now on nothing restarts the process. A drain
    /// that is under way ends without a restart. A fault that is not resumed ends the process by its signal.
    public func stop() {
        isStopping = true
        notifier.noteStop()
        forgoRestart()
        endRun()
    }

    // MARK: Orders to end

    /// Called before a handler of an order to end: faults end the process instead of restarting it.
    ///
    /// - Parameter isRepeated: Whether the process before this one was replaced on its way to the end. Then nothing replaces this one.
    func beginOrder(isRepeated: Bool) {
        if isRepeated { endsForGood = true }
        setEnding(true)
    }

    /// Called when that handler has returned.
    func endOrder() {
        guard !isStopping, !supervisor.isStopping, !endsForGood else { return }
        setEnding(false)
    }

    /// Carries out an order to end after a handler of it has faulted.
    func stop(forFailedOrder signal: CInt) {
        configuration.logger.critical(
            "a handler of a signal that asks the process to end has faulted: the host stops",
            metadata: ["signal": "\(signal)"]
        )
        stop()
    }

    /// Forbids restarts, and has the faults reported that were to restart the process.
    func forgoRestart() {
        setEnding(true)
        forgoDrain()
        for slot in capture.forgoRestart() {
            hasForgone = true
            writer.enqueue(slot: slot)
        }
    }

    /// Carries out a restart that was forgone: the program goes on after all, but a thread that faulted still holds what it holds.
    private func restartForForgone() {
        configuration.logger.critical(
            "running again after a fault for which the process was to be replaced: it is replaced now"
        )
        leave(.fault)
    }

    /// Ends the run at the top: now, or as soon as its nested runs have ended.
    func endRun() {
        loop.stop()
        if loop.nesting > 1 { stopAtTop() }
    }

    /// Gives back the signals, removes the fault handlers and the spool file.
    ///
    /// Call it last, when `run()` has returned.
    public func close() {
        ItemPolicies.setHost(nil)
        BoundaryHost.setOpener(nil)
        BoundaryHost.setParts(nil)
        stallWatch.watch?.stop()
        deadlines.stop()
        notifier.close()
        listeners?.close()
        // Needed for a program that runs the loop by itself.
        setStopping(true)
        forgoRestart()
        writer.flush(limit: .seconds(5))
        signalPort.close()
        faultHandlers.invalidate()
        drainHandlers.invalidate()
        restartHandlers.invalidate()
        for observation in stallObservations { observation.invalidate() }
        capture.uninstall()
    }

    /// Waits until the reports of all faults so far are in the store, and those of stalls are up to date.
    ///
    /// - Parameter limit: How long to wait at most. It stops waiting earlier if a report cannot be written and its record is safe in the
    ///   spool.
    /// - Returns: Whether they are.
    @discardableResult
    public func flushReports(within limit: Duration) -> Bool {
        let end = HostRunLoop.Instant.now.advanced(by: limit)
        let isFlushed = writer.flush(limit: limit)
        return (stallWatch.watch?.reporter.settle(before: end) ?? true) && isFlushed
    }

    /// Runs code in which a fault is never resumed, because it would leave something half done that others rely on.
    public nonisolated static func withCriticalSection<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        hf_critical_enter()
        defer { hf_critical_leave() }
        return try body()
    }

    private func sweep() {
        // Callouts in the sweep do not count as served.
        let witness = loop.serviceWitness
        loop.serviceWitness = nil
        defer { loop.serviceWitness = phase == .serving ? nil : witness }
        let result = ReentrySweep(scope: configuration.advanced.sweepsUnusedModes ? .allModes : .usedModes).run(
            on: loop,
            faultCount: { supervisor.resumedFaults },
            shouldStop: { isStopping || mustRestart }
        )
        // Faults whose messages came during the sweep begin another one.
        if result == .clean, toldClean != supervisor.resumedFaults {
            toldClean = supervisor.resumedFaults
            configuration.logger.info("the loop is clean again", metadata: ["resumed": "\(statistics.resumedFaults)"])
        }
    }

    func stopAtTop() {
        guard topObserver?.isValid != true else { return }
        // Needed if the outer run is about to sleep: the end of a nested run does not begin another pass of it.
        let observer = HostRunLoop.Observer(ofHost: "sweep at the top", activities: [.beforeTimers, .beforeWaiting]) {
            [loop] observer, _ in
            guard loop.nesting == 1 else { return }
            observer.invalidate()
            loop.stop()
        }
        topObserver = observer
        loop.add(observer, to: .common)
    }
}
