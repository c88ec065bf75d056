import LinuxSystem
import Synchronization

extension HostRunLoop {
    /// Calls a closure at a given time, once or repeatedly.
    ///
    /// It may be in many modes of one loop and has one fire date for all of them. If a repeating timer misses several fires, it
    /// fires once for all of them and keeps its phase. Callable from any thread.
    public final class Timer: Item, LoopItem, @unchecked Sendable {
        let perform: KeptClosure
        // Protected by the item's lock.
        @safe @exclusivity(unchecked) private var fireTime: Int64
        @safe @exclusivity(unchecked) private var toleranceNanoseconds: Int64 = 0
        /// The address of the loop in which its callout is running; 0 for none.
        ///
        /// Set with that loop's lock held, and cleared with the item's.
        private let firingLoop = Atomic<UInt>(0)
        /// How many modes it is in: of one loop, under whose lock it may be read without the item's.
        @safe @exclusivity(unchecked) private var modeCount = 0
        /// How many references of heaps to it are still to be released, because it left them while it was firing.
        @safe @exclusivity(unchecked) private var leftReferences: UInt32 = 0

        /// The block that the timer performs, to be finished after the callout, even if the callout was abandoned.
        ///
        /// Set before the timer is added.
        @safe @exclusivity(unchecked) var delayedBlock: QueuedBlock?

        static var belongsToOneLoop: Bool { true }
        static var keepsModeAlive: Bool { true }
        var canBeWithdrawn: Bool { delayedBlock == nil }

        /// The time between two fires, at most 292 years; zero for a timer that fires once.
        package var interval: Duration { .nanoseconds(intervalNanoseconds) }
        private let intervalNanoseconds: Int64

        /// Makes a timer that is in no loop yet.
        ///
        /// - Parameters:
        ///   - label: The name that crash reports show for it.
        ///   - fireAt: When it fires first; a time in the past means now, and `nextFireDate` then says so.
        ///   - interval: The time between two fires; zero or less for a timer that fires once.
        ///   - perform: Called on the loop's thread, with the timer.
        public convenience init(
            label: String,
            fireAt: Instant,
            interval: Duration = .zero,
            @_inheritActorContext perform: __owned @escaping @Sendable @isolated(any) (Timer) -> Void
        ) {
            let time = Self.notPast(fireAt.nanoseconds)
            let isolation = perform.isolation
            self.init(
                ItemIdentifier.next(),
                label,
                time: time,
                interval: interval,
                isolation,
                Plain.timer(consume perform)
            )
        }

        /// Makes a timer with a first fire time that is not in the past.
        private init(
            _ identifier: UInt64,
            _ label: String,
            time: Int64,
            interval: Duration,
            _ isolation: (any Actor)?,
            _ perform: __owned @escaping @Sendable (Timer) -> Void
        ) {
            fireTime = time
            // A positive interval stays positive, however short it is.
            intervalNanoseconds = interval.attoseconds > 0 ? max(1, interval.saturatingNanoseconds) : 0
            self.perform = KeptClosure(TimerClosure(closure: consume perform))
            super.init(identifier, label: label, isolation: isolation)
        }

        /// Makes a timer that is in no loop yet and fires some time from now.
        ///
        /// - Parameters:
        ///   - label: The name that crash reports show for it.
        ///   - delay: The time from now until it first fires.
        ///   - interval: The time between two fires; zero or less for a timer that fires once.
        ///   - perform: Called on the loop's thread, with the timer.
        public convenience init(
            label: String,
            after delay: Duration,
            repeating interval: Duration = .zero,
            @_inheritActorContext perform: __owned @escaping @Sendable @isolated(any) (Timer) -> Void
        ) {
            let (time, overflow) = MonotonicClock.nanoseconds.addingReportingOverflow(
                max(delay.saturatingNanoseconds, 0)
            )
            let isolation = perform.isolation
            self.init(
                ItemIdentifier.next(),
                label,
                time: overflow ? .max : time,
                interval: interval,
                isolation,
                Plain.timer(consume perform)
            )
        }

        /// Makes a timer of the host's own, which is never withheld, withdrawn or counted as service.
        package convenience init(
            ofHost label: String,
            fireAt: Instant,
            repeating interval: Duration = .zero,
            perform: @escaping @Sendable (Timer) -> Void
        ) {
            let time = Self.notPast(fireAt.nanoseconds)
            self.init(ItemIdentifier.nextOfHost(), label, time: time, interval: interval, nil, perform)
        }

