import CRecoveryPoint
import Glibc

/// A lock under which no user code runs and no fault is resumed.
///
/// Order: a loop's lock before an item's lock; never two of the same kind. A POSIX mutex and not `Mutex`, whose fast path
/// hides in the standard library from the thread sanitizer.
@safe
struct CriticalLock: ~Copyable, @unchecked Sendable {
    /// On the heap: a mutex must not move.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    init() {
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        // Fails on Linux only for attributes that are not used here.
        unsafe pthread_mutex_init(mutex, nil)
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    /// Runs `body` with the lock held.
    ///
    /// Whatever user code could be run by a release (a closure's captures) must leave `body` alive.
    @inline(__always)
    func withLock<Value, Failure>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        hf_critical_enter()
        unsafe pthread_mutex_lock(mutex)
        defer {
            unsafe pthread_mutex_unlock(mutex)
            hf_critical_leave()
        }
        return try body()
    }
}
