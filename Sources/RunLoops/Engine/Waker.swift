import LinuxSystem
import Synchronization

/// How a loop is woken: what other threads touch of it without its lock.
///
/// Whoever posts publishes first and then looks at the wake state; the loop changes the wake state first and then looks at what
/// was published.
final class Waker: @unchecked Sendable {
    let state = WakeState()
    let descriptors = SleepDescriptors()
    /// When the present sleep ends by itself; `Int64.max` while that is not known.
    private let sleepDeadline = Atomic<Int64>(.max)
    /// Whether another thread, or a callout of a nested run, left a block or a signal since the outermost run last began a
    /// pass.
    private let foreignWork = Atomic<Bool>(false)
    /// What the timerfd is set to; `Int64.max` for never.
    ///
    /// Touched by the loop's thread only.
    @safe @exclusivity(unchecked) private var armedDeadline: Int64 = .max

    // MARK: Any thread

    /// Wakes the loop if it sleeps, or makes its next wait return at once, or drops the wake-up.
    ///
    /// - Parameter isRemembered: Whether one that is dropped counts for the run around the present one.
    @inline(__always)
    func wakeUp(isRemembered: @autoclosure () -> Bool) {
        if state.requestWake(isRemembered: isRemembered()) {
            descriptors.notify()
        }
    }

    /// Says whether the loop sleeps beyond a deadline.
    @inline(__always)
    func sleepsBeyond(_ deadline: @autoclosure () -> Int64) -> Bool {
        state.isSleeping && sleepDeadline.load(ordering: .sequentiallyConsistent) > deadline()
    }

    /// Makes a sleeping loop compute the length of its sleep again.
    func recheckSleep() {
        if state.requestRecheck() {
            descriptors.notify()
        }
    }

    /// Whether work was left that a nested run may have had the wake-up for.
    var hasForeignWork: Bool { foreignWork.load(ordering: .acquiring) }

    /// Notes that work was left, after it was left.
    @inline(__always)
    func noteForeignWork(unless isOwn: @autoclosure () -> Bool) {
        guard !foreignWork.load(ordering: .relaxed), !isOwn() else { return }
        foreignWork.store(true, ordering: .releasing)
    }

    // MARK: The loop's thread

    /// Forgets what was left: the outermost run begins a pass, which finds it.
    @inline(__always)
    func forgetForeignWork() {
        guard foreignWork.load(ordering: .relaxed) else { return }
        _ = foreignWork.exchange(false, ordering: .acquiringAndReleasing)
    }

    /// Publishes when the announced sleep ends by itself, and sets the timerfd to that, if it is not.
    @inline(__always)
    func arm(until end: Int64) {
        // It stands at never while nobody sleeps.
        if end != .max { sleepDeadline.store(end, ordering: .sequentiallyConsistent) }
        if end != armedDeadline, let descriptors = descriptors.present {
            armedDeadline = end
            descriptors.timer.set(to: end == .max ? nil : end)
        }
    }

    /// When the sleep that was announced ends by itself.
    var endOfSleep: Int64 { sleepDeadline.load(ordering: .relaxed) }

    /// The announced sleep is over.
    @inline(__always)
    func endSleep() {
        sleepDeadline.store(.max, ordering: .releasing)
        state.endSleep()
    }
}
