internal import CRecoveryPoint
internal import CTaskPool
internal import Glibc
internal import LinuxSystem
internal import Synchronization
package import SystemPackage

/// The pool that runs the jobs of tasks, one in a process.
package enum TaskPool {
    /// A job that was abandoned, and what its fault handler has left.
    package struct Abandoned: Sendable {
        /// The boundary that the job was of.
        package let boundary: FaultBoundary
        /// What the job was judged and counted by: the boundary may have another label by now.
        package let label: BoundaryLabel
        /// The number of the fault in its process, from 1.
        package let fault: UInt32
        /// When it was, in nanoseconds of CLOCK_REALTIME.
        package let time: Int64
        /// Facts about the fault, as bits of a record.
        package let facts: UInt32
        private let stack: UInt

        fileprivate init(_ job: HFAbandonedJob) {
            boundary = unsafe Unmanaged<FaultBoundary>.fromOpaque(job.scope.pointee.owner).takeUnretainedValue()
            label = unsafe BoundaryLabel.object(of: job.label)
            fault = unsafe job.stack.pointee.fault_number
            time = unsafe job.stack.pointee.fault_time
            facts = unsafe job.stack.pointee.fault_facts
            stack = unsafe UInt(bitPattern: job.stack)
        }

        /// Gives the part of its stack that no frame uses back to the kernel.
        ///
        /// Callable once.
        ///
        /// - Returns: How many bytes stay mapped for ever.
        package func buryStack() -> Int {
            guard let stack = unsafe UnsafeMutablePointer<HFCalloutStack>(bitPattern: stack) else { return 0 }
            defer { hf_callout_stack_settle() }
            return unsafe hf_callout_stack_bury(stack)
        }
    }

    /// Which jobs the pool runs.
    package enum Extent: Sendable {
        /// All that have no executor of their own, and those of boundaries.
        case global
        /// Only those of boundaries: another executor has the runtime's hooks.
        case boundaries
    }

    /// A closure in a structure: one that is the whole value of a generic type gets one more thunk each time that it is read in place
    /// (seen: after some thousand faults the call went through as many).
    private struct Handler {
        var call: @Sendable (Abandoned) -> Void
    }

    private static let handler = Mutex<Handler?>(nil)
    private static let extent = Mutex<Extent?>(nil)

    /// What the pool runs; nil while it does not run.
    package static var running: Extent? { extent.withLock { $0 } }

    /// Starts the pool.
    ///
    /// - Parameters:
    ///   - workers: How many threads run jobs at the same time; nil for one for each processor.
    ///   - stackSize: The size of the stacks on which jobs of boundaries run, in bytes.
    ///   - takesAll: Whether it runs all jobs that have no executor of their own, if nobody else does.
    ///   - abandoned: Is told of an abandoned job, in a task that has the task-local values of the job's task.
    /// - Returns: What it runs.
    /// - Throws: An error of pthread_create(3); EALREADY if it was started before.
    package static func start(
        workers: Int? = nil,
        stackSize: Int,
        takesAll: Bool = true,
        abandoned: @escaping @Sendable (Abandoned) -> Void
    ) throws(Errno) -> Extent {
        let processors = max(1, min(Int(HF_TASK_POOL_MOST_WORKERS), workers ?? Int(hf_task_pool_processors())))
        handler.withLock { $0 = Handler(call: abandoned) }
        let configuration = unsafe HFTaskPoolConfiguration(
            workers: UInt32(processors),
            stack_size: stackSize,
            abandoned: { job in
                let abandoned = unsafe Abandoned(job)
                // It copies the task-local values of the task that is still the thread's current one.
                Task { TaskPool.handler.withLock { $0 }?.call(abandoned) }
            },
            is_global: takesAll
        )
        let error = hf_task_pool_start(configuration)
        guard error == 0 || error == ENOTSUP else { throw Errno(rawValue: error) }
        let extent: Extent = error == 0 && takesAll ? .global : .boundaries
        self.extent.withLock { $0 = extent }
        noteRunners()
        return extent
    }

    /// Whether the functions are known through which the runtime runs a job: without them no job may be abandoned.
    package static var knowsRunners: Bool { runnersAreKnown.load(ordering: .acquiring) }

    private static let runnersAreKnown = Atomic<Bool>(false)

    /// Runs a job that notes them, and waits for it.
    private static func noteRunners() {
        let boundary = FaultBoundary(BoundaryLabel.named("start of the pool"))
        let isDone = DoneFlag()
        _ = Task(executorPreference: boundary) {
            runnersAreKnown.store(noteRunnersHere(), ordering: .releasing)
            isDone.set()
        }
        isDone.wait()
        guard knowsRunners else { return }
        if hf_job_state_confirm() {
            hf_task_pool_settle_tasks()
        } else {
            runnersAreKnown.store(false, ordering: .releasing)
        }
    }

    /// A function of its own, which has a frame.
    @inline(never)
    private static func noteRunnersHere() -> Bool { hf_task_pool_note_runners() }

    /// Whether an address is a return address in the functions through which the runtime runs a job of a boundary.
    ///
    /// Safe on the crash thread: it allocates nothing and takes no lock.
    package static func isRunner(_ address: UInt64) -> Bool { hf_task_pool_is_runner(address) }

    /// What a worker does at a moment.
    package struct WorkerSight: Sendable {
        /// Which job of the worker it is; another number for each one, and between them.
        package let number: UInt64
        /// Its thread, as gettid(2) has it.
        package let thread: CInt
        /// Whether a job runs.
        package var isRunning: Bool { number % 2 == 1 }
        /// Whether somebody waits for the job that runs: the caller of its boundary, or jobs that wait for a worker.
        package let isBusy: Bool
    }

    /// How many workers there may be.
    package static var mostWorkers: Int { Int(HF_TASK_POOL_MOST_WORKERS) }

    /// What a worker does.
    ///
    /// Callable from any thread.
    ///
    /// - Parameter index: Which one, less than `mostWorkers`.
    /// - Returns: What it does.
    package static func worker(_ index: Int) -> WorkerSight {
        let sight = hf_task_pool_worker(UInt32(index))
        return WorkerSight(number: sight.progress, thread: sight.thread, isBusy: sight.is_busy)
    }

    /// The thread of the job that is isolated to an actor; nil if none of the pool's threads runs one.
    ///
    /// Callable from any thread.
    ///
    /// - Parameter actor: The actor.
    /// - Returns: The thread, as gettid(2) has it.
    package static func thread(isolatedTo actor: any Actor) -> CInt? {
        // The first word is the object; for a default actor itself (swift/include/swift/ABI/Executor.h).
        let words = unsafe unsafeBitCast(actor.unownedExecutor, to: (UInt, UInt).self)
        for index in 0..<UInt32(mostWorkers) {
            let sight = hf_task_pool_worker(index)
            guard sight.progress % 2 == 1, sight.thread != 0, hf_job_state_actor(sight.control_block) == words.0 else {
                continue
            }
            // What was read is of this job, if it still runs.
            if hf_task_pool_worker(index).progress == sight.progress { return sight.thread }
        }
        return nil
    }

    /// Has a function called on a worker's thread when the worker has begun a job after it slept.
    ///
    /// It must be short.
    package static func setBell(_ bell: @escaping @convention(c) () -> Void) { hf_task_pool_set_bell(bell) }

    /// Has a function called on a worker's thread, once, when a job has ended that was not abandoned.
    ///
    /// It must be short.
    package static func tellNextEnd(_ tell: @escaping @convention(c) () -> Void) { hf_task_pool_tell_next_end(tell) }

    /// Has one more thread started if one of the pool stands still in a fault handler, until the process is replaced.
    ///
    /// - Parameter thread: The thread that stands still, as gettid(2) has it; any thread of the process.
    package static func replace(parkedThread thread: CInt) { hf_task_pool_replace_parked(thread) }

    /// Says whether a thread of the pool that faults stands still for long: until the program's symbols are read.
    ///
    /// While they do, another thread takes their place after 2 ms instead of 40.
    ///
    /// - Parameter isSlow: Whether it does.
    package static func expect(slowFaults isSlow: Bool) { hf_task_pool_set_hasty(isSlow) }
}

/// Waits for a job of the pool: once, at its start, on a thread that is none of the pool's.
private final class DoneFlag: Sendable {
    private let isSet = Atomic<UInt32>(0)

    func set() {
        isSet.store(1, ordering: .releasing)
        Futex.wakeOne(waitingOn: isSet)
    }

    func wait() {
        while isSet.load(ordering: .acquiring) == 0 { Futex.wait(on: isSet, while: 0) }
    }
}
