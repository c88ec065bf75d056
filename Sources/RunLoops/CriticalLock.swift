import CRecoveryPoint
import Synchronization

/// A lock under which no user code runs and no fault is resumed.
///
/// Order: a loop's lock before an item's lock; never two of the same kind.
struct CriticalLock: ~Copyable, Sendable {
    private let mutex = Mutex<Void>(())

    /// Runs `body` with the lock held.
    ///
    /// Whatever user code could be run by a release (a closure's captures) must leave `body` alive.
    @inline(__always)
    func withLock<Value, Failure>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        hf_critical_enter()
        defer { hf_critical_leave() }
        return try mutex.withLock { (_) throws(Failure) in Transfer(value: try body()) }.value
    }
}

/// Takes a result out of the mutex, whose own state is empty: nothing that it protects can escape that way.
private struct Transfer<Value>: @unchecked Sendable {
    let value: Value
}
