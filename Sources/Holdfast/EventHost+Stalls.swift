internal import Glibc
internal import Logging
public import RunLoops
public import StallDetection
internal import Synchronization
internal import TaskBoundaries

extension EventHost {
    /// Adds a handler that is told when a stall is found and when it is over: `Stall.phase`.
    ///
    /// It is called on a thread of its own, one call at a time, because the main loop may be what stalls. A handler that takes long delays
    /// the calls for other stalls. Without `Configuration.stallPolicy` nothing is watched.
    ///
    /// - Parameter handler: The handler.
    /// - Returns: An observation, which gives the handler up; a call that has begun goes on.
    @discardableResult
    public func onStall(_ handler: @escaping @Sendable (Stall) -> Void) -> Observation {
        let number = stallHandlers.add(handler)
        let observation = Observation { [weak self, stallHandlers] observation in
            stallHandlers.remove(number)
            self?.stallObservations.removeAll { $0 === observation }
        }
        stallObservations.append(observation)
        return observation
    }

    /// Watches the loop of another thread, too: for stalls by `Configuration.stallPolicy`, and for callouts that miss their deadlines.
    ///
    /// The loop is not kept alive. A second call replaces the rule. Callable from any thread.
    ///
    /// - Parameters:
    ///   - loop: The loop. The main loop is watched from the start.
    ///   - rule: When the loop counts as stalled; nil for the rule of the host.
    /// - Throws: `EventHostError`, if the thread that watches cannot be made.
    public nonisolated func watch(_ loop: HostRunLoop, rule: StallRule? = nil) throws(EventHostError) {
        do {
            try stallWatch.monitor?.watch(loop, rule: rule)
            try deadlines.watch(loop)
        } catch {
            throw EventHostError(error)
        }
    }

    /// Stops watching a loop, which may be the main loop; the end of a stall that lasts is not told.
    ///
    /// Callable from any thread.
    public nonisolated func stopWatching(_ loop: HostRunLoop) {
        stallWatch.monitor?.stopWatching(loop)
        deadlines.stopWatching(loop)
    }

    /// Asks a dispatch queue, an actor or something else again and again to answer; if it does not, that is a stall.
    ///
    /// ```swift
    /// try host.watch(pinging: "a queue") { answer in queue.async(execute: answer) }
    /// ```
    /// Callable from any thread. Without `Configuration.stallPolicy` nothing is watched.
    ///
    /// - Parameters:
    ///   - label: Its name; a second one of the same name replaces the first.
    ///   - interval: The time between two pings, from 10 ms to a day.
    ///   - rule: When a ping without an answer is a stall; nil for the rule of the host.
    ///   - post: Posts its closure to where the answer shall come from. Called on a thread that posts all pings, one after the other: it
    ///     should not wait.
    /// - Throws: `EventHostError`, if the thread that watches cannot be made.
    public nonisolated func watch(
        pinging label: String,
        every interval: Duration = .seconds(1),
        rule: StallRule? = nil,
        _ post: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
    ) throws(EventHostError) {
        try watch(pinging: label, every: interval, rule: rule, answerer: .anyThread, post)
    }

    /// The same for what answers on a thread that can be told, which a stall then names.
    package nonisolated func watch(
        pinging label: String,
        every interval: Duration,
        rule: StallRule?,
        answerer: StallMonitor.Answerer,
        _ post: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
    ) throws(EventHostError) {
        do {
            try stallWatch.monitor?.watch(
                pinging: label,
                every: interval,
                rule: rule,
                answerer: answerer,
                post
            )
        } catch {
            throw EventHostError(error)
        }
    }

    /// Asks an actor again and again to answer; if it does not, that is a stall of the job that keeps it, with the functions that await that.
    ///
    /// A blocking call on an actor keeps everybody who awaits it. Where no job of the actor runs, as while all threads are kept by others,
    /// the stall names none. `stopWatching(pinging:)` ends it. Callable from any thread. Without `Configuration.stallPolicy` nothing is
    /// watched.
    ///
    /// - Parameters:
    ///   - actor: The actor, which is kept alive.
    ///   - label: Its name; a second one of the same name replaces the first.
    ///   - interval: The time between two questions, from 10 ms to a day.
    ///   - rule: When no answer is a stall; nil for the rule of the host.
    /// - Throws: `EventHostError`, if the thread that watches cannot be made.
    public nonisolated func watch(
        _ actor: any Actor,
        label: String,
        every interval: Duration = .seconds(1),
        rule: StallRule? = nil
    ) throws(EventHostError) {
        let answerer = StallMonitor.Answerer.found { TaskPool.thread(isolatedTo: actor) }
        try watch(pinging: label, every: interval, rule: rule, answerer: answerer) { answer in
            _ = Task(priority: .high) { await Self.call(answer, on: actor) }
        }
    }

    private static func call(_ answer: () -> Void, on actor: isolated any Actor) { answer() }

    /// Stops pinging; the end of a stall that lasts is not told.
    ///
    /// Callable from any thread.
    public nonisolated func stopWatching(pinging label: String) {
        stallWatch.monitor?.stopWatching(pinging: label)
    }
}

/// How a host watches for stalls, once it does.
final class StallWatchBox: Sendable {
    /// Protected by its lock.
    private let present = Mutex<StallWatch?>(nil)

    var watch: StallWatch? {
        get { present.withLock { $0 } }
        set { present.withLock { $0 = newValue } }
    }

    var monitor: StallMonitor? { watch?.monitor }

    /// Starts the threads.
    func start(logger: Logger) {
        do {
            try watch?.start()
        } catch {
            logger.error("stalls are not watched: \(error)")
        }
    }
}

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

    /// Puts right what an interrupted wait leaves behind in its thread: glibc's functions that wait are cancellation points, and switch
    /// the thread to asynchronous cancellation meanwhile (nptl/cancellation.c).
    nonisolated static func settleInterruptedThread() {
        _ = pthread_setcanceltype(CInt(PTHREAD_CANCEL_DEFERRED), nil)
    }
}
