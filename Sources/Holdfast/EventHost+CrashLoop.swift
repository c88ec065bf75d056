internal import CrashCapture
internal import CrashReports
internal import Glibc
internal import Logging
internal import RunLoops
internal import StallDetection
internal import TaskBoundaries

/// How a process starts after others have ended: in safe mode, later, or not at all.
extension EventHost {
    /// The mode in which the loop runs while it waits; it has only the host's own ports.
    private static let waitingMode = HostRunLoop.Mode("holdfast.waiting")

    /// The program instance that this process belongs to, as its records have it.
    static func instance(_ configuration: Configuration, controlGroup: String) -> ProgramInstance {
        let privacy = configuration.privacy
        let redaction = ArgumentRedaction(policy: privacy.arguments, redaction: privacy.redaction)
        var system = utsname()
        unsafe uname(&system)
        let host = unsafe withUnsafeBytes(of: &system.nodename) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        return ProgramInstance(
            executable: CrashCapture.executable,
            arguments: CrashCapture.arguments(telling: redaction.redact),
            host: host,
            controlGroup: controlGroup
        )
    }

    /// Decides how to start, by what the environment and the store say of earlier processes; ends this one if the policy says so.
    static func assess(
        _ history: inout RestartHistory,
        _ past: PastFaults,
        _ configuration: Configuration
    ) -> StartAssessment {
        guard let policy = configuration.crashLoopPolicy else { return StartAssessment(stage: .normal, earlyEnds: 0) }
        let assessment = policy.assess(history, faults: past.all, now: .now, at: .now)
        if assessment.stage == .giveUp { giveUp(after: assessment.earlyEnds, configuration.logger) }
        if assessment.stage == .normal, history.safeModeBegan != nil {
            configuration.logger.notice("\(safeModeIsOver)")
        }
        // The next environment goes on from what the store has shown.
        history.earlyRestarts = assessment.earlyEnds
        history.answeredRestarts = assessment.answeredEnds
        history.safeModeBegan = assessment.safeModeBegan
        return assessment
    }

    private static func giveUp(after ends: Int, _ logger: Logger) -> Never {
        let status = CrashLoopPolicy.permanentFailureExitCode
        logger.critical(
            "giving up: processes ended one after the other before they had served anything; see 'crashreport list', and mend what faults",
            metadata: ["processes": "\(ends)", "status": "\(status)"]
        )
        exit(status)
    }

    /// How long `run()` has to wait; waits here if the process before ended before its `run()`.
    ///
    /// An order to end that was held back for this process ends that wait.
    static func waitBeforeStart(
        _ assessment: StartAssessment,
        _ configuration: Configuration,
        holding signals: UInt64
    ) -> Duration {
        guard let policy = configuration.crashLoopPolicy else { return .zero }
        let wait = assessment.wait(policy.backOff, jitter: .random(in: 0...1), now: .now)
        guard wait > .zero else { return .zero }
        configuration.logger.warning(
            "waiting before serving: the processes before ended before they had served anything",
            metadata: ["processes": "\(assessment.earlyEnds)", "wait": "\(wait.inWords)"]
        )
        guard assessment.lastPhase == .starting else { return wait }
        let end = HostRunLoop.Instant.now.advanced(by: wait)
        while HostRunLoop.Instant.now < end, !isOrderPending(among: signals) {
            let slice = min(HostRunLoop.Instant.now.duration(to: end), .milliseconds(50))
            usleep(UInt32(max(1, slice / .microseconds(1))))
        }
        return .zero
    }

    private static func isOrderPending(among signals: UInt64) -> Bool {
        var pending = sigset_t()
        guard unsafe sigpending(&pending) == 0 else { return false }
        return (1...64).contains { number in
            let isPending = unsafe sigismember(&pending, CInt(number)) == 1
            return isPending && signals & 1 << UInt64(number - 1) != 0 && SignalEvents.isOrder(CInt(number))
        }
    }

    // MARK: Running

