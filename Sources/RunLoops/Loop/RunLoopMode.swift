extension HostRunLoop {
    /// A set of sources, timers and observers that run together, known by its name.
    public struct Mode: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
        /// The name.
        public let rawValue: String

        /// Makes a mode from its name.
        ///
        /// - Parameter rawValue: The name.
        @inlinable
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// Makes a mode from its name.
        ///
        /// - Parameter value: The name.
        public init(stringLiteral value: String) {
            rawValue = value
        }

        /// The name.
        public var description: String { rawValue }

        /// The mode in which a loop usually runs; its name is `default`.
        @inlinable public static var `default`: Mode { Mode(rawValue: "default") }

        /// All modes that were declared common: a pseudo mode to add items to, in which no loop runs.
        ///
        /// Its name is `common`. Unlike `kCFRunLoopCommonModes` it never becomes a mode of its own.
        @inlinable public static var common: Mode { Mode(rawValue: "common") }
    }
}
