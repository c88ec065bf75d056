extension HostRunLoop {
    /// What a loop was at one moment: plain values, which keep nothing alive.
    public struct Snapshot: Hashable, Sendable {
        /// The moment.
        public let date: Instant
        /// The address of the loop, which tells loops of a process apart.
        public let address: UInt
        /// Whether it is the main thread's loop.
        public let isMain: Bool
        /// The number of the eventfd that wakes it.
        public let wakeDescriptor: CInt
        /// Whether a wake-up was asked for and not served yet.
        public let isWakeUpPending: Bool
        /// Whether wake-ups are dropped now: the loop does not run, or is between its wake and the next pass.
        public let ignoresWakeUps: Bool
        /// Whether the thread sleeps.
        public let isWaiting: Bool
        /// Whether the innermost run was told to stop.
        public let isStopped: Bool
        /// The mode of the innermost run, or `nil` while the loop does not run.
        public let currentMode: Mode?
        /// How many runs are active, one inside the other.
        public let nesting: Int
        /// How many passes were begun in the life of the loop.
        public let passCount: UInt64
        /// The common modes, by name.
        public let commonModes: [Mode]
        /// What was added to the common modes, in the order in which the items were made.
        public let commonItems: [Item]
        /// The modes, by name.
        public let modes: [ModeState]
        /// The blocks that are queued, in their order.
        public let blocks: [BlockState]
        /// The items that were withdrawn or withheld and not put back, in the order in which they were made.
        public let withdrawn: [WithdrawnState]

        /// Which item it is.
        public struct Item: Hashable, Sendable {
            /// What kind of item it is.
            public let kind: CalloutKind
            /// Its identity, unique in the process.
            public let identifier: UInt64
            /// Its label.
            public let label: String
            /// Whether it was not invalidated.
            public let isValid: Bool
        }

        /// One mode.
        public struct ModeState: Hashable, Sendable {
            /// Its name.
            public let name: Mode
            /// The number of the epoll instance in which the loop sleeps in this mode.
            public let epollDescriptor: CInt
            /// Its sources, in the order in which they were made.
            public let sources: [SourceState]
            /// Its port sources, in the order in which they were made.
            public let ports: [PortState]
            /// Its observers, in the order in which they are called.
            public let observers: [ObserverState]
            /// Its timers, in the order in which they fire.
            public let timers: [TimerState]
        }

        /// A source in a mode.
        public struct SourceState: Hashable, Sendable {
            /// Which item it is.
            public let item: Item
            /// Whether it was signalled and not performed since.
            public let isSignalled: Bool
            /// Its place among sources that are signalled together.
            public let order: Int
        }

        /// A port source in a mode.
        public struct PortState: Hashable, Sendable {
            /// Which item it is.
            public let item: Item
            /// The descriptor.
            public let descriptor: CInt
            /// What it waits for.
            public let interest: PortSource.Interest
        }

        /// An observer in a mode.
        public struct ObserverState: Hashable, Sendable {
            /// Which item it is.
            public let item: Item
            /// The stages at which it is called.
            public let activities: Activity
            /// Whether it is called more than once.
            public let repeats: Bool
            /// Its place among observers of the same stage.
            public let order: Int
        }

        /// A timer in a mode.
        public struct TimerState: Hashable, Sendable {
            /// Which item it is.
            public let item: Item
            /// Whether its callout runs now.
            public let isFiring: Bool
            /// The time between two fires; zero for a timer that fires once.
            public let interval: Duration
            /// How late it may fire.
            public let tolerance: Duration
            /// When it fires next.
            public let nextFireDate: Instant
        }

        /// An item that is not served until it is put back.
        public struct WithdrawnState: Hashable, Sendable {
            /// Which item it is.
            public let item: Item
            /// The modes that it would be put back into, by name; `.common` if it was added to the common ones.
            public let modes: [Mode]
            /// Whether it was withheld because of its label when it was added.
            public let isWithheld: Bool
        }

        /// A block that is queued.
        public struct BlockState: Hashable, Sendable {
            /// Its identity, unique in the process.
            public let identifier: UInt64
            /// Its label.
            public let label: String
            /// In which modes it may run, by name.
            public let modes: [Mode]
        }
    }
}