    /// Begins the first run: notes the items, waits if it must, and from then on watches whether anything is served.
    func beginToServe() {
        guard !hasBegun else { return }
        hasBegun = true
        // Not if the program ran the loop by itself for long enough.
        if phase == .starting {
            phase = .running
            capture.setProgress(isRunning: true, hasServed: false)
        }
        let items = loop.itemsThatCanBeLeftOut
        capture.setStartItems(items.values)
        if case .safeMode = stage { settleSafeMode(items) }
        prepareRestart(isHealthy: isHealthy)
        waitBeforeServing()
        let now = HostRunLoop.Instant.now
        healthyTimer?.nextFireDate = now.advanced(by: configuration.advanced.healthyAfter)
        guard phase != .serving else { return }
        // The first jobs of the main queue are those by which an async program starts itself: `Task { for await … }`.
        let queueCounts = now.advanced(by: .seconds(1))
        loop.serviceWitness = { [weak self] isMainQueue in
            if isMainQueue, .now < queueCounts { return }
            MainActor.assumeIsolated { self?.noteService() }
        }
        guard TaskPool.running != nil else { return }
        let timer = HostRunLoop.Timer(ofHost: "jobs of tasks count as service", fireAt: queueCounts) { _ in
            TaskPool.tellNextEnd { BoundaryHost.noteService() }
        }
        loop.add(timer, to: .common)
    }

    /// Whether it counts as one that has served something.
    package var hasServed: Bool { phase == .serving }

    /// Notes that the process has served something, or has lived long enough: its end will not be an early one.
    func noteService() {
        guard phase != .serving else { return }
        phase = .serving
        loop.serviceWitness = nil
        capture.setProgress(isRunning: true, hasServed: true)
        prepareRestart(isHealthy: isHealthy)
    }

    /// Has the process count as healthy after a while, whatever it serves.
    func watchHealth() {
        guard let policy = configuration.crashLoopPolicy else { return }
        let healthy = HostRunLoop.Timer(ofHost: "healthy", fireAt: .now.advanced(by: policy.healthyAfter)) {
            [weak self] _ in
            MainActor.assumeIsolated { self?.noteService() }
        }
        healthyTimer = healthy
        loop.add(healthy, to: .common)
        guard stage != .normal else { return }
        let begin = history.safeModeBegan ?? .now
        let end = HostRunLoop.Timer(ofHost: "end of safe mode", fireAt: begin.advanced(by: policy.healthyAfter)) {
            [weak self] _ in
            MainActor.assumeIsolated { self?.endSafeMode() }
        }
        safeModeTimer = end
        loop.add(end, to: .common)
    }

    /// Waits with everything open: clients wait in the backlogs of the program's sockets.
    ///
    /// Signals are delivered meanwhile. A fault of another thread restarts the process, but not before the wait is over: a process whose
    /// threads fault at once must not be started faster than the back-off says.
    private func waitBeforeServing() {
        standBy()
        let end = HostRunLoop.Instant.now.advanced(by: startDelay)
        guard startDelay > .zero else { return }
        startDelay = .zero
        capture.deferRestarts(until: end.nanoseconds)
        isWaiting = true
        defer { isWaiting = false }
        let ports = [signalPort.port, messagePort].compactMap { $0 }
        for port in ports {
            // Without the ports nobody could end the wait, so there is none.
            guard (try? loop.add(port, to: Self.waitingMode)) != nil else { return capture.deferRestarts(until: 0) }
        }
        while !isStopping, !mustRestart {
            let rest = HostRunLoop.Instant.now.duration(to: end)
            // A thread that waits, too, replaces the process in a moment: serve nobody until then.
            guard rest > .zero || capture.awaitsRestart else { break }
            let slice = rest > .zero ? rest : .milliseconds(50)
            _ = loop.run(in: Self.waitingMode, for: slice, returnAfterSourceHandled: true)
        }
        for port in ports { loop.remove(port, from: Self.waitingMode) }
    }

    /// Waits until another process ends, if this one is to serve in its place.
    private func standBy() {
        guard let standby, standby.isWaiting else { return }
        let ports = [signalPort.port, messagePort, standby.port].compactMap { $0 }
        for port in ports {
            // Without the ports nobody could end the wait, so there is none.
            guard (try? loop.add(port, to: Self.waitingMode)) != nil else { return standby.serve() }
        }
        sayThatItStandsBy()
        let rehearsal = rehearseTakingOver(in: Self.waitingMode)
        while standby.isWaiting, !isStopping, !mustRestart {
            _ = loop.run(in: Self.waitingMode, for: .seconds(1_000_000_000), returnAfterSourceHandled: true)
        }
        rehearsal.invalidate()
        for port in ports { loop.remove(port, from: Self.waitingMode) }
        // One that restarts in place stands by again.
        if mustRestart, standby.isWaiting { return }
        standby.serve()
        if !isStopping { receiveHanded() }
        // From now on the handlers may tell the next one.
        prepareRestart(isHealthy: isHealthy)
    }

