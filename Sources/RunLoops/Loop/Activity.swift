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
