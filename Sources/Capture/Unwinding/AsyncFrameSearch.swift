internal import CTaskPool

/// Finds the async function among the frames of a thread: the application's last one before the runtime's that runs jobs.
///
/// Any function of the runtime's part for tasks may be the one that runs jobs, so the first one behind the application counts. But a job may
/// call that part of the runtime (`ContinuousClock.now`), which may call the application. So the addresses at which the runtime runs a job of
/// the pool count more, once they are known (`hf_task_pool_note_runners`). On the crash thread: allocates nothing.
struct AsyncFrameSearch {
    private var last: AwaitChain.Frame?
    private var lastPosition: UInt32 = 0
    private var count: UInt32 = 0
    private var isSure = false
    /// The frame; nil if the thread runs no job.
    private(set) var found: AwaitChain.Frame?
    /// How many frames lie above its caller.
    private(set) var position: UInt32 = 0

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
        count &+= 1
        guard !isSure else { return }
        if hf_task_pool_is_runner(programCounter) {
            take()
            isSure = true
        } else if isRuntime() {
            if found == nil { take() }
        } else if isApplication() {
            last = walker.asyncFrame
            lastPosition = count
        }
    }

    private mutating func take() {
        guard let last else { return }
        found = last
        position = lastPosition
    }
}
