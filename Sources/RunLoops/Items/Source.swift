import CRecoveryPoint
import Synchronization

extension HostRunLoop {
    /// An event source that is signalled by hand, like CFRunLoop's version 0 source.
    ///
    /// It may be in many modes of many loops. It is first new, then added (`schedule` is called once per mode), then removed
    /// (`cancel` is called) or invalidated, which is final. Callable from any thread.
    public class Source: Item, LoopItem, @unchecked Sendable {
        private let perform: @Sendable (Source) -> Void
        let schedule: (@Sendable (HostRunLoop, Mode) -> Void)?
        let cancel: (@Sendable (HostRunLoop, Mode) -> Void)?
        /// The number of the first signal that was not yet handled; 0 if there is none.
        private let firstSignal = Atomic<UInt64>(0)

        private static let lastSignal = Atomic<UInt64>(0)

        static var belongsToOneLoop: Bool { false }
        static var keepsModeAlive: Bool { true }
        static var isToldOfMoving: Bool { true }

        /// Its place among sources that are signalled together; lower orders are performed first.
        package let order: Int

        /// Makes a source that is in no loop yet.
        ///
        /// - Parameters:
        ///   - label: The name that crash reports show for it.
        ///   - order: Its place among sources that are signalled together; with equal orders the one signalled first is performed
        ///     first.
        ///   - schedule: Called once for every mode that it is added to, on the thread that adds it.
        ///   - cancel: Called once for every mode that it leaves, on the thread that removes it.
        ///   - perform: Called on the loop's thread with the source, after it was signalled.
        public convenience init(
            label: String,
            order: Int = 0,
            schedule: (@Sendable (HostRunLoop, Mode) -> Void)? = nil,
            cancel: (@Sendable (HostRunLoop, Mode) -> Void)? = nil,
            @_inheritActorContext perform: @escaping @Sendable @isolated(any) (Source) -> Void
        ) {
            self.init(label, order, schedule, cancel, perform.isolation, Plain.source(perform))
        }

        init(
            _ label: String,
            _ order: Int,
            _ schedule: (@Sendable (HostRunLoop, Mode) -> Void)?,
            _ cancel: (@Sendable (HostRunLoop, Mode) -> Void)?,
            _ isolation: (any Actor)?,
            _ perform: @escaping @Sendable (Source) -> Void
        ) {
            self.order = order
            self.schedule = schedule
            self.cancel = cancel
            self.perform = perform
            super.init(label: label, isolation: isolation)
        }

        /// Performs it; called in a callout.
        func performNow() { perform(self) }

        /// Whether it was signalled and not performed since.
        package var isSignalled: Bool { signalNumber != 0 }

        /// Marks it to be performed in the next pass; does not wake the loop.
        ///
        /// Several signals before it is performed count as one. Signalling an invalid source has no effect.
        public func signal() {
            guard isValid else { return }
            let number = Self.lastSignal.wrappingAdd(1, ordering: .relaxed).newValue
            _ = firstSignal.compareExchange(expected: 0, desired: number, ordering: .acquiringAndReleasing)
            // Also done when another thread signalled it first: that thread may not have got this far or sent its wake-up yet.
            withItemLock {
                memberships.visitAll { membership in
                    membership.mode.with { $0.noteSignal(at: membership.slot) }
                    membership.loop.with { $0.noteForeignWork() }
                }
            }
        }

        override func end() {
            guard endLife() else { return }
            firstSignal.store(0, ordering: .releasing)
            removeFromAllLoops()
        }

        /// The number of the first signal that was not yet handled; 0 if there is none.
        var signalNumber: UInt64 { firstSignal.load(ordering: .acquiring) }

        /// Takes the signal; returns whether there was one and the source is valid.
        func takeSignal() -> Bool {
            guard firstSignal.exchange(0, ordering: .acquiringAndReleasing) != 0 else { return false }
            return isValid
        }

        // MARK: LoopItem

        override func join(_ loop: HostRunLoop, in mode: Mode) throws(RunLoopError) -> AddResult {
            let (result, entered) = try loop.insert(self, into: mode)
            for mode in entered {
                didEnter(mode, of: loop)
            }
            return result
        }

        override func part(from loop: HostRunLoop, in mode: Mode) { loop.takeOut(self, of: mode) }

        override func isMember(of loop: HostRunLoop, in mode: Mode) -> Bool { loop.holds(self, in: mode) }

        func enter(_ mode: LoopMode) throws(RunLoopError) -> Int {
            let slot = mode.insert(self)
            if isSignalled {
                mode.noteSignal(at: slot)
            }
            return slot
        }

        func leave(_ mode: LoopMode, slot: Int) {
            mode.removeSource(at: slot)
        }

        func didEnter(_ mode: LoopMode, of loop: HostRunLoop) {
            loop.callOut(to: schedule, of: self, in: mode)
        }

        func didLeave(_ mode: LoopMode, of loop: HostRunLoop) {
            loop.callOut(to: cancel, of: self, in: mode)
        }
    }
}
