import FaultInjection
import Foundation

/// What only Foundation has.
enum FoundationLock {
    /// Kept for ever: whoever wants it next would wait.
    private static let lock = NSConditionLock(condition: 0)

    /// Lets the hazard lock Foundation's condition lock.
    static func prepare() {
        Hazard.lockingCondition = { body in
            lock.lock()
            body()
            lock.unlock(withCondition: 1)
        }
    }
}
