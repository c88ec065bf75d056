import LinuxSystem

extension HostRunLoop.PortSource {
    /// What a port source waits for.
    public struct Interest: OptionSet, Sendable, Hashable {
        /// The bits.
        public let rawValue: UInt32

        /// Makes a set from its bits.
        ///
        /// - Parameter rawValue: The bits.
        public init(rawValue: UInt32) {
            self.rawValue = rawValue
        }

        /// Data to read, a connection to accept, or end of file.
        public static let readable = Interest(rawValue: 1 << 0)
        /// Room to write.
        public static let writable = Interest(rawValue: 1 << 1)
        /// Urgent data, or what the kind of file calls exceptional.
        public static let priority = Interest(rawValue: 1 << 2)

        var events: Epoll.Events {
            var events: Epoll.Events = []
            if contains(.readable) { events.formUnion([.readable, .peerClosed]) }
            if contains(.writable) { events.insert(.writable) }
            if contains(.priority) { events.insert(.priority) }
            return events
        }
    }

    /// What a descriptor is ready for.
    public struct Readiness: OptionSet, Sendable, Hashable {
        /// The bits.
        public let rawValue: UInt32

        /// Makes a set from its bits.
        ///
        /// - Parameter rawValue: The bits.
        public init(rawValue: UInt32) {
            self.rawValue = rawValue
        }

        /// Data to read, a connection to accept, or end of file.
        public static let readable = Readiness(rawValue: 1 << 0)
        /// Room to write.
        public static let writable = Readiness(rawValue: 1 << 1)
        /// Urgent data, or what the kind of file calls exceptional.
        public static let priority = Readiness(rawValue: 1 << 2)
        /// The peer will send no more.
        public static let peerClosed = Readiness(rawValue: 1 << 3)
        /// The other end is gone; reported whatever the interest is.
        public static let hangUp = Readiness(rawValue: 1 << 4)
        /// The descriptor is in error; reported whatever the interest is.
        public static let error = Readiness(rawValue: 1 << 5)

        /// What of epoll's report the present interest lets through.
        init(_ events: Epoll.Events, interest: Interest) {
            var readiness: Readiness = []
            let wanted = events.intersection(interest.events.union(interest.isEmpty ? [] : [.hangUp, .error]))
            if wanted.contains(.readable) { readiness.insert(.readable) }
            if wanted.contains(.writable) { readiness.insert(.writable) }
            if wanted.contains(.priority) { readiness.insert(.priority) }
            if wanted.contains(.peerClosed) { readiness.insert(.peerClosed) }
            if wanted.contains(.hangUp) { readiness.insert(.hangUp) }
            if wanted.contains(.error) { readiness.insert(.error) }
            self = readiness
        }
    }
}
