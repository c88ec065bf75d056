internal import CrashCapture
internal import Glibc
internal import Logging
internal import RunLoops
internal import Supervision

extension EventHost {
    /// Restarts the process now, without draining: same pid, same arguments and environment byte for byte, kept descriptors.
    ///
    /// `onRestart` handlers are called first, and reports that wait are written. What lies at the executable's path runs: a new
    /// version, if it was replaced. If it was deleted, or cannot be executed, the image of this process runs again.
    /// Everything but the standard three descriptors and what is kept is closed. Working directory, umask, limits and what
    /// else execve(2) keeps are as they are. With `Configuration.restart` `.exit` the process exits instead.
    ///
    /// Returns only when that failed; a planned restart is then tried again after a while.
    public func restart() {
        leave(.requested)
    }

    /// Adds a handler that is called before a restart that is not a fault of the main thread: hand over what must survive it.
    public func onRestart(_ handler: @escaping @MainActor () -> Void) {
        restartHandlers.append(handler)
    }

    /// Ends this process in favour of another; returns only when that failed.
    func leave(_ reason: RestartReason) {
        mustRestart = false
        for handler in restartHandlers { handler() }
        flushReports(within: .seconds(2))
        if let status = configuration.restart.exitCode {
            configuration.logger.notice("exiting for a restart", metadata: ["status": "\(status)"])
            close()
            exit(status)
        }
        // The environment as it is now: a program may have changed it.
        prepareRestart(isHealthy: isHealthy, reason: reason)
        configuration.logger.notice("restarting in place", metadata: ["resumed": "\(faults.resumed)"])
        capture.restart()
        configuration.logger.critical("cannot restart in place; going on")
        prepareRestart(isHealthy: isHealthy)
        restartRefusedUntil = .now.advanced(by: .seconds(30))
    }

    /// Plans the hand-over to a fresh process, if that is what follows a fault.
    func taint() {
        guard case .restartWhenQuiet(let limit) = configuration.afterFault.value, !isTainted else { return }
        isTainted = true
        // Where a fault would not restart the process, a plan does not, either.
        guard configuration.restart != .signal else { return }
        if stage != .normal {
            configuration.logger.critical("faults follow each restart; going on without another one")
            return
        }
        // Quiet: the loop is about to sleep, and the sweep has found it clean.
        let quiet = HostRunLoop.Observer(ofHost: "restart when quiet", activities: .beforeWaiting) { [weak self] _, _ in
            MainActor.assumeIsolated {
                guard let self, !self.needsSweep, self.loop.nesting == 1 else { return }
                self.planRestart()
            }
        }
        loop.add(quiet, to: .default)
        // At the latest: whatever the loop is doing, and however many faults come.
        let late = HostRunLoop.Timer(
            ofHost: "restart at the latest",
            fireAt: .now.advanced(by: limit),
            repeating: .seconds(1)
        ) { [weak self] _ in
            MainActor.assumeIsolated { self?.planRestart() }
        }
        loop.add(late, to: .common)
    }

    /// Lets the main loop drain, then replaces the process.
    private func planRestart() {
        guard restartRefusedUntil <= .now else { return }
        startDrain(.planned) { [self] in
            drain = nil
            mustRestart = true
            endRun()
        }
    }

    /// Sets what a restart begins with: called when that changes.
    func prepareRestart(isHealthy: Bool, reason: RestartReason = .fault) {
        self.isHealthy = isHealthy
        let ours = RestartHistory.variables + [KeptDescriptors.variable]
        var environment = ProcessEnvironment.entries.filter { entry in
            !ours.contains { entry.starts(with: "\($0)=".utf8) }
        }
        let history = history.environmentForRestart(
            base: [],
            phase: phase,
            isHealthy: isHealthy,
            isInSafeMode: stage != .normal,
            holding: signalPort.heldSignals,
            pid: getpid(),
            reason: reason
        )
        environment += history.map { Array($0.utf8) }
        if let table = kept.tableDescriptor { environment.append(Array("\(KeptDescriptors.variable)=\(table)".utf8)) }
        capture.prepareRestart(environment: environment, keptTable: kept.tableDescriptor)
    }

    /// Says what of the hand-over to this process went wrong.
    func logHandOver() {
        if kept.isDamaged {
            configuration.logger.error("the table of kept descriptors is damaged or another's; none is taken over")
        }
        for lost in lostDescriptors {
            configuration.logger.error(
                "a kept descriptor was closed before the restart",
                metadata: ["name": "\(lost.name)"]
            )
        }
    }
}
