import Synchronization

extension HostRunLoop {
    /// Is told when a run reaches certain stages.
    ///
    /// It may be in many modes of one loop. Observers do not keep a mode from being empty. Callable from any thread.
    public final class Observer: LoopItem, @unchecked Sendable {
        /// The identity of the item, unique in the process: what `AbandonedCallout.item` names.
        public let identifier: UInt64
        let name: ItemName
        let perform: @Sendable (Observer, Activity) -> Void
        private let lock = CriticalLock()
        private let valid = Atomic<Bool>(true)
        private let firing = Atomic<Bool>(false)
        // Protected by `lock`.
        @safe @exclusivity(unchecked) var memberships = Memberships()

        static var belongsToOneLoop: Bool { true }
        static var keepsModeAlive: Bool { false }

        /// The stages at which it is called.
        public let activities: Activity
        /// Whether it is called more than once.
        public let repeats: Bool
        /// At the same stage, observers of a lower order are called first.
        public let order: Int

        /// Makes an observer that is in no loop yet.
        ///
        /// - Parameters:
        ///   - label: What a crash report calls it.
        ///   - activities: The stages at which it is called.
        ///   - repeats: Whether it is called more than once; if not, it is invalidated after the first call.
        ///   - order: Its place among observers of the same stage; equal orders go by the time of adding.
        ///   - perform: Called on the loop's thread, with the observer and the stage.
        public convenience init(
            label: String,
            activities: Activity,
            repeats: Bool = true,
            order: Int = 0,
            perform: @escaping @Sendable (Observer, Activity) -> Void
        ) {
            self.init(ItemIdentifier.next(), label, activities, repeats, order, perform)
        }

        /// Makes one of the host's own, which is never withheld or withdrawn.
        package convenience init(
            ofHost label: String,
            activities: Activity,
            order: Int = 0,
            perform: @escaping @Sendable (Observer, Activity) -> Void
        ) {
            self.init(ItemIdentifier.nextOfHost(), label, activities, true, order, perform)
        }

        /// Makes one with an identity.
        private init(
            _ identifier: UInt64,
            _ label: String,
            _ activities: Activity,
            _ repeats: Bool,
            _ order: Int,
            _ perform: @escaping @Sendable (Observer, Activity) -> Void
        ) {
            self.identifier = identifier
            name = ItemName(label)
            self.activities = activities
            self.repeats = repeats
            self.order = order
            self.perform = perform
        }

        /// What a crash report calls it.
        public var label: String { name.text }

        /// Whether it was not invalidated.
        public var isValid: Bool { valid.load(ordering: .acquiring) }

        /// Ends its life: it leaves every mode and is never called again.
        public func invalidate() {
            guard valid.exchange(false, ordering: .acquiringAndReleasing) else { return }
            removeFromAllLoops()
        }

        /// Marks it as being called; `false` if it is already, further down on the stack.
        func beginFiring() -> Bool { !firing.exchange(true, ordering: .relaxed) }

        /// Marks it as not being called any more.
        func endFiring() { firing.store(false, ordering: .relaxed) }

        // MARK: LoopItem

        @inline(__always) func lockItem() { lock.lock() }

        @inline(__always) func unlockItem() { lock.unlock() }

        func enter(_ mode: LoopMode) throws(RunLoopError) -> Int {
            mode.insert(self)
            return 0
        }

        func leave(_ mode: LoopMode, slot: Int) {
            mode.remove(self)
        }
    }

    /// Adds an observer to a mode.
    ///
    /// Callable from any thread; does not wake the loop.
    ///
    /// - Parameters:
    ///   - observer: The observer; nothing happens if it is invalid, in the mode already or in another loop.
    ///   - mode: The mode, which is made if it is new, or `.common`.
    /// - Returns: Whether it was added, or why not.
    @discardableResult
    public func add(_ observer: Observer, to mode: Mode = .default) -> AddResult {
        addUnrefused(observer, to: mode).result
    }

    /// Removes an observer from a mode; it stays valid and can be added again.
    ///
    /// Callable from any thread.
    ///
    /// - Parameters:
    ///   - observer: The observer.
    ///   - mode: The mode, or `.common` for all common modes if it was added to those.
    public func remove(_ observer: Observer, from mode: Mode = .default) {
        takeOut(observer, of: mode)
    }

    /// Says whether an observer is in a mode.
    ///
    /// - Parameters:
    ///   - observer: The observer.
    ///   - mode: The mode, or `.common` to ask whether it was added to the common modes.
    /// - Returns: Whether it is there.
    public func contains(_ observer: Observer, in mode: Mode = .default) -> Bool {
        holds(observer, in: mode)
    }
}

extension HostRunLoop {
    /// The stages of a run at which observers are called, with CFRunLoop's bits.
    public struct Activity: OptionSet, Sendable, Hashable {
        /// The bits of `CFRunLoopActivity`.
        public let rawValue: UInt32

        /// Makes a set of stages from the bits of `CFRunLoopActivity`.
        ///
        /// - Parameter rawValue: The bits.
        public init(rawValue: UInt32) {
            self.rawValue = rawValue
        }

        /// The run begins.
        public static let entry = Activity(rawValue: 1 << 0)
        /// A pass begins.
        public static let beforeTimers = Activity(rawValue: 1 << 1)
        /// Blocks and signalled sources are about to be handled.
        public static let beforeSources = Activity(rawValue: 1 << 2)
        /// The loop is about to sleep; left out in a pass that only polls.
        public static let beforeWaiting = Activity(rawValue: 1 << 5)
        /// The loop woke; left out in a pass that only polls.
        public static let afterWaiting = Activity(rawValue: 1 << 6)
        /// The run ends.
        public static let exit = Activity(rawValue: 1 << 7)
        /// All stages: `kCFRunLoopAllActivities`.
        public static let all = Activity(rawValue: 0x0FFF_FFFF)
    }
}
