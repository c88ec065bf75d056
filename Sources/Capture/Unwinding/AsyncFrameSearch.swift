internal import CCrashCapture
internal import CTaskPool

/// The functions of the Swift runtime that run a job.
struct JobRunners {
    private var first: Range<UInt64>
    private var second: Range<UInt64>
    private var third: Range<UInt64>
    private var handOver: Range<UInt64>

    /// Looks the functions up; takes the loader's lock.
    init() {
        first = Self.range(of: "swift_job_run")
        second = Self.range(of: "swift_job_run_on_task_executor")
        third = Self.range(of: "swift_job_run_on_serial_and_task_executor")
        handOver = Self.range(of: "swift_task_switch")
    }

    /// Whether a return address lies in one of them.
    func contain(_ address: UInt64) -> Bool {
        let call = address &- 1
        return first.contains(call) || second.contains(call) || third.contains(call)
    }

    /// Whether a return address lies in the function that hands a task to another executor.
    func handsOver(_ address: UInt64) -> Bool { handOver.contains(address &- 1) }

    private static func range(of name: String) -> Range<UInt64> {
        var (start, end): (UInt64, UInt64) = (0, 0)
        guard unsafe hf_linked_function_bounds(name, &start, &end) == 0 else { return 0..<0 }
        return start..<max(start, end)
    }
}

/// Finds the async function among the frames of a thread: the one that the runtime has called to run a job.
///
/// It lies before the address at which the runtime calls a job's function, which the pool has noted (`hf_task_pool_note_runners`). Where there is no
/// pool, it is the frame before those of the runtime that end with one of `JobRunners`; and if there is none of these, the application's last
/// frame before any function of the runtime's part for tasks. A job may call that part, too, which calls the application back
/// (`TaskLocal.withValue`). On the crash thread: allocates nothing.
struct AsyncFrameSearch {
    private struct Place {
        /// Nil for that of a task which another thread may run by now.
        var frame: AwaitChain.Frame?
        /// How many frames lie above its caller.
        var position: UInt32
    }

    private let runners: JobRunners
    private var count: UInt32 = 0
    private var previous: Place?
    private var application: Place?
    /// The frame before the runtime's that the walk goes through; nil while it goes through others.
    private var beforeRuntime: Place?
    private var isInRuntime = false
    private var place: Place?
    private var isSure = false

    /// Begins at the innermost frame.
    init(_ runners: JobRunners) {
        self.runners = runners
    }

    /// The frame; nil if the thread runs no job.
    var found: AwaitChain.Frame? { place?.frame }

    /// How many frames lie above its caller.
    var position: UInt32 { place?.position ?? 0 }

    /// Takes the next frame outwards.
    ///
    /// - Parameters:
    ///   - programCounter: Its program counter.
    ///   - walker: Stands at the frame.
    ///   - isRuntime: Whether it is of the runtime's part for tasks.
    ///   - isApplication: Whether it is the application's.
    mutating func note(
        _ programCounter: UInt64,
        _ walker: StackWalker,
        isRuntime: @autoclosure () -> Bool,
        isApplication: @autoclosure () -> Bool
    ) {
        guard !isSure else { return }
        count &+= 1
        let hasTask = !runners.handsOver(programCounter)
        let present = Place(frame: hasTask ? walker.asyncFrame : nil, position: count)
        defer { previous = present }
        if hf_task_pool_is_runner(programCounter) {
            take(previous)
        } else if isRuntime() {
            if !isInRuntime { beforeRuntime = previous }
            isInRuntime = true
            if runners.contain(programCounter) {
                take(beforeRuntime)
            } else if place == nil {
                place = application
            }
        } else {
            isInRuntime = false
            if isApplication() { application = present }
        }
    }

    private mutating func take(_ found: Place?) {
        place = found
        isSure = true
    }
}