    /// Begins to serve when another process ends: the program goes on meanwhile, until one of its servers binds a socket that was handed
    /// down.
    ///
    /// - Returns: False if this process does not stand by, or has no such socket: then it waits before it serves.
    func standsByAtListener() -> Bool {
        guard let standby, standby.isWaiting, listeners?.hasHandedDown == true, let port = standby.port,
            (try? loop.add(port, to: .common)) != nil
        else { return false }
        standby.served = { [weak self] in
            self?.receiveHanded()
            self?.beginServing()
            ListenerGate.open()
            StallMonitor.suspendAll(false)
        }
        // Told to end it cannot: its server waits in bind(2), and has done nothing yet.
        Self.onRest { [weak self] in
            MainActor.assumeIsolated {
                guard let self, self.standby?.isWaiting == true else { return }
                self.close()
                _exit(0)
            }
        }
        StallMonitor.suspendAll(true)
        ListenerGate.close { [weak self] in
            HostRunLoop.main.perform { @MainActor in self?.sayThatItStandsBy() }
        }
        return true
    }

    /// Says that this process stands by; again after a hand-over to it that has come to nothing.
    func sayThatItStandsBy() {
        guard standby?.isWaiting == true else { return }
        if !receivers.isEmpty { standby?.makeRoom() }
        notifier.noteStandby(on: loop, takes: !receivers.isEmpty)
        // In this mode it hears of little else: what comes is taken as it comes.
        if let port = notifier.link.port { _ = try? loop.add(port, to: Self.waitingMode) }
        configuration.logger.notice("standing by: it serves when the process before it ends")
    }

    // MARK: Safe mode

    private static let safeModeIsOver = "safe mode is over, what was left out is tried again"

    /// Logs which items a process in safe mode leaves out.
    func sayWhatIsLeftOut(_ words: String, _ labels: Set<String>) {
        guard !labels.isEmpty else {
            configuration.logger.critical("\(words): nothing that faulted can be left out")
            return
        }
        configuration.logger.critical("\(words)", metadata: ["without": "\(labels.sorted().joined(separator: ", "))"])
    }

    /// Keeps out only items that can be recognised, and accepts later ones, whatever their labels.
    private func settleSafeMode(_ items: [String: UInt64]) {
        loop.withhold(itemsLabelled: [])
        for item in loop.withheldItems where items[item.label] != item.identifier { item.putBack() }
        let labels = Set(loop.withheldItems.map(\.label))
        stage = .safeMode(without: labels)
        sayWhatIsLeftOut("serving in safe mode", labels)
        // One time for all processes in safe mode, from when the first of them serves: restarts do not prolong it.
        guard let policy = configuration.crashLoopPolicy, history.safeModeBegan == nil else { return }
        let begin = HostRunLoop.Instant.now.advanced(by: startDelay)
        history.safeModeBegan = begin
        safeModeTimer?.nextFireDate = begin.advanced(by: policy.healthyAfter)
    }

    /// Puts back what was left out, and begins to count anew if the process has served something.
    private func endSafeMode() {
        guard case .safeMode(let labels) = stage else { return }
        stage = .normal
        if labels.isEmpty {
            configuration.logger.notice("safe mode is over")
        } else {
            configuration.logger.notice("\(Self.safeModeIsOver)", metadata: ["items": "\(labels.sorted())"])
        }
        loop.withhold(itemsLabelled: [])
        for item in loop.withheldItems { item.putBack() }
        history.safeModeBegan = nil
        history.answeredRestarts = history.earlyRestarts
        prepareRestart(isHealthy: phase == .serving)
        // The restart that a fault in safe mode would have planned.
        if isTainted {
            isTainted = false
            taint()
        }
    }
}
