import CRecoveryPoint
import LinuxSystem

/// A lock under which no user code runs and no fault is resumed.
///
/// Order: a loop's lock before an item's lock; never two of the same kind. Four bytes inside its owner: a timer has one of its own,
/// and there may be a million timers.
struct CriticalLock: ~Copyable, Sendable {
    private let futex = FutexLock()

    /// Runs `body` with the lock held.
    ///
    /// Whatever user code could be run by a release (a closure's captures) must leave `body` alive.
    @inline(__always)
    func withLock<Value, Failure>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        lock()
        defer { unlock() }
        return try body()
    }

    /// Takes the lock, for a section that no closure can enclose; `unlock()` must follow.
    @inline(__always)
    func lock() {
        hf_critical_enter()
        futex.lock()
    }

    /// Frees the lock.
    @inline(__always)
    func unlock() {
        futex.unlock()
        hf_critical_leave()
    }
}

/// A lock under which a thread can also wait for a change, until a time on the monotonic clock.
///
/// As under `CriticalLock`, no user code runs and no fault is resumed. No other lock is taken while it is held.
struct ConditionLock: ~Copyable, Sendable {
    private let monitor = Monitor()

    /// Runs `body` with the lock held.
    ///
    /// Whatever user code could be run by a release must leave `body` alive.
    @inline(__always)
    func withLock<Value, Failure>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        hf_critical_enter()
        monitor.lock()
        defer {
            monitor.unlock()
            hf_critical_leave()
        }
        return try body()
    }

    /// Gives up the lock until a signal comes or the time is over; called with the lock held.
    ///
    /// - Parameter deadline: Nanoseconds on the monotonic clock; `Int64.max` for never.
    /// - Returns: Whether it ended before its time; may do so without a signal.
    func wait(before deadline: Int64) -> Bool { monitor.wait(before: deadline) }

    /// Ends one wait.
    func signal() { monitor.signal() }

    /// Ends all waits.
    func broadcast() { monitor.broadcast() }
}

/// A gate that is opened once and stays open.
final class Latch: @unchecked Sendable {
    private let lock = ConditionLock()
    /// Protected by `lock`.
    private var isOpen = false

    /// Lets everybody pass, now and later.
    func open() {
        lock.withLock {
            isOpen = true
            lock.broadcast()
        }
    }

    /// Waits until it is open or the time has come, and says whether it is open.
    @discardableResult
    func wait(until deadline: HostRunLoop.Instant = .distantFuture) -> Bool {
        lock.withLock {
            while !isOpen {
                // The last look counts: it may have been opened in the same moment.
                guard lock.wait(before: deadline.nanoseconds) else { return isOpen }
            }
            return true
        }
    }
}
