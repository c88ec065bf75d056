import Dispatch
import Glibc
import Holdfast
import Synchronization

/// Everything that a loop and its thread can do, tried once.
struct Repertoire: Sendable {
    let loop: HostRunLoop
    let name: String
    let isMain: Bool
    let driver: Driver
    private let state = StateBox()

    init(of loop: HostRunLoop, named name: String, isMain: Bool, _ driver: Driver) {
        self.loop = loop
        self.name = name
        self.isMain = isMain
        self.driver = driver
    }

    /// Notes what the thread is like before the fault.
    func rememberThreadState() {
        let now = try? loop.performAndWait(within: Driver.patience) { ThreadState.current }
        state.before.withLock { $0 = now }
    }

    func checkAnswer() {
        check("perform and wait") { (try? loop.performAndWait(within: Driver.patience) { 42 }) == 42 }
    }

    func checkAll() {
        checkAnswer()
        checkItems()
        checkMessages()
        checkRuns()
        checkOtherQueues()
        checkThread()
        checkProcess()
    }

    func check(_ what: String, _ works: () -> Bool) {
        driver.check("\(name) \(what)", works)
    }

    /// Whether what is set up calls back so many times.
    func happens(_ times: Int = 1, _ setUp: (@escaping @Sendable () -> Void) -> Void) -> Bool {
        let semaphore = DispatchSemaphore(value: 0)
        setUp { semaphore.signal() }
        for _ in 0..<times where !Driver.wait(semaphore) { return false }
        return true
    }

    /// The thread's state now, compared with that from before.
    func threadIsAsBefore() -> Bool {
        let now = try? loop.performAndWait(within: Driver.patience) { ThreadState.current }
        return now != nil && state.before.withLock { $0 } == now
    }

    private final class StateBox: Sendable {
        let before = Mutex<ThreadState?>(nil)
    }
}

/// What signals do to a thread.
struct ThreadState: Equatable, Sendable {
    let blocked: [CInt]
    let stack: UInt
    let stackSize: Int
    let stackFlags: CInt

    static var current: ThreadState {
        var mask = sigset_t()
        pthread_sigmask(SIG_BLOCK, nil, &mask)
        var stack = stack_t()
        sigaltstack(nil, &stack)
        return ThreadState(
            blocked: (1...64).filter { sigismember(&mask, $0) == 1 },
            stack: UInt(bitPattern: stack.ss_sp),
            stackSize: stack.ss_size,
            stackFlags: stack.ss_flags
        )
    }
}
