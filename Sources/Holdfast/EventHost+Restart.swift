internal import CrashCapture
internal import Glibc
internal import Logging

extension EventHost {
    /// Restarts the process now, without draining: same pid, same arguments and environment byte for byte, kept descriptors.
    ///
    /// It first calls `onRestart` handlers (if one faults, the others are called all the same) and writes the reports that wait. The file
    /// at the executable's path runs: a new version, if it was replaced. If it was deleted, or cannot be executed, the image of this
    /// process runs again. All descriptors close, except the standard three and the kept ones. Working directory, umask, limits and
    /// whatever else execve(2) keeps do not change. With `Configuration.restart` `.exit` the process exits instead. If another process stands by
    /// (`holdfast run --standby`), that one gets what is kept and serves, and this one exits.
    ///
    /// Returns only if that failed. A planned restart is then tried again after a while.
    public func restart() {
        leave(.requested)
    }

    /// Adds a handler that is called before a restart, unless that is for a fault of the main thread: hand over what must survive it.
    ///
    /// - Parameter handler: The handler.
    /// - Returns: An observation, which gives the handler up.
    @discardableResult
    public func onRestart(_ handler: @escaping @MainActor () -> Void) -> Observation {
        restartHandlers.add(handler)
    }

    /// Ends this process in favour of another; returns only when that failed.
    func leave(_ reason: RestartReason) {
        mustRestart = false
        callRestartHandlers(restartHandlers.all[...], for: reason) { [self] in leaveNow(reason) }
    }

    private func leaveNow(_ reason: RestartReason) {
        flushReports(within: .seconds(2))
        // What was handed over to this one goes on with what it keeps.
        notifier.link.receiveAll()
        if notifier.link.hasSuccessor { endForSuccessor() }
        // An order to end has come, so a planned restart is not needed.
        if reason == .planned, isStopping || SignalEvents.dueOrder != nil { return }
        // A restart that the program asked for replaces the order to end.
        if reason == .requested { SignalEvents.settleOrders() }
        if let status = configuration.restart.exitCode {
            configuration.logger.notice("exiting for a restart", metadata: ["status": "\(status)"])
            endProcess(with: status)
        }
        if capture.releaseStandby() {
            configuration.logger.notice("another process serves from now on; this one ends")
            giveAway(kept.openEntries)
            CrashCapture.leaveProcessors()
            endProcess(with: CrashCapture.standbyExitStatus)
        }
        // The environment as it is now: a program may have changed it.
        prepareRestart(isHealthy: isHealthy, reason: reason)
        notifier.noteRestart()
        configuration.logger.notice("restarting in place", metadata: ["resumed": "\(statistics.resumedFaults)"])
        capture.restart()
        configuration.logger.critical("cannot restart in place; going on")
        prepareRestart(isHealthy: isHealthy)
        restartRefusedUntil = .now.advanced(by: .seconds(30))
    }

    /// The variable that names the spool of a process without a store for the next one.
    nonisolated static let spoolVariable = "HOLDFAST_SPOOL"

    /// The records that the process before this one left in memory, if it was this process before a restart.
    static func takeOverSpool(_ environment: [String: String], isRestarted: Bool) -> [UInt8]? {
        guard isRestarted, let descriptor = environment[spoolVariable].flatMap({ CInt($0) }) else { return nil }
        return CrashCapture.takeOverSpool(descriptor)
    }

    /// Sets the plan of a restart: called when it changes.
    func prepareRestart(isHealthy: Bool, reason: RestartReason = .fault) {
        self.isHealthy = isHealthy
        offerStandby()
        var environment = history.environmentForRestart(
            base: [],
            phase: phase,
            isHealthy: isHealthy,
            isInSafeMode: stage.leavesSomethingOut,
            holding: signalPort.heldSignals,
            pid: getpid(),
            reason: reason
        )
        if let entry = storePlace.entry { environment.append(entry) }
        if let table = kept.tableDescriptor { environment.append("\(KeptDescriptors.variable)=\(table)") }
        if let spool = capture.inheritedSpool { environment.append("\(Self.spoolVariable)=\(spool)") }
        capture.prepareRestart(without: Self.carriedVariables, with: environment, keptTable: kept.tableDescriptor)
    }

    /// What a restart makes anew for the next process, and what that takes out of its environment.
    static let carriedVariables =
        RestartHistory.variables
        + [KeptDescriptors.variable, StorePlace.variable, spoolVariable, CrashCapture.memoryHolderVariable]

    /// Logs what went wrong in the hand-over to this process.
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
