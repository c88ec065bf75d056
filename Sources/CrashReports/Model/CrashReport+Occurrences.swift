extension CrashReport {
    /// How often the same fault happened.
    public struct Occurrences: Codable, Sendable, Hashable {
        /// How often, this one included.
        public var count: Int
        /// When it happened first.
        public var first: Timestamp
        /// When it happened last.
        public var last: Timestamp

        /// Makes a count.
        ///
        /// - Parameters:
        ///   - count: How often, this one included.
        ///   - first: When it happened first.
        ///   - last: When it happened last.
        public init(count: Int, first: Timestamp, last: Timestamp) {
            self.count = count
            self.first = first
            self.last = last
        }
    }
}
