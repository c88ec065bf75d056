internal import CRecoveryPoint
internal import CTaskPool
internal import Glibc
internal import Synchronization

/// A piece of async work that may be abandoned by itself: its body runs in a task of its own, on an executor of its own.
///
/// The caller waits for a continuation, not for the task: a task that faulted never ends. The executor tells the pool which boundary a job
/// belongs to. Children of the task have the same executor (SE-0417), so they are inside. `Task {}` has not, and is outside.
///
/// Life cycle: made -> running -> over, because the body has returned or thrown, one of its jobs was abandoned, or it was given up. Whoever
/// ends it first answers the caller.
@safe
package final class FaultBoundary: TaskExecutor, @unchecked Sendable {
    /// What the pool and a fault handler know of the boundary.
    ///
    /// Freed with the boundary, which lives as long as a task that runs on it: an abandoned one for ever.
    private let scope: UnsafeMutablePointer<HFTaskScope>
    /// Says whose work it is, for the report of a fault that its caller will not hear of.
    package let tags: (@Sendable () -> [String: String])?
    private let isOver = Atomic<Bool>(false)
    private let rest = Mutex(Rest())
    /// Written before the body's task is made, and then only read by it: so that its closure needs nothing but the boundary.
    @exclusivity(unchecked) private var work: Work?

    /// What the body's task does.
    @safe
    private struct Work {
        let body: @Sendable () async throws -> Void
        let caller: UnsafeContinuation<Void, any Error>
    }

    /// What has to be done when the boundary is over, protected by the lock.
    @safe
    private struct Rest {
        /// Ends the wait of the caller.
        var caller: UnsafeContinuation<Void, any Error>?
        /// The task of the body.
        var task: Task<Void, any Error>?
        var isCancelled = false
        var isGivenUp = false
        /// What the caller gets that comes after the boundary was given up.
        var answer: (any Error)?
        /// The latest last.
        var cleanups: [@Sendable () -> Void] = []
    }

    package init(_ label: BoundaryLabel, tags: (@Sendable () -> [String: String])? = nil) {
        self.tags = tags
        guard let scope = unsafe hf_task_scope_make(label.shape) else { fatalError("no memory for a fault boundary") }
        unsafe self.scope = scope
        unsafe scope.pointee.owner = Unmanaged.passUnretained(self).toOpaque()
        let words = unsafe unsafeBitCast(asUnownedTaskExecutor(), to: (UInt64, UInt64).self)
        unsafe scope.pointee.executor = words
        unsafe scope.pointee.cancel = { owner in
            guard let owner = unsafe owner else { return }
            unsafe Unmanaged<FaultBoundary>.fromOpaque(owner).takeUnretainedValue().cancel()
        }
    }

    deinit {
        unsafe hf_task_scope_free(scope)
    }

    /// What the boundary is called, and counted by; may be set while it runs.
    package var label: BoundaryLabel {
        get { unsafe BoundaryLabel.object(of: hf_task_scope_label(scope)) }
        set { unsafe hf_task_scope_set_label(scope, newValue.shape) }
    }

    /// Puts a job of the boundary's tasks into the pool.
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // An UnownedJob is the reference to the runtime's job (swift/stdlib/public/Concurrency/Executor.swift).
        unsafe hf_task_pool_enqueue(unsafeBitCast(job, to: UnsafeMutableRawPointer.self), scope)
    }

    /// Runs a body.
    ///
    /// Without a result, so that nothing here depends on its type: the body puts it where its caller finds it.
    ///
    /// - Parameter body: The work. If the caller's task is cancelled, it is, too. It has the caller's task-local values and priority.
    /// - Throws: What the body throws; or what `TaskPool` makes of a fault in it.
    @inlinable
    package func run(_ body: @escaping @Sendable () async throws -> Void) async throws {
        let hearing = hearCancellation()
        defer { hearing.end() }
        try await unsafe withUnsafeThrowingContinuation { unsafe start($0, body) }
    }

    /// What tells the boundary that its caller's task is cancelled.
    @safe
    @usableFromInline
    package struct Hearing {
        fileprivate let record: UnsafeMutableRawPointer?

        /// No more, from now on.
        @usableFromInline
        func end() { unsafe hf_task_scope_ignore_cancel(record) }
    }

    @usableFromInline
    func hearCancellation() -> Hearing { unsafe Hearing(record: hf_task_scope_hear_cancel(scope)) }

    @usableFromInline
    func start(
        _ caller: UnsafeContinuation<Void, any Error>,
        _ body: @escaping @Sendable () async throws -> Void
    ) {
        unsafe work = Work(body: body, caller: caller)
        let answer = rest.withLock { rest in
            unsafe rest.caller = caller
            return rest.answer
        }
        if let answer { return unsafe caller.resume(throwing: answer) }
        unsafe hf_task_scope_open(scope)
        // This task waits from now on: the thread is free for the body.
        hf_task_pool_run_next(true)
        // A closure in place, of the type that the runtime wants: each conversion is two more frames of every boundary.
        let task = Task<Void, any Error>(name: Task.name, executorPreference: self) { [self] in
            guard let work = unsafe work else { return }
            unsafe hf_task_scope_begin_body(scope)
            var failure: (any Error)?
            do {
                try await work.body()
            } catch {
                failure = error
            }
            unsafe hf_task_scope_end_body(scope)
            guard end() else { return }
            // The body's task ends now: the thread is free for the caller's.
            hf_task_pool_run_next(true)
            if let failure { unsafe work.caller.resume(throwing: failure) } else { unsafe work.caller.resume() }
            hf_task_pool_run_next(false)
        }
        // A Task is the reference to the runtime's (swift/stdlib/public/Concurrency/Task.swift).
        unsafe hf_task_scope_set_task(scope, UInt64(unsafeBitCast(task, to: UInt.self)))
        let isCancelled = rest.withLock { rest in
            rest.task = task
            return rest.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    /// Cancels the body and its children, now or when they are there.
    package func cancel() {
        let task = rest.withLock { rest in
            rest.isCancelled = true
            return rest.task
        }
        task?.cancel()
    }

    /// Has a closure called if the boundary is abandoned: in the order opposite to that of the calls, on a thread of the pool.
    ///
    /// - Parameter cleanup: What it does. A body that returns or throws does its own cleaning up, so then it is dropped.
    package func addCleanup(_ cleanup: @escaping @Sendable () -> Void) {
        rest.withLock { $0.cleanups.append(cleanup) }
    }

    /// Ends the boundary because it was abandoned: its children are cancelled, its cleanups run, and its caller gets an error.
    ///
    /// If it was given up before, only the cleanups are left to do.
    ///
    /// - Returns: Whether it was not over yet.
    @discardableResult
    package func abandon(_ error: any Error) -> Bool {
        unsafe hf_task_scope_close(scope)
        let isFirst = end()
        let (caller, cleanups) = unsafe rest.withLock { rest in
            defer { rest.cleanups = [] }
            return unsafe (isFirst ? rest.caller : nil, isFirst || rest.isGivenUp ? rest.cleanups : [])
        }
        if isFirst { cancel() }
        for cleanup in cleanups.reversed() { cleanup() }
        unsafe caller?.resume(throwing: error)
        return isFirst
    }

    /// Ends the boundary although its body has not ended: its task is cancelled, and its caller gets an error.
    ///
    /// The body may go on by itself, and then does its own cleaning up. Its cleanups run only if it faults.
    package func giveUp(_ error: any Error) {
        // First: a fault may come at this moment.
        rest.withLock { $0.isGivenUp = true }
        guard end() else { return }
        cancel()
        // Its deadline may pass before its caller waits. Whichever of the two comes second answers.
        let caller = unsafe rest.withLock { rest in
            rest.answer = error
            return unsafe rest.caller
        }
        unsafe caller?.resume(throwing: error)
    }

    /// Whether its caller has an answer.
    package var isAnswered: Bool { isOver.load(ordering: .acquiring) }

    /// The jobs of it that run at this moment.
    package var runningJobs: [RunningJob] {
        var jobs: [RunningJob] = []
        var next: UInt32 = 0
        var found = unsafe HFRunningJob()
        while unsafe hf_task_pool_find_running(scope, &next, &found) {
            guard let word = unsafe found.word else { continue }
            jobs.append(unsafe RunningJob(thread: found.thread, word: word, value: found.value))
        }
        return jobs
    }

    /// The boundary whose job a thread runs, also if it stands still in a fault handler; nil if it runs none.
    ///
    /// Callable from any thread.
    ///
    /// - Parameter thread: The thread, as gettid(2) has it.
    /// - Returns: The boundary.
    package static func running(onThread thread: CInt) -> FaultBoundary? {
        let all = open(atMost: 4096).boundaries
        return all.first { open in open.boundary.runningJobs.contains { $0.thread == thread } }?.boundary
    }

    /// A boundary whose body has not ended.
    package struct Open: Sendable {
        /// The boundary; its caller may have an answer already, by its deadline.
        package let boundary: FaultBoundary
        /// When it began, in nanoseconds of CLOCK_MONOTONIC, to some milliseconds.
        package let since: Int64
        /// The address of the runtime's task of the body; 0 if it is not made yet.
        package let task: UInt64
    }

    /// The boundaries whose bodies have not ended, the oldest first.
    ///
    /// Callable from any thread.
    ///
    /// - Parameter most: How many to return at most.
    /// - Returns: The boundaries, and how many there are.
    package static func open(atMost most: Int) -> (boundaries: [Open], count: Int) {
        var count = 0
        let scopes = unsafe [HFOpenScope](unsafeUninitializedCapacity: most) { buffer, filled in
            guard let first = buffer.baseAddress else { return }
            unsafe count = hf_task_scopes_copy(first, most) { owner in
                _ = unsafe Unmanaged<FaultBoundary>.fromOpaque(owner).retain()
            }
            filled = min(count, most)
        }
        let boundaries = unsafe scopes.compactMap { scope -> Open? in
            guard let owner = unsafe scope.owner else { return nil }
            let boundary = unsafe Unmanaged<FaultBoundary>.fromOpaque(owner).takeRetainedValue()
            return unsafe Open(boundary: boundary, since: scope.opened, task: scope.task)
        }
        return (boundaries.sorted { $0.since < $1.since }, count)
    }

    /// A job that runs, or ran a moment ago.
    @safe
    package struct RunningJob: @unchecked Sendable {
        /// Its thread, as gettid(2) has it.
        package let thread: CInt
        /// A word of the pool that has another value when the job is over.
        package let word: UnsafePointer<UInt64>
        /// The word's value while the job runs.
        package let value: UInt64
    }

    /// Returns whether this call has ended it.
    private func end() -> Bool { !isOver.exchange(true, ordering: .acquiringAndReleasing) }

    /// The boundary that the running task is in, nil outside of every one.
    ///
    /// Known by the executor that the task prefers, so binding a boundary costs nothing.
    package static var current: FaultBoundary? {
        if let scope = unsafe hf_task_pool_settled_scope() {
            return unsafe Unmanaged<FaultBoundary>.fromOpaque(scope.pointee.owner).takeUnretainedValue()
        }
        return unsafe withUnsafeCurrentTask { task in
            guard let executor = unsafe task?.unownedTaskExecutor else { return nil }
            let words = unsafe unsafeBitCast(executor, to: (UInt64, UInt64).self)
            // The second word is the witness table of the executor's type.
            guard words.1 == witnessTable, let object = unsafe UnsafeRawPointer(bitPattern: UInt(words.0)) else {
                return nil
            }
            return unsafe Unmanaged<FaultBoundary>.fromOpaque(object).takeUnretainedValue()
        }
    }

    private static let witnessTable: UInt64 = {
        let sample = FaultBoundary(BoundaryLabel("sample", item: 0, isShared: true))
        return unsafe sample.scope.pointee.executor.1
    }()
}

/// What boundaries are called and counted by: a route, a method.
///
/// There is one for each text, for ever, because a fault handler may read it at any time. Programs that put numbers into their labels would
/// make more and more, so beyond a limit all others are one.
@safe
package final class BoundaryLabel: @unchecked Sendable {
    /// What the pool and a fault handler know of it.
    ///
    /// Written once.
    fileprivate let shape: UnsafeMutablePointer<HFTaskLabel>
    private let isRefused = Atomic<Bool>(false)

    /// The label's text.
    package var name: String { unsafe String(cString: shape.pointee.text) }

    /// The number by which policies and budgets know it, among those of the loops' items; 0 for one that has none.
    package var item: UInt64 { unsafe shape.pointee.item }

    /// Whether its boundaries are refused: the label is quarantined.
    package var isQuarantined: Bool {
        get { isRefused.load(ordering: .acquiring) }
        set { isRefused.store(newValue, ordering: .releasing) }
    }

    /// The label of a shape.
    static func object(of shape: UnsafePointer<HFTaskLabel>) -> BoundaryLabel {
        guard let owner = unsafe shape.pointee.owner else { fatalError("a label without an object") }
        return unsafe Unmanaged<BoundaryLabel>.fromOpaque(owner).takeUnretainedValue()
    }

    private static let most = 4096
    private static let all = Mutex<[String: BoundaryLabel]>([:])
    private static let others = BoundaryLabel("(other boundaries)", item: 0, isShared: true)

    fileprivate init(_ name: String, item: UInt64, isShared: Bool) {
        unsafe shape = .allocate(capacity: 1)
        unsafe shape.initialize(
            to: HFTaskLabel(
                text: name.withCString { unsafe UnsafePointer(strdup($0)) },
                item: item,
                is_shared: isShared,
                owner: nil
            )
        )
        // One more reference for the pool, which keeps it for ever.
        unsafe shape.pointee.owner = Unmanaged.passRetained(self).toOpaque()
    }

    /// The label with a text; the same object each time.
    ///
    /// - Parameters:
    ///   - name: The text.
    ///   - isShared: Whether it stands for many routes; said when the label is made first.
    ///   - item: Its number, if it is made now.
    /// - Returns: The label; one for all others beyond `most`.
    package static func named(
        _ name: String,
        isShared: Bool = false,
        item: @autoclosure () -> UInt64 = 0
    ) -> BoundaryLabel {
        all.withLock { all in
            if let label = all[name] { return label }
            guard all.count < most else { return others }
            let label = BoundaryLabel(name, item: item(), isShared: isShared)
            all[name] = label
            return label
        }
    }
}
