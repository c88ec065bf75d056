internal import Glibc
internal import Logging
public import RunLoops
public import StallDetection

/// Deadlines of callouts.
extension EventHost {
    /// Gives the callouts of an item a deadline of their own; nil gives them the host's again (`Configuration.calloutDeadline`).
    ///
    /// `CalloutDeadline.never` takes the deadline away. Whether a callout may be abandoned follows from the policies, too: with
    /// `RecoveryPolicy.never` it is not. Callable from any thread. Take it back when the item is gone.
    ///
    /// - Parameters:
    ///   - deadline: The deadline.
    ///   - item: The item's identity: `identifier` of a source, a port source, a timer or an observer, of the main loop or of one that
    ///     is watched (`watchDeadlines(of:)`).
    /// - Throws: `ItemPolicyError`.
    public nonisolated func setCalloutDeadline(
        _ deadline: CalloutDeadline?,
        forItem item: UInt64
    ) throws(ItemPolicyError) {
        guard item != 0 else { throw ItemPolicyError(code: .noItem) }
        do {
            try deadlines.watch(.main)
        } catch {
            throw ItemPolicyError(code: .noThread)
        }
        deadlines.setDeadline(deadline, forItem: item)
    }

    /// Keeps the deadlines of the callouts of another thread's loop, too, from now on; twice is once.
    ///
    /// The loop is not kept alive. Callable from any thread.
    ///
    /// - Parameter loop: The loop.
    /// - Throws: `EventHostError`, if the thread that watches cannot be made.
    public nonisolated func watchDeadlines(of loop: HostRunLoop) throws(EventHostError) {
        do {
            try deadlines.watch(loop)
        } catch {
            throw EventHostError(error)
        }
    }

    /// Undoes `watchDeadlines(of:)`.
    ///
    /// Callable from any thread.
    ///
    /// - Parameter loop: The loop.
    public nonisolated func stopWatchingDeadlines(of loop: HostRunLoop) {
        deadlines.stopWatching(loop)
    }

    static func deadlineWatch(_ configuration: Configuration, _ supervisor: Supervisor) -> DeadlineWatch {
        let logger = configuration.logger
        return DeadlineWatch(configuration.calloutDeadline) { item in
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

    /// Puts right what an interrupted wait leaves behind in its thread: glibc's functions that wait are cancellation points, and switch
    /// the thread to asynchronous cancellation meanwhile (nptl/cancellation.c).
    nonisolated static func settleInterruptedThread() {
        _ = pthread_setcanceltype(CInt(PTHREAD_CANCEL_DEFERRED), nil)
    }
}
