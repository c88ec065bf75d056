import Glibc

/// A point on the monotonic clock.
struct MonotonicTime: Sendable {
    let nanoseconds: Int64

    static var now: MonotonicTime {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// Whether this point is some seconds ago.
    func isOver(after seconds: Int) -> Bool {
        Self.now.nanoseconds - nanoseconds > Int64(seconds) * 1_000_000_000
    }
}

/// A thread that runs a closure.
final class Thread: @unchecked Sendable {
    private let body: @Sendable () -> Void
    /// Written by `init`, before anybody can call `join`.
    private var thread = pthread_t()

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = body
        let error = pthread_create(
            &thread,
            nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Thread>.fromOpaque(argument).takeRetainedValue().body()
                return nil
            },
            Unmanaged.passRetained(self).toOpaque()
        )
        precondition(error == 0, "no thread")
    }

    func join() {
        pthread_join(thread, nil)
    }
}

/// A value under a POSIX mutex: the fast path of `Mutex` is in the standard library, where the thread sanitizer sees nothing.
final class Locked<Value>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var value: Value

    init(_ value: Value) {
        self.value = value
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(&value)
    }
}

/// Random numbers that are the same for the same seed (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}
