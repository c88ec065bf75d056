import CRecoveryPoint
import Synchronization

/// Runs Swift tasks and actors on the loop's thread.
///
/// - As a `TaskExecutor`: `Task(executorPreference: loop)`, `withTaskExecutorPreference(loop)`.
/// - As a `SerialExecutor`: an actor whose `unownedExecutor` is `loop.asUnownedSerialExecutor()`. An unowned reference does not
///   keep the loop alive: keep a strong one in the actor.
///
/// Every job wakes the loop and is a callout of its own. Jobs run among the blocks of the common modes, in the order in which they
/// came. While the loop does not run in a common mode, jobs wait. They do not count as sources. Like other blocks they keep a mode
/// from being empty only while they are queued, so a loop that tasks use needs something else that keeps it running.
///
/// A run that is nested in a job serves no jobs, because an actor's own jobs must not interrupt its synchronous code. For the same
/// reason a run that is nested in a main-queue block does not serve the main queue.
///
/// Jobs have no priorities, so an escalation changes nothing.
///
/// If a job comes after the loop's thread has ended, or is left over then, the process ends with a message: otherwise its task
/// would wait for ever. So keep the thread until its tasks have finished.
///
/// `MainActor` needs none of this: the main thread's loop serves it with the main dispatch queue.
extension HostRunLoop: SerialExecutor, TaskExecutor {
    /// Queues a job and wakes the loop.
    ///
    /// Callable from any thread. Called by the Swift runtime.
    ///
    /// - Parameter job: The job.
    public func enqueue(_ job: consuming ExecutorJob) {
        jobs.append(UnownedJob(job))
        offerJobTurn()
        wakeUp()
    }

    /// Returns the loop as the executor of an actor.
    ///
    /// Callable from any thread.
    ///
    /// - Returns: A reference that does not keep the loop alive.
    public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        unsafe UnownedSerialExecutor(ordinary: self)
    }

    /// Returns the loop as the executor of a task.
    ///
    /// Callable from any thread.
    ///
    /// - Returns: A reference that does not keep the loop alive.
    public func asUnownedTaskExecutor() -> UnownedTaskExecutor {
        unsafe UnownedTaskExecutor(ordinary: self)
    }

    /// Ends the process unless the caller is on the loop's thread.
    ///
    /// Callable from any thread. Called by the Swift runtime for `assumeIsolated` and its like.
    public func checkIsolated() {
        guard isCurrent else {
            fatalError("this code belongs to a run loop's thread, and was called on another one")
        }
    }

    /// Returns whether the caller is on the loop's thread: code there is isolated to the loop.
    ///
    /// Callable from any thread. Called by the Swift runtime.
    ///
    /// - Returns: Whether it is; never `nil`.
    public func isIsolatingCurrentContext() -> Bool? {
        isCurrent
    }

    /// Queues a block that runs the oldest job.
    private func offerJobTurn() {
        let turn = JobTurn(on: self)
        performWithoutWaking(in: .common, label: "task") { turn.use() }
    }

    /// Runs the oldest job, unless one is running further down the stack.
    func runNextJob() {
        guard !jobs.isRunningJob else {
            jobs.missTurn()
            return
        }
        guard let job = jobs.next() else {
            preconditionFailure("a run loop has more turns for jobs than jobs")
        }
        jobs.beginJob()
        unsafe job.runSynchronously(
            isolatedTo: asUnownedSerialExecutor(),
            taskExecutor: asUnownedTaskExecutor()
        )
        endJob()
    }

    /// Ends the running job, whether it returned or its callout was abandoned.
    func endJob() {
        let missed = jobs.endJob()
        guard missed > 0 else { return }
        for _ in 0..<missed { offerJobTurn() }
        // The present pass may not run any more blocks.
        wakeUp()
    }
}

/// The Swift concurrency jobs that wait for a loop, oldest first.
///
/// Any thread appends; only the loop's thread does the rest. Nobody else has a reference to a job in here: if a job is dropped, its
/// task never ends.
@safe
final class JobQueue: @unchecked Sendable {
    private let lock = CriticalLock()
    /// Protected by `lock`.
    private var incoming: [UnownedJob] = []
    private let count = Atomic<Int>(0)

    // Touched by the loop's thread only.
    /// The oldest jobs, in reverse order.
    private var outgoing: [UnownedJob] = []
    /// Whether a job is running further down the stack.
    private(set) var isRunningJob = false
    /// The callout stack of the running job; `nil` if it has none.
    private var stackOfJob: UnsafeMutablePointer<HFCalloutStack>?
    /// How many turns came while a job was running.
    private var missedTurns = 0

    /// Appends a job.
    func append(_ job: UnownedJob) {
        count.add(1, ordering: .sequentiallyConsistent)
        lock.withLock { incoming.append(job) }
    }

    /// Whether a job waits.
    ///
    /// A nested run asks this when it ends, because it may have consumed the wake-up for the job.
    var hasJobs: Bool { count.load(ordering: .sequentiallyConsistent) > 0 }

    /// Takes the oldest job.
    func next() -> UnownedJob? {
        if outgoing.isEmpty {
            lock.withLock { swap(&incoming, &outgoing) }
            outgoing.reverse()
        }
        guard let job = outgoing.popLast() else { return nil }
        count.subtract(1, ordering: .relaxed)
        return job
    }

    /// Records that a job begins, in the innermost callout of this thread.
    func beginJob() {
        isRunningJob = true
        unsafe stackOfJob = unsafe hf_recovery_current()?.pointee.stack
    }

    /// Records that a turn came while a job was running.
    func missTurn() { missedTurns += 1 }

    /// Records that the running job is over; returns how many turns came meanwhile.
    func endJob() -> Int {
        isRunningJob = false
        unsafe stackOfJob = nil
        defer { missedTurns = 0 }
        return missedTurns
    }

    /// Returns whether the running job is in the callout on the given stack.
    func isRunningJob(on stack: UnsafeMutablePointer<HFCalloutStack>) -> Bool {
        unsafe isRunningJob && stackOfJob == stack
    }
}

/// A job's turn on a loop, captured by a block.
///
/// If the block is dropped before it runs, the process ends with a message.
final class JobTurn: @unchecked Sendable {
    // Not a lasting cycle: a loop's blocks are released when its thread ends, at the latest.
    private let loop: HostRunLoop
    /// Touched only by whoever holds the last reference.
    private var isUsed = false

    init(on loop: HostRunLoop) {
        self.loop = loop
    }

    deinit {
        // A lost job leaves a task that waits for ever, without any hint why.
        guard isUsed else {
            fatalError(
                """
                a Swift task was to run on a run loop whose thread has ended: keep the thread until the tasks and actors \
                of its loop have finished
                """
            )
        }
    }

    /// Runs the oldest job.
    func use() {
        isUsed = true
        loop.runNextJob()
    }
}
