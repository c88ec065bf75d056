/// A histogram of durations, in steps of 1, 2 and 5.
package struct DurationHistogram: Sendable, Hashable {
    /// The inclusive upper bounds of the steps; one more step counts longer durations.
    package static let bounds: [Duration] = (-5...3).flatMap { power -> [Duration] in
        // From 10 us to 5,000 s.
        let unit = (0..<power + 5).reduce(Duration.microseconds(10)) { unit, _ in unit * 10 }
        return [unit, unit * 2, unit * 5]
    }

    /// The number of entries in each step; one more than there are bounds.
    package private(set) var counts = [Int](repeating: 0, count: bounds.count + 1)
    /// The sum of all durations.
    package private(set) var total = Duration.zero
    /// The longest duration.
    package private(set) var longest = Duration.zero

    /// Makes an empty histogram.
    package init() {}

    /// How many entries there are.
    package var count: Int { counts.reduce(0, +) }

    /// Adds an entry.
    ///
    /// - Parameter duration: The duration; a negative one counts as zero.
    package mutating func add(_ duration: Duration) {
        let duration = max(.zero, duration)
        counts[Self.bounds.firstIndex { duration <= $0 } ?? Self.bounds.count] += 1
        total += duration
        longest = max(longest, duration)
    }

    /// An upper bound for this fraction of the entries: `0.5` for the median.
    ///
    /// - Parameter part: From 0 to 1.
    /// - Returns: The bound of the step, or the longest duration if that is shorter; nil without entries.
    package func quantile(_ part: Double) -> Duration? {
        let wanted = (min(max(part, 0), 1) * Double(count)).rounded(.up)
        var seen = 0
        for (index, step) in counts.enumerated() {
            seen += step
            guard step > 0, Double(seen) >= wanted else { continue }
            return index < Self.bounds.count ? min(Self.bounds[index], longest) : longest
        }
        return nil
    }
}
