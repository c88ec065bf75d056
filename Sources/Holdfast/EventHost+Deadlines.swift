internal import Glibc
internal import Logging
internal import StallDetection

/// Deadlines of callouts.
extension EventHost {
    static func deadlineWatch(_ configuration: Configuration, _ supervisor: Supervisor) -> DeadlineWatch {
        let logger = configuration.logger
        return DeadlineWatch(configuration.calloutDeadline, items: .shared) { item in
            supervisor.allowsAbandoning(item: item)
        } tell: { leftover in
            var details: Logger.Metadata = ["deadline": "\(leftover.deadline.after)"]
            details["item"] = "\(leftover.label ?? String(leftover.item))"
            if let activity = leftover.activity { details["thread"] = "\(activity)" }
            switch leftover.reason {
            case .goesOn:
                logger.error("a callout runs for longer than its deadline and may not be abandoned", metadata: details)
            case .impossible:
                logger.error(
                    "a callout runs for longer than its deadline; under a debugger, or without SIGSTKFLT, none is kept",
                    metadata: details
                )
            case .deaf:
                logger.critical(
                    "a callout runs for longer than its deadline, and its thread cannot be interrupted",
                    metadata: details
                )
            }
        }
    }

    /// Undoes what an interrupted wait leaves in its thread: glibc's functions that wait are cancellation points, and meanwhile switch the
    /// thread to asynchronous cancellation (nptl/cancellation.c).
    nonisolated static func settleInterruptedThread() {
        _ = pthread_setcanceltype(CInt(PTHREAD_CANCEL_DEFERRED), nil)
    }
}
