internal import CrashCapture
internal import Glibc
internal import Logging
internal import RunLoops
internal import Supervision

extension EventHost {
    /// Keeps a descriptor open across restarts in place, under a name: a listening socket, so that its backlog is served by the
    /// next process.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor, or nil to keep none under this name any more.
    ///   - name: A name without `=` and `,`.
    public func keepAcrossRestart(_ descriptor: CInt?, as name: String) {
        precondition(!name.contains { $0 == "=" || $0 == "," }, "a kept descriptor's name has no = and no ,")
        kept[name] = descriptor
        prepareRestart(isHealthy: isHealthy)
    }

    /// The descriptor that the process before this one kept under a name, close-on-exec again; the caller owns it.
    public func keptDescriptor(named name: String) -> CInt? {
        guard let descriptor = history.keptDescriptors[name], fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else {
            return nil
        }
        return descriptor
    }

    /// Restarts the process in place now: same pid, same arguments, kept descriptors.
    ///
    /// Returns only when that failed; a planned restart is then tried again after a while.
    public func restart() {
        mustRestart = false
        for handler in restartHandlers { handler() }
        writer.flush(limit: .seconds(2))
        configuration.logger.notice("restarting in place", metadata: ["resumed": "\(faults.resumed)"])
        capture.restart()
        configuration.logger.critical("cannot restart in place; going on")
        restartRefusedUntil = .now.advanced(by: .seconds(30))
    }

    /// Plans the hand-over to a fresh process, if that is what follows a fault.
    func taint() {
        guard case .restartWhenQuiet(let limit) = configuration.afterFault.value, !isTainted else { return }
        isTainted = true
        // Where a fault would not restart the process, a plan does not, either.
        guard configuration.restartsInPlace else { return }
        if history.isCrashLoop {
            configuration.logger.critical("faults follow each restart; going on without another one")
            return
        }
        // Quiet: the loop is about to sleep, and the sweep has found it clean.
        let quiet = HostRunLoop.Observer(label: "restart when quiet", activities: .beforeWaiting) { [weak self] _, _ in
            MainActor.assumeIsolated {
                guard let self, !self.needsSweep, self.loop.nesting == 1 else { return }
                self.planRestart()
            }
        }
        loop.add(quiet, to: .default)
        // At the latest: whatever the loop is doing, and however many faults come.
        let late = HostRunLoop.Timer(
            label: "restart at the latest",
            after: limit,
            repeating: .seconds(1)
        ) { [weak self] _ in
            MainActor.assumeIsolated { self?.planRestart() }
        }
        loop.add(late, to: .common)
    }

    private func planRestart() {
        guard restartRefusedUntil <= .now else { return }
        mustRestart = true
        endRun()
    }

    func prepareRestart(isHealthy: Bool) {
        self.isHealthy = isHealthy
        capture.prepareRestart(
            environment: history.environmentForRestart(
                base: ProcessEnvironment.entries,
                isHealthy: isHealthy,
                keeping: kept,
                holding: signalPort.observedSignals,
                pid: getpid()
            ),
            keeping: Array(kept.values)
        )
    }
}