        /// When it fires next; setting it does not change the interval.
        ///
        /// A time in the past means now: it reads back as the moment in which it was set. While the timer fires, this is the date
        /// that has come. Of an invalid timer it is the last date, and setting it has no effect. Setting it on another thread wakes
        /// the loop. A date set by the timer's own closure counts only if it is later than the date that has just come.
        public var nextFireDate: Instant {
            get { Instant(nanoseconds: withItemLock { fireTime }) }
            set {
                if isValid { reschedule(at: Self.notPast(newValue.nanoseconds)) }
            }
        }

        /// How late it may fire so that it can share a wake-up with other timers; zero unless set.
        ///
        /// The loop picks the last fire date at which no timer would be later than its tolerance allows; among timers that could
        /// share the wake-up it looks at 64 at most. It sleeps until then and fires all timers that are due. Fire dates do not
        /// move: a repeating timer keeps its phase. The tolerance is never negative, and at most half the interval of a repeating
        /// timer (CFRunLoop.c:4752; there it has an effect on Darwin only). Setting it wakes the loop only if it would sleep too
        /// long. Callable from any thread.
        public var tolerance: Duration {
            get { .nanoseconds(withItemLock { toleranceNanoseconds }) }
            set {
                let wanted = max(0, newValue.saturatingNanoseconds)
                let clamped = intervalNanoseconds > 0 ? min(wanted, intervalNanoseconds / 2) : wanted
                updateSchedule { toleranceNanoseconds = clamped }
            }
        }

        /// The latest time at which it should fire next.
        ///
        /// Called with the item's lock or its loop's lock held: every change takes both.
        var latestFireTime: Int64 {
            let (sum, overflow) = fireTime.addingReportingOverflow(toleranceNanoseconds)
            return overflow ? .max : sum
        }

        override func end() {
            lockItem()
            guard endLifeWithItemLock() else { return unlockItem() }
            let isOver = removeAtOnce()
            unlockItem()
            if !isOver { removeFromAllLoops() }
        }

        /// Takes it out of its loop if nobody else holds the loop's lock; returns whether it is in no loop then.
        ///
        /// Called with the item's lock held, which keeps the loop alive: otherwise a reference to it must be counted, and the item's lock
        /// be taken once more.
        @inline(__always)
        private func removeAtOnce() -> Bool {
            guard let first = memberships.first else { return memberships.areOver && !memberships.wasWithdrawn }
            return first.loop.with { loop in
                guard !loop.isInheritedByFork, loop.lock.tryLock() else { return false }
                defer { loop.lock.unlock() }
                return removeWithLocks(from: loop)
            }
        }

        /// Returns a time, or the present if that is later.
        ///
        /// Reading the exact clock is most of the cost of making a timer. A date clearly in the future does not need it: the coarse
        /// clock is behind by one tick of the kernel, ten milliseconds at most.
        private static func notPast(_ time: Int64) -> Int64 {
            if time > MonotonicClock.coarseNanoseconds &+ 20_000_000 { return time }
            return max(time, MonotonicClock.nanoseconds)
        }

        // MARK: Firing, on the loop's thread

        /// Takes the timer out of the order of all its modes for the duration of a callout, if it is still to fire.
        ///
        /// Called with the loop's lock held.
        ///
        /// - Parameters:
        ///   - loop: The loop that fires it.
        ///   - limit: The time for which the batch was found; only a later fire time needs another look at the clock.
        ///   - slot: Its place in a mode; `nil` if it is not in the mode any more.
        ///   - mode: The mode.
        /// - Returns: The fire time that has come, or `nil` if the timer is invalid, postponed, firing or not in the loop.
        @inline(__always)
        func beginFiring(in loop: HostRunLoop, dueAt limit: Int64, at slot: Int?, of mode: LoopMode) -> Int64? {
            guard let slot, modeCount == 1 else { return beginFiringSomewhere(in: loop, dueAt: limit) }
            // The loop's lock is enough: whatever is read here changes under that and the item's. Not so its memberships, to which another
            // loop's lock belongs, too, if it is common there.
            guard isToFire(limit) else { return nil }
            firingLoop.store(Self.address(of: loop), ordering: .releasing)
            mode.park(slot)
            return fireTime
        }

        /// The same for one that is in several modes, or not in the mode any more.
        @inline(never)
        private func beginFiringSomewhere(in loop: HostRunLoop, dueAt limit: Int64) -> Int64? {
            withItemLock {
                guard memberships.first?.loop.refers(to: loop) == true, isToFire(limit) else { return nil }
                firingLoop.store(Self.address(of: loop), ordering: .releasing)
                memberships.visitAll { membership in
                    membership.mode.with { $0.park(membership.slot) }
                }
                return fireTime
            }
        }

        /// Whether it is to fire in a batch that was found for a time.
        ///
        /// Compared with the present, not with that time: a timer that was set to fire at once still fires in this batch (CFRunLoop.c:2515).
        @inline(__always)
        private func isToFire(_ limit: Int64) -> Bool {
            // In this order: another loop, in which it has just fired for the last time, writes them the other way round.
            !isFiring && isValid && (fireTime <= limit || fireTime <= MonotonicClock.nanoseconds)
        }

