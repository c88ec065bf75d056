import CRecoveryPoint
import Synchronization

extension HostRunLoop {
    /// An event source that is signalled by hand: CFRunLoop's version 0.
    ///
    /// It may be in many modes of many loops. Life cycle: new -> added (`schedule` was called once per mode) -> removed
    /// (`cancel` was called) or invalidated, which is for ever. Callable from any thread.
    public final class Source: LoopItem, @unchecked Sendable {
        /// The identity of the item, unique in the process: what `AbandonedCallout.item` names.
        public let identifier = ItemIdentifier.next()
        let name: ItemName
        let perform: @Sendable () -> Void
        let schedule: (@Sendable (HostRunLoop, Mode) -> Void)?
        let cancel: (@Sendable (HostRunLoop, Mode) -> Void)?
        private let lock = CriticalLock()
        private let valid = Atomic<Bool>(true)
        /// The number of the first signal that was not handled yet; 0 for none.
        private let firstSignal = Atomic<UInt64>(0)
        // Protected by `lock`.
        @safe @exclusivity(unchecked) var memberships = Memberships()

        private static let lastSignal = Atomic<UInt64>(0)

        static var belongsToOneLoop: Bool { false }
        static var keepsModeAlive: Bool { true }
        static var isToldOfMoving: Bool { true }

        /// Among sources that are signalled together, those of a lower order are performed first.
        public let order: Int

        /// Makes a source that is in no loop yet.
        ///
        /// - Parameters:
        ///   - label: What a crash report calls it.
        ///   - order: Its place among sources that are signalled together; equal orders go by the time of the signal.
        ///   - schedule: Called once for every mode that it is added to, on the thread that adds it.
        ///   - cancel: Called once for every mode that it leaves, on the thread that removes it.
        ///   - perform: Called on the loop's thread when it was signalled.
        public init(
            label: String,
            order: Int = 0,
            schedule: (@Sendable (HostRunLoop, Mode) -> Void)? = nil,
            cancel: (@Sendable (HostRunLoop, Mode) -> Void)? = nil,
            perform: @escaping @Sendable () -> Void
        ) {
            name = ItemName(label)
            self.order = order
            self.schedule = schedule
            self.cancel = cancel
            self.perform = perform
        }

        /// What a crash report calls it.
        public var label: String { name.text }

        /// Whether it was not invalidated.
        public var isValid: Bool { valid.load(ordering: .acquiring) }

        /// Whether it was signalled and not performed since.
        public var isSignalled: Bool { signalNumber != 0 }

        /// Marks it for being performed in the next pass; does not wake the loop.
        ///
        /// Signals that come before it is performed are one. Nothing happens if it is invalid.
        public func signal() {
            guard isValid else { return }
            let number = Self.lastSignal.wrappingAdd(1, ordering: .relaxed).newValue
            _ = firstSignal.compareExchange(expected: 0, desired: number, ordering: .acquiringAndReleasing)
            // Also when somebody else signalled it: they may not have got here, and their wake-up may not be sent yet.
            lock.withLock {
                memberships.visitAll { membership in
                    membership.mode.noteSignal()
                    membership.loop.noteForeignWork()
                }
            }
        }

        /// Ends its life: it leaves every mode of every loop and is never performed again.
        public func invalidate() {
            guard valid.exchange(false, ordering: .acquiringAndReleasing) else { return }
            firstSignal.store(0, ordering: .releasing)
            removeFromAllLoops()
        }

        /// The number of the first signal that was not handled yet; 0 for none.
        var signalNumber: UInt64 { firstSignal.load(ordering: .acquiring) }

        /// Takes the signal, and says whether there was one and the source is valid.
        func takeSignal() -> Bool {
            guard firstSignal.exchange(0, ordering: .acquiringAndReleasing) != 0 else { return false }
            return isValid
        }

        // MARK: LoopItem

        @inline(__always) func lockItem() { lock.lock() }

        @inline(__always) func unlockItem() { lock.unlock() }

        func enter(_ mode: LoopMode) throws(RunLoopError) -> Int {
            if isSignalled {
                mode.noteSignal()
            }
            return mode.insert(self)
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

    /// Adds a source to a mode; its `schedule` closure runs once for every mode that it is new in.
    ///
    /// Callable from any thread; does not wake the loop.
    ///
    /// - Parameters:
    ///   - source: The source; nothing happens if it is invalid or in the mode already.
    ///   - mode: The mode, which is made if it is new, or `.common`.
    /// - Returns: Whether it was added, or why not.
    @discardableResult
    public func add(_ source: Source, to mode: Mode = .default) -> AddResult {
        let (result, entered) = addUnrefused(source, to: mode)
        for mode in entered {
            source.didEnter(mode, of: self)
        }
        return result
    }

    /// Removes a source from a mode; its `cancel` closure runs once for every mode that it leaves.
    ///
    /// Callable from any thread.
    ///
    /// - Parameters:
    ///   - source: The source.
    ///   - mode: The mode, or `.common` for all common modes if it was added to those.
    public func remove(_ source: Source, from mode: Mode = .default) {
        takeOut(source, of: mode)
    }

    /// Says whether a source is in a mode.
    ///
    /// - Parameters:
    ///   - source: The source.
    ///   - mode: The mode, or `.common` to ask whether it was added to the common modes.
    /// - Returns: Whether it is there.
    public func contains(_ source: Source, in mode: Mode = .default) -> Bool {
        holds(source, in: mode)
    }
}
