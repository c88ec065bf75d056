import CRecoveryPoint
import LinuxSystem

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