        private static func address(of loop: HostRunLoop) -> UInt {
            unsafe UInt(bitPattern: Unmanaged.passUnretained(loop).toOpaque())
        }

        private var isFiring: Bool { firingLoop.load(ordering: .acquiring) != 0 }

        /// Whether its callout is running.
        var isBeingCalled: Bool { isFiring }

        /// Whether its callout is still running in another loop, which it was in before.
        func isFiringElsewhere(than loop: HostRunLoop) -> Bool {
            let address = firingLoop.load(ordering: .acquiring)
            return address != 0 && address != Self.address(of: loop)
        }

        /// Returns whether the timer waits in a batch: it is in the mode, but neither scheduled there nor firing.
        ///
        /// Called with the loop's lock held.
        func isParked(in mode: LoopMode, slot: Int) -> Bool {
            withItemLock {
                isValid && !isFiring && memberships.membership(in: mode)?.slot == slot && !mode.timers.isScheduled(slot)
            }
        }

        /// Schedules the timer at its next fire time, or invalidates it if it fires once.
        ///
        /// - Parameters:
        ///   - loop: The loop that has fired it.
        ///   - fired: The fire time that had come.
        /// - Returns: How many references the caller must release in addition to its own. Each release is a locked instruction, unless it is
        ///   one of several.
        @inline(__always)
        func endFiring(in loop: HostRunLoop, fired: Int64) -> UInt32 {
            delayedBlock?.finishIfBegun()
            guard intervalNanoseconds > 0 else { return endLastFiring(in: loop) }
            var left: UInt32 = 0
            updateSchedule {
                left = endCallout()
                // A date that was set during the callout counts if it is later than the old one (CFRunLoop.c:2560).
                if fireTime <= fired {
                    fireTime = nextFireTime(after: fired, now: MonotonicClock.nanoseconds)
                }
            }
            return left
        }

        /// Notes that it is not firing any more, and returns how many references are to be released.
        ///
        /// Called with the item's lock held.
        @inline(__always)
        private func endCallout() -> UInt32 {
            firingLoop.store(0, ordering: .releasing)
            let left = leftReferences
            leftReferences = 0
            return left
        }

        /// Invalidates the timer after its callout; takes as few locks as possible, because most timers end like this.
        @inline(__always)
        private func endLastFiring(in loop: HostRunLoop) -> UInt32 {
            guard !loop.isInheritedByFork else {
                end()
                return withItemLock { endCallout() }
            }
            loop.lock.lock()
            lockItem()
            let wasValid = endLifeWithItemLock()
            let isOver = !wasValid || removeWithLocks(from: loop)
            let left = endCallout()
            unlockItem()
            loop.lock.unlock()
            // Its callout has brought it to another loop, or it was withdrawn.
            if !isOver { removeFromAllLoops() }
            return left
        }

        /// Skips the dates that passed while a repeating timer was in no loop.
        func skipMissedFires() {
            guard intervalNanoseconds > 0 else { return }
            let now = MonotonicClock.nanoseconds
            withItemLock {
                guard memberships.isEmpty, fireTime < now else { return }
                fireTime = nextFireTime(after: fireTime, now: now)
            }
        }

        /// Returns the first time of the schedule that is strictly in the future.
        private func nextFireTime(after fired: Int64, now: Int64) -> Int64 {
            let missed = now < fired ? 0 : (now &- fired) / intervalNanoseconds
            let (distance, overflow) = intervalNanoseconds.multipliedReportingOverflow(by: missed + 1)
            guard !overflow else { return .max }
            let (next, sumOverflow) = fired.addingReportingOverflow(distance)
            return sumOverflow ? .max : next
        }

        private func reschedule(at time: Int64) {
            let loop = updateSchedule { fireTime = time }
            if let loop, !loop.isCurrent {
                loop.wakeUp()
            }
        }

        /// Changes the schedule and updates the heaps of all its modes.
        ///
        /// - Returns: The loop that the timer is in.
        @discardableResult
        private func updateSchedule(_ change: () -> Void) -> HostRunLoop? {
            while true {
                let owner = withItemLock { memberships.first?.loop.object }
                guard let owner else {
                    // In no loop: its own lock is enough, unless it was added to a loop just now.
                    let done = withItemLock {
                        guard memberships.isEmpty else { return false }
                        change()
                        return true
                    }
                    if done { return nil }
                    continue
                }
                let latest = owner.lock.withLock {
                    withItemLock { () -> Int64? in
                        guard memberships.first?.loop.refers(to: owner) == true else { return nil }
                        change()
                        scheduleInAllModes()
                        return latestFireTime
                    }
                }
                if let latest {
                    owner.interruptSleep(ifLaterThan: latest)
                    return owner
                }
            }
        }

