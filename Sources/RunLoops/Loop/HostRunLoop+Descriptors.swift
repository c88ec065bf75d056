import LinuxSystem
import Synchronization
import SystemPackage

/// The descriptors of a loop, and what it does without them.
///
/// A loop needs an eventfd and a timerfd, and an epoll instance for each mode. A process that has none left can make loops and
/// modes all the same: they are used without, until there are some again. Only what is a descriptor itself is refused.
extension HostRunLoop {
    /// How long a loop sleeps at most that nobody can wake: the time by which a wake-up may come late.
    private static var slice: Int64 { 5_000_000 }

    /// How many descriptors the port sources of the default mode watch.
    ///
    /// Callable from any thread.
    public var watchedDescriptors: Int {
        lock.withLock { modes[.default]?.ports.descriptorCount ?? 0 }
    }

    /// Makes what the loop sleeps with in the default mode, if it is not there.
    ///
    /// - Throws: The error of the call that failed: `EMFILE`, `ENFILE` or `ENOMEM`.
    func requireDescriptors() throws(Errno) {
        _ = try lock.withLock { loopMode(creating: .default) }.requiredPoller()
    }

    // MARK: On the loop's thread, in a mode that has no epoll instance

    /// Tries again to get the mode's epoll instance; without one, makes the eventfd unreadable until it is written again.
    ///
    /// To be called before the sleep is announced: who wakes the loop after that writes.
    func prepareToSleepWithoutPoller(in mode: LoopMode) {
        do throws(Errno) {
            _ = try mode.requiredPoller()
            prepareMainQueue(for: mode)
        } catch {
            descriptors.present?.wake.clear()
        }
    }

    /// Sleeps until the loop is woken, the time has come that `sleepDeadline` names, or the main dispatch queue has work.
    ///
    /// The mode has no other descriptor: adding one needs an epoll instance. May end for no reason.
    func waitWithoutPoller(in mode: LoopMode) {
        guard let pair = descriptors.present else { return waitInSlices(servingMainQueue: hostsMainQueue(in: mode)) }
        let mainQueue = hostsMainQueue(in: mode) ? [mainQueueDescriptor.load(ordering: .relaxed)] : []
        Readiness.wait(forAny: [pair.wake.rawValue, pair.timer.rawValue] + mainQueue)
    }

    /// Sleeps for one slice at most, in a loop that nobody can wake.
    func waitInSlices(servingMainQueue: Bool) {
        let mainQueue = servingMainQueue ? [mainQueueDescriptor.load(ordering: .relaxed)] : []
        let end = sleepDeadline.load(ordering: .relaxed)
        let rest = end == .max ? .max : end - MonotonicClock.nanoseconds
        Readiness.wait(forAny: mainQueue, atMost: min(Self.slice, rest))
    }

    /// Says whether the main dispatch queue is to be served in a mode that has no epoll instance to harvest that from.
    func mainQueueEventWithoutPoller(in mode: LoopMode) -> LoopEvent? {
        mode.poller == nil && hostsMainQueue(in: mode) && isMainQueueReady ? .mainQueue : nil
    }
}
