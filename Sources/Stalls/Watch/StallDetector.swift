/// Tells from looks at something whether it stalls.
///
/// A pure state machine: it knows no clock and no thread.
struct StallDetector {
    /// What a look saw.
    struct Sight: Equatable {
        /// Which busy period it is: another number is another one.
        var number: UInt64
        /// Whether it is busy at all.
        var isBusy: Bool
    }

    /// What a look found out.
    enum Finding: Equatable {
        /// The busy period has become a stall.
        case stalled
        /// The stall is over.
        case over
    }

    /// How many looks after the first have to find it, and how long it has to last by then, in nanoseconds.
    let count: Int
    let threshold: Int64
    /// The busy period that is watched.
    private(set) var number: UInt64?
    /// Since when it was seen, on the clock of the looks.
    private(set) var begin: Int64 = 0
    private(set) var isStalled = false
    private var looks = 0

    init(count: Int, threshold: Int64) {
        self.count = count
        self.threshold = threshold
    }

    /// Takes what a look saw.
    ///
    /// - Parameters:
    ///   - sight: What it saw.
    ///   - now: When, in nanoseconds on a clock that stands still while the process does.
    /// - Returns: What follows; a stall that is followed by another busy period is over first.
    mutating func look(_ sight: Sight, at now: Int64) -> Finding? {
        if sight.isBusy, number == sight.number {
            looks += 1
            // The time, too: in some of the looks the process may have stood still since the one before.
            guard !isStalled, looks >= count, now - begin >= threshold else { return nil }
            isStalled = true
            return .stalled
        }
        let wasStalled = isStalled
        isStalled = false
        number = sight.isBusy ? sight.number : nil
        begin = now
        looks = 0
        return wasStalled ? .over : nil
    }
}
