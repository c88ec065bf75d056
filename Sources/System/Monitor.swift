import CLinuxShims
import Glibc

/// A POSIX mutex with a condition variable whose waits end at a time on the monotonic clock.
@safe
public struct Monitor: ~Copyable, @unchecked Sendable {
    /// On the heap: neither must move.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>

    /// Makes a mutex that nobody holds.
    ///
    /// The corresponding C functions are `pthread_mutex_init` and `pthread_cond_init`.
    public init() {
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe condition = .allocate(capacity: 1)
        unsafe condition.initialize(to: pthread_cond_t())
        // These fail on Linux only for attributes that are not used here.
        unsafe pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        unsafe pthread_cond_init(condition, &attributes)
        unsafe pthread_condattr_destroy(&attributes)
    }

    deinit {
        unsafe pthread_cond_destroy(condition)
        unsafe condition.deallocate()
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    /// Waits until nobody holds the mutex, and takes it.
    ///
    /// The corresponding C function is `pthread_mutex_lock`.
    public func lock() {
        unsafe pthread_mutex_lock(mutex)
    }

    /// Gives the mutex back.
    ///
    /// The corresponding C function is `pthread_mutex_unlock`.
    public func unlock() {
        unsafe pthread_mutex_unlock(mutex)
    }

    /// Releases the mutex, which the calling thread holds, until a signal comes or the time is over; then takes it again.
    ///
    /// The corresponding C function is `pthread_cond_timedwait`.
    ///
    /// - Parameter deadline: Nanoseconds on the monotonic clock; `Int64.max` for never.
    /// - Returns: Whether it ended before its time, which may happen without a signal.
    public func wait(before deadline: Int64) -> Bool {
        guard deadline != .max else {
            unsafe pthread_cond_wait(condition, mutex)
            return true
        }
        let (seconds, nanoseconds) = max(0, deadline).quotientAndRemainder(dividingBy: 1_000_000_000)
        var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(nanoseconds))
        return unsafe pthread_cond_timedwait(condition, mutex, &time) != ETIMEDOUT
    }

    /// Ends one wait.
    ///
    /// The corresponding C function is `pthread_cond_signal`.
    public func signal() {
        unsafe pthread_cond_signal(condition)
    }

    /// Ends all waits.
    ///
    /// The corresponding C function is `pthread_cond_broadcast`.
    public func broadcast() {
        unsafe pthread_cond_broadcast(condition)
    }
}
