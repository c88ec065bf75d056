import CRecoveryPoint
import Synchronization

/// The jobs of Swift concurrency that wait for a loop, oldest first.
///
/// Any thread appends; the rest is for the loop's thread. A job that is in here is in nobody else's hands: one that is
/// dropped is a task that never ends.
@safe
final class JobQueue: @unchecked Sendable {
    private let lock = CriticalLock()
    /// Protected by `lock`.
    private var incoming: [UnownedJob] = []
    private let count = Atomic<Int>(0)

    // Touched by the loop's thread only.
    /// The oldest jobs, last first.
    private var outgoing: [UnownedJob] = []
    /// Whether a job is running, further down on the stack.
    private(set) var isRunningJob = false
    /// The callout stack that the running job is on; `nil` if it has none.
    private var stackOfJob: UnsafeMutablePointer<HFCalloutStack>?
    /// How many turns came while a job was running.
    var missedTurns = 0

    /// Puts a job behind all others.
    func append(_ job: UnownedJob) {
        count.add(1, ordering: .sequentiallyConsistent)
        lock.withLock { incoming.append(job) }
    }

    /// Whether a job waits.
    ///
    /// A run that ends inside another asks: it may have had the wake-up that was for the job.
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

    /// Notes that a job begins, in the innermost callout of this thread.
    func beginJob() {
        isRunningJob = true
        unsafe stackOfJob = unsafe hf_recovery_current()?.pointee.stack
    }

    /// Notes that the running job is over, and returns how many turns came meanwhile.
    func endJob() -> Int {
        isRunningJob = false
        unsafe stackOfJob = nil
        defer { missedTurns = 0 }
        return missedTurns
    }

    /// Says whether the running job is in the callout on a stack.
    func isRunningJob(on stack: UnsafeMutablePointer<HFCalloutStack>) -> Bool {
        unsafe isRunningJob && stackOfJob == stack
    }
}

/// A job's turn on a loop, in the form of a block: whoever drops it unused is told what that means.
final class JobTurn: @unchecked Sendable {
    // No cycle that lasts: a loop's blocks go when its thread ends, at the latest.
    private let loop: HostRunLoop
    /// Touched by whoever holds the last reference only.
    private var isUsed = false

    init(on loop: HostRunLoop) {
        self.loop = loop
    }

    deinit {
        // A lost job is a task that waits for ever, and nobody would ever know why.
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
