import LinuxSystem
import Synchronization

/// The waking of a loop: the state that other threads use without the loop's lock.
///
/// A poster publishes first and then reads the wake state. The loop changes the wake state first and then reads what was published.
final class Waker: @unchecked Sendable {
    let state = WakeState()
    let descriptors = SleepDescriptors()
    /// When the present sleep ends by itself; `Int64.max` while that is not known.
    private let sleepDeadline = Atomic<Int64>(.max)
    /// Whether another thread, or a callout of a nested run, left a block or a signal since the outermost run last began a pass.
    private let foreignWork = Atomic<Bool>(false)
    /// The time to which the timerfd is set; `Int64.max` for never.
    ///
    /// Touched by the loop's thread only.
    @safe @exclusivity(unchecked) private var armedDeadline: Int64 = .max

    // MARK: Any thread

    /// Wakes the loop if it sleeps; otherwise makes its next wait return at once, or drops the wake-up.
    ///
    /// - Parameter isRemembered: Whether a dropped wake-up counts for the run around the present one.
    @inline(__always)
    func wakeUp(isRemembered: @autoclosure () -> Bool) {
        if state.requestWake(isRemembered: isRemembered()) {
            descriptors.notify()
        }
    }

    /// Returns whether the loop's sleep ends after a deadline.
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

    /// Whether there is work for which a nested run may have consumed the wake-up.
    var hasForeignWork: Bool { foreignWork.load(ordering: .acquiring) }

    /// Records that work was left; called after leaving it.
    @inline(__always)
    func noteForeignWork(unless isOwn: @autoclosure () -> Bool) {
        guard !foreignWork.load(ordering: .relaxed), !isOwn() else { return }
        foreignWork.store(true, ordering: .releasing)
    }

    // MARK: The loop's thread

    /// Clears the record: the outermost run begins a pass, which finds the work.
    @inline(__always)
    func forgetForeignWork() {
        guard foreignWork.load(ordering: .relaxed) else { return }
        _ = foreignWork.exchange(false, ordering: .acquiringAndReleasing)
    }

    /// Publishes when the announced sleep ends by itself, and sets the timerfd to that time unless it is set already.
    @inline(__always)
    func arm(until end: Int64) {
        // While nobody sleeps, the deadline is `Int64.max`.
        if end != .max { sleepDeadline.store(end, ordering: .sequentiallyConsistent) }
        if end != armedDeadline, let descriptors = descriptors.present {
            armedDeadline = end
            descriptors.timer.set(to: end == .max ? nil : end)
        }
    }

    /// When the announced sleep ends by itself.
    var endOfSleep: Int64 { sleepDeadline.load(ordering: .relaxed) }

    /// Records that the announced sleep is over.
    @inline(__always)
    func endSleep() {
        sleepDeadline.store(.max, ordering: .releasing)
        state.endSleep()
    }

    /// Records that a sleep is over, if one was announced, and starts to drop wake-ups.
    @inline(__always)
    func ignoreAfterSleep() {
        sleepDeadline.store(.max, ordering: .releasing)
        state.ignoreAfterSleep()
    }
}
