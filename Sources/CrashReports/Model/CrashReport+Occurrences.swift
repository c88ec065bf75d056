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
    ///   - first: When the first of them happened; nil if later than what is counted already.
    ///   - last: When the last of them happened.
    public mutating func count(_ count: Int, first: Timestamp? = nil, last: Timestamp) {
        occurrences.count = occurrences.count.addingClamped(count)
        if let first { occurrences.first = min(occurrences.first, first) }
        occurrences.last = max(occurrences.last, last)
        fault.diagnosis = Diagnosis(of: self)
    }

    /// Counts a stall of the same cause in the report, which then tells of the longer of the two.
    ///
    /// - Parameter other: The report of the other one.
    public mutating func count(stallOf other: CrashReport) {
        guard var counted = stall, let added = other.stall else { return }
        let isLonger = added.length > counted.length
        counted.count(added)
        let (id, occurrences) = (self.id, self.occurrences)
        if isLonger { self = other }
        self.id = id
        self.occurrences = occurrences
        self.occurrences.count = occurrences.count.addingClamped(other.occurrences.count)
        self.occurrences.first = min(occurrences.first, other.occurrences.first)
        self.occurrences.last = max(occurrences.last, other.occurrences.last)
        stall = counted
        explain()
    }
}
