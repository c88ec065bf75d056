internal import CrashCapture
internal import Logging

/// What a host logs at its start.
extension EventHost {
    /// Logs once which promises cannot be kept in this process, with what to do, and how it was started.
    func sayHowItStarted() {
        let logger = configuration.logger
        // Only once: after a restart it is the same program, started in the same way.
        if history.restarts == 0 { for warning in startWarnings { logger.warning("\(warning)") } }
        if !capture.isPersistent {
            let loss = "faults without a report are lost with the process"
            if storeHealth.isUnusable {
                // The line before has said why the store, which would hold the spool file, cannot be used.
                logger.error("\(loss): there is no spool file")
            } else if let problem = capture.spoolProblem {
                logger.error("\(loss): \(problem)")
            } else {
                logger.error("no room for the spool file: \(loss)")
            }
        }
        logHandOver()
        guard history.restarts > 0 else { return }
        logger.notice(
            "restarted in place",
            metadata: ["restarts": "\(history.restarts)", "reason": "\(history.reason.word)"]
        )
    }

    private var startWarnings: [String] {
        var warnings: [String] = []
        if let obstacle = Self.obstacle(
            configuration,
            CrashCapture.obstacleToResuming.map { "\($0)" },
            walksStacks: true
        ) {
            warnings.append(obstacle)
        }
        if !Self.isStarting, unsafe withUnsafeCurrentTask(body: { unsafe $0 != nil }) {
            warnings.append(
                """
                the host was made in a Swift task, as in an async main: where that task runs the loop, no fault is resumed, and where \
                nobody calls host.run(), no handler of a signal is called; use EventHost.start(), or a synchronous main
                """
            )
        }
        return warnings
    }

    /// Warns if libunwind is not there, which the crash thread has found out meanwhile.
    ///
    /// Called on the report writer's thread.
    nonisolated static func warnIfNoStackIsWalked(_ inspector: CodeInspector, _ configuration: Configuration) {
        guard inspector.walksStacks == false, let warning = obstacle(configuration, nil, walksStacks: false) else {
            return
        }
        configuration.logger.warning("\(warning)")
    }

    /// Why nothing will be resumed although the configuration wants it, with what to do; nil if faults can be resumed.
    nonisolated static func obstacle(
        _ configuration: Configuration,
        _ obstacle: String?,
        walksStacks: Bool
    ) -> String? {
        guard configuration.recoveryPolicy != .never else { return nil }
        if let obstacle {
            return """
                no fault will be resumed: \(obstacle); build with a toolchain that Holdfast names as supported
                """
        }
        if !walksStacks {
            return """
                no fault will be resumed: libunwind-x86_64.so.8 is not there to walk stacks with; install libunwind8
                """
        }
        return nil
    }
}