        /// Called with both locks held.
        private func scheduleInAllModes() {
            let hasTolerance = toleranceNanoseconds > 0
            memberships.visitAll { membership in
                membership.mode.with { mode in
                    if hasTolerance { mode.noteTolerance() }
                    guard !isFiring else { return }
                    mode.schedule(membership.slot, at: fireTime, latest: latestFireTime)
                }
            }
        }

        // MARK: LoopItem

        override func join(_ loop: HostRunLoop, in mode: Mode) throws(RunLoopError) -> AddResult {
            let result = try loop.insert(self, into: mode).result
            loop.interruptSleep(ifLaterThan: withItemLock { latestFireTime })
            return result
        }

        override func part(from loop: HostRunLoop, in mode: Mode) { loop.takeOut(self, of: mode) }

        override func isMember(of loop: HostRunLoop, in mode: Mode) -> Bool { loop.holds(self, in: mode) }

        @inline(__always)
        func enter(_ mode: LoopMode) throws(RunLoopError) -> Int {
            modeCount &+= 1
            if toleranceNanoseconds > 0 { mode.noteTolerance() }
            return isFiring ? mode.insert(self) : mode.insert(self, at: fireTime, latest: latestFireTime)
        }

        @inline(__always)
        func leave(_ mode: LoopMode, slot: Int) {
            modeCount &-= 1
            let isReferenceLeft = isFiring
            mode.removeTimer(at: slot, leavingReference: isReferenceLeft)
            if isReferenceLeft { leftReferences &+= 1 }
        }
    }
}

extension HostRunLoop.Timer {
    /// Makes a timer that calls a closure with an object and does not keep the object alive; it is in no loop yet.
    ///
    /// When the object is gone, the timer invalidates itself at its next fire date instead of firing. The object stays alive during
    /// the call. Callable from any thread.
    ///
    /// - Parameters:
    ///   - label: The name that crash reports show for it.
    ///   - fireAt: When it fires first; a time in the past means now.
    ///   - interval: The time between two fires; zero or less for a timer that fires once.
    ///   - target: The object, which is held weakly.
    ///   - perform: Called on the loop's thread, with the object and the timer; must not capture the object.
    package convenience init<Target: AnyObject & Sendable>(
        label: String,
        fireAt: HostRunLoop.Instant,
        interval: Duration = .zero,
        target: Target,
        @_inheritActorContext perform: @escaping @Sendable @isolated(any) (Target, HostRunLoop.Timer) -> Void
    ) {
        let isolation = perform.isolation
        let perform = Plain.timer(perform)
        self.init(ItemIdentifier.next(), label, time: Self.notPast(fireAt.nanoseconds), interval: interval, isolation) {
            [weak target] timer in
            guard let target else {
                timer.invalidate()
                return
            }
            perform(target, timer)
        }
    }

    /// Makes a timer that calls a closure with an object, some time from now, and does not keep the object alive.
    ///
    /// When the object is gone, the timer invalidates itself at its next fire date instead of firing. The object stays alive during
    /// the call. Callable from any thread.
    ///
    /// - Parameters:
    ///   - label: The name that crash reports show for it.
    ///   - delay: The time from now until it first fires.
    ///   - interval: The time between two fires; zero or less for a timer that fires once.
    ///   - target: The object, which is held weakly.
    ///   - perform: Called on the loop's thread, with the object and the timer; must not capture the object.
    public convenience init<Target: AnyObject & Sendable>(
        label: String,
        after delay: Duration,
        repeating interval: Duration = .zero,
        target: Target,
        @_inheritActorContext perform: @escaping @Sendable @isolated(any) (Target, HostRunLoop.Timer) -> Void
    ) {
        self.init(
            label: label,
            fireAt: .now.advanced(by: delay),
            interval: interval,
            target: target,
            perform: perform
        )
    }
}

extension HostRunLoop {
    /// Returns when the next timer of a mode fires.
    ///
    /// Callable from any thread.
    ///
    /// - Parameter mode: The mode.
    /// - Returns: The earliest fire date, or `nil` if the mode has no timer.
    public func nextTimerFireDate(in mode: Mode) -> Instant? {
        lock.withLock {
            guard let mode = modes[mode], mode.timers.count > 0 else { return nil }
            guard mode.timers.hasParkedElements else {
                return mode.timers.earliestDeadline.map(Instant.init(nanoseconds:))
            }
            // A timer that is firing counts with the date that has come, as in CFRunLoop.
            var earliest = Instant.distantFuture
            mode.timers.visitAll { earliest = min(earliest, $0.nextFireDate) }
            return earliest
        }
    }
}
