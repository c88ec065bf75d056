import Glibc

/// A way to take one's time: for trials of what watches for it.
public enum InjectedStall: String, Sendable, Hashable, CaseIterable {
    /// The processor is used all the while.
    case busy
    /// The thread sleeps.
    case sleep
    /// The thread waits for a lock that another one holds.
    case lock
    /// The thread waits for bytes that come late.
    case read

    /// Takes so many milliseconds; signals that interrupt system calls do not shorten it.
    public func commit(milliseconds: Int) {
        switch self {
        case .busy: stallBusy(milliseconds)
        case .sleep: stallSleep(milliseconds)
        case .lock: stallLock(milliseconds)
        case .read: stallRead(milliseconds)
        }
    }
}

private func monotonicMilliseconds() -> Int {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
}

@inline(never)
private func stallBusy(_ milliseconds: Int) {
    let end = monotonicMilliseconds() + milliseconds
    var bits: UInt64 = 0x9e37_79b9_7f4a_7c15
    // Most of the time is this function's own: looks at it need not find the clock.
    while monotonicMilliseconds() < end {
        var steps = 100_000
        while steps > 0 {
            bits ^= bits &<< 13
            bits ^= bits &>> 7
            steps &-= 1
        }
    }
    // What nobody uses is not calculated.
    precondition(bits != 0)
}

@inline(never)
private func stallSleep(_ milliseconds: Int) {
    var time = timespec(tv_sec: milliseconds / 1000, tv_nsec: milliseconds % 1000 * 1_000_000)
    var rest = timespec()
    while unsafe nanosleep(&time, &rest) != 0, errno == EINTR { time = rest }
}

@inline(never)
private func stallLock(_ milliseconds: Int) {
    let holder = LateThread(milliseconds)
    holder.waitForLock()
    holder.join()
}

@inline(never)
private func stallRead(_ milliseconds: Int) {
    let writer = LateThread(milliseconds)
    // Unlike the function before it, or an optimised build has one for both.
    precondition(writer.waitForByte() == 1)
    writer.join()
}

/// A thread that holds a lock for a while, gives it back and writes a byte into a pipe.
@safe
private final class LateThread: @unchecked Sendable {
    private let milliseconds: Int
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    // No semaphore: one that another thread posts counts as a lock.
    private let isLocked = UnsafeMutablePointer<pthread_barrier_t>.allocate(capacity: 1)
    private var pipe: [CInt] = [-1, -1]
    private var thread = pthread_t()

    init(_ milliseconds: Int) {
        self.milliseconds = milliseconds
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
        unsafe pthread_barrier_init(isLocked, nil, 2)
        let isOpen = unsafe Glibc.pipe(&pipe) == 0
        precondition(isOpen, "no pipe for a stall")
        let argument = unsafe Unmanaged.passRetained(self).toOpaque()
        let error = unsafe pthread_create(
            &thread,
            nil,
            { argument in
                guard let argument = unsafe argument else { return nil }
                unsafe Unmanaged<LateThread>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            },
            argument
        )
        precondition(error == 0, "no thread for a stall")
        unsafe pthread_barrier_wait(isLocked)
    }

    deinit {
        for descriptor in pipe { close(descriptor) }
        unsafe pthread_barrier_destroy(isLocked)
        unsafe isLocked.deallocate()
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    private func run() {
        unsafe pthread_mutex_lock(mutex)
        unsafe pthread_barrier_wait(isLocked)
        stallSleep(milliseconds)
        unsafe pthread_mutex_unlock(mutex)
        let byte: [UInt8] = [1]
        _ = unsafe write(pipe[1], byte, 1)
    }

    @inline(never)
    func waitForLock() {
        unsafe pthread_mutex_lock(mutex)
        unsafe pthread_mutex_unlock(mutex)
    }

    @inline(never)
    func waitForByte() -> Int {
        var byte: UInt8 = 0
        var count = 0
        repeat { count = unsafe read(pipe[0], &byte, 1) } while count < 0 && errno == EINTR
        return count
    }

    func join() {
        pthread_join(thread, nil)
    }
}
