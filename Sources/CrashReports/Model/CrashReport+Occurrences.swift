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

    /// Counts further faults in the report, whose diagnosis says how many there were.
    ///
    /// - Parameters:
    ///   - count: How many; a sum that is too large stays at the largest.
    ///   - last: When the last of them happened.
    public mutating func count(_ count: Int, last: Timestamp) {
        occurrences.count = occurrences.count.addingClamped(count)
        occurrences.last = max(occurrences.last, last)
        fault.diagnosis = Diagnosis(of: self)
    }
}
