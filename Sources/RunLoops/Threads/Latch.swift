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
