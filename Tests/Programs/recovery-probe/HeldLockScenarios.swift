import FaultInjection
import Glibc
import Holdfast
import Synchronization

private final class Register: Sendable {
    let entries = Mutex<[Int]>([])
}

/// Calls `body` below a number of frames of its own.
@inline(never)
private func under(_ frames: Int, _ body: () -> Void) -> Int {
    if frames == 0 {
        body()
        return 0
    }
    return under(frames - 1, body) + 1
}

/// Something that the compiler does not see through.
@inline(never) @_optimize(none)
private func keep(_ place: UnsafeMutableRawPointer) {}

/// Locks that are easily overlooked.
extension Probe {
    /// The function that holds it is neither among the innermost frames nor among the outermost ones.
    func heldSwiftMutexDeepDown() {
        let register = Register()
        perform {
            _ = under(200) {
                register.entries.withLock { entries in
                    entries.append(1)
                    _ = under(400) { Fault.nilUnwrap.commit() }
                }
            }
        }
        finish()
    }

    /// A lock that an earlier callout left is let go, and another one is taken, after that or before: as many as before, and not the same.
    func exchangedLocks(isCrossed: Bool) {
        let locks = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 2)
        let (first, second) = (locks, locks + 1)
        pthread_mutex_init(first, nil)
        pthread_mutex_init(second, nil)
        perform(
            { pthread_mutex_lock(first) },
            {
                if isCrossed { pthread_mutex_lock(second) }
                pthread_mutex_unlock(first)
                if !isCrossed { pthread_mutex_lock(second) }
                Fault.nilUnwrap.commit()
                pthread_mutex_unlock(second)
            }
        )
        finish()
    }

    /// A function with a large frame sets flags of its own, which is no variable of the thread, and used a lock.
    func usedMutexBesideFlags() {
        let register = Register()
        perform(
            {
                var first = false
                var second = false
                var large: InlineArray<64, Int> = .init(repeating: 0)
                withUnsafeMutablePointer(to: &large) { keep($0) }
                withUnsafeMutablePointer(to: &first) { keep($0) }
                withUnsafeMutablePointer(to: &second) { keep($0) }
                register.entries.withLock { $0.append(1) }
                first = true
                second = true
                withUnsafeMutablePointer(to: &first) { keep($0) }
                withUnsafeMutablePointer(to: &second) { keep($0) }
                Fault.nilUnwrap.commit()
                withUnsafeMutablePointer(to: &large) { keep($0) }
            },
            { Probe.say("entries \(register.entries.withLock { $0.count })") }
        )
        finish()
    }
}
