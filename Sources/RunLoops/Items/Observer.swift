import Synchronization

extension HostRunLoop {
    /// Calls a closure when a run reaches certain stages.
    ///
    /// It may be in many modes of one loop. A mode with nothing but observers counts as empty. Callable from any thread.
    public final class Observer: Item, LoopItem, @unchecked Sendable {
        let perform: @Sendable (Observer, Activity) -> Void
        private let firing = Atomic<Bool>(false)

        static var belongsToOneLoop: Bool { true }
        static var keepsModeAlive: Bool { false }

        /// The stages at which it is called.
        package let activities: Activity
        /// Whether it is called more than once.
        package let repeats: Bool
        /// Its place among observers of the same stage; lower orders are called first.
        package let order: Int

        /// Makes an observer that is in no loop yet.
        ///
        /// - Parameters:
        ///   - label: The name that crash reports show for it.
        ///   - activities: The stages at which it is called.
        ///   - repeats: Whether it is called more than once; if not, it is invalidated after the first call.
        ///   - order: Its place among observers of the same stage; with equal orders the one added first is called first.
        ///   - perform: Called on the loop's thread, with the observer and the stage.
        public convenience init(
            label: String,
            activities: Activity,
            repeats: Bool = true,
            order: Int = 0,
            @_inheritActorContext perform: @escaping @Sendable @isolated(any) (Observer, Activity) -> Void
        ) {
            let plain = Plain.observer(perform)
            self.init(ItemIdentifier.next(), label, activities, repeats, order, perform.isolation, plain)
        }

        /// Makes an observer of the host's own, which is never withheld or withdrawn.
        package convenience init(
            ofHost label: String,
            activities: Activity,
            order: Int = 0,
            @_inheritActorContext perform: @escaping @Sendable @isolated(any) (Observer, Activity) -> Void
        ) {
            let isolation = perform.isolation
            self.init(
                ItemIdentifier.nextOfHost(),
                label,
                activities,
                true,
                order,
                isolation,
                Plain.observer(perform)
            )
        }

        /// Makes an observer with a given identifier.
        private init(
            _ identifier: UInt64,
            _ label: String,
            _ activities: Activity,
            _ repeats: Bool,
            _ order: Int,
            _ isolation: (any Actor)?,
            _ perform: @escaping @Sendable (Observer, Activity) -> Void
        ) {
            self.activities = activities
            self.repeats = repeats
            self.order = order
            self.perform = perform
            super.init(identifier, label: label, isolation: isolation)
        }

        override func end() {
            if endLife() { removeFromAllLoops() }
        }

        /// Marks it as being called; returns `false` if a call is already running further down the stack.
        func beginFiring() -> Bool { !firing.exchange(true, ordering: .relaxed) }

        /// Marks it as no longer being called.
        func endFiring() { firing.store(false, ordering: .relaxed) }

        // MARK: LoopItem

        override func join(_ loop: HostRunLoop, in mode: Mode) throws(RunLoopError) -> AddResult {
            try loop.insert(self, into: mode).result
        }

        override func part(from loop: HostRunLoop, in mode: Mode) { loop.takeOut(self, of: mode) }

        override func isMember(of loop: HostRunLoop, in mode: Mode) -> Bool { loop.holds(self, in: mode) }

        func enter(_ mode: LoopMode) throws(RunLoopError) -> Int {
            mode.insert(self)
            return 0
        }

        func leave(_ mode: LoopMode, slot: Int) {
            mode.remove(self)
        }
    }
}

extension HostRunLoop {
    /// The stages of a run at which observers are called, with the bits of `CFRunLoopActivity`.
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
        /// The loop is about to sleep.
        ///
        /// Skipped in a pass that only polls.
        public static let beforeWaiting = Activity(rawValue: 1 << 5)
        /// The loop woke.
        ///
        /// Skipped in a pass that only polls.
        public static let afterWaiting = Activity(rawValue: 1 << 6)
        /// The run ends.
        public static let exit = Activity(rawValue: 1 << 7)
        /// All stages: `kCFRunLoopAllActivities`.
        package static let all = Activity(rawValue: 0x0FFF_FFFF)
    }
}
