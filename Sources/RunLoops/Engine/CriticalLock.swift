import CRecoveryPoint
import LinuxSystem

/// A lock under which no user code runs and no fault is resumed.
protocol SectionLock: ~Copyable {
    /// Takes the lock, for a section that a closure cannot enclose; `unlock()` must follow.
    func lock()

    /// Releases the lock.
    func unlock()
}

extension SectionLock where Self: ~Copyable {
    /// Runs `body` with the lock held.
    ///
    /// Any object whose release could run user code (such as a closure with captures) must outlive `body`.
    @inline(__always)
    func withLock<Value, Failure>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        lock()
        defer { unlock() }
        return try body()
    }
}

/// A lock that any thread takes as often as others.
///
/// The order is: a loop's lock (`OwnedLock`), that of a queue of commands, an item's, another one; never two of the same kind.
struct CriticalLock: SectionLock, ~Copyable, Sendable {
    private let futex = FutexLock()

    /// Takes the lock, for a section that a closure cannot enclose; `unlock()` must follow.
    @inline(__always)
    func lock() {
        hf_critical_enter()
        futex.lock()
    }

    /// Releases the lock.
    @inline(__always)
    func unlock() {
        futex.unlock()
        hf_critical_leave()
    }
}

/// A lock that a thread nearly always finds free, because it is held for some ten instructions: an item's, or that of a queue of commands.
///
/// It saves one of the two locked instructions, because
/// it wakes nobody: see `BriefLock`.
struct BriefCriticalLock: SectionLock, ~Copyable, Sendable {
    private let brief = BriefLock()

    /// Takes the lock, for a section that a closure cannot enclose; `unlock()` must follow.
    @inline(__always)
    func lock() {
        hf_critical_enter()
        brief.lock()
    }

    /// Releases the lock.
    @inline(__always)
    func unlock() {
        brief.unlock()
        hf_critical_leave()
    }
}

/// A lock with which a thread can also wait for a change, until a time on the monotonic clock.
///
/// As with `CriticalLock`, no user code runs and no fault is resumed while it is held. Take no other lock while holding it.
struct ConditionLock: ~Copyable, Sendable {
    private let monitor = Monitor()

    /// Runs `body` with the lock held.
    ///
    /// Any object whose release could run user code must outlive `body`.
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

    /// Releases the lock until a signal comes or the time is over; called with the lock held.
    ///
    /// - Parameter deadline: Nanoseconds on the monotonic clock; `Int64.max` for never.
    /// - Returns: Whether the wait ended before the deadline. This can happen without a signal.
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

    /// Lets all waiters pass, now and later.
    func open() {
        lock.withLock {
            isOpen = true
            lock.broadcast()
        }
    }

    /// Waits until it is open or the deadline has come; returns whether it is open.
    @discardableResult
    func wait(until deadline: HostRunLoop.Instant = .distantFuture) -> Bool {
        lock.withLock {
            while !isOpen {
                // Checked once more: it may have been opened at the same moment.
                guard lock.wait(before: deadline.nanoseconds) else { return isOpen }
            }
            return true
        }
    }
}
