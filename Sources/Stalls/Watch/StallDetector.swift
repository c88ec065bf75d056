/// Detects a stall from repeated looks at something.
///
/// A pure state machine: it knows no clock and no thread.
struct StallDetector {
    /// What a look saw.
    struct Sight: Equatable {
        /// The number of the busy period; each one has its own.
        var number: UInt64
        /// Whether the subject is busy.
        var isBusy: Bool
    }

    /// What a look found out.
    enum Finding: Equatable {
        /// The busy period has become a stall.
        case stalled
        /// The stall is over.
        case over
    }

    /// How many looks after the first one must find the same busy period, and how long it must have lasted by then, in nanoseconds.
    let count: Int
    let threshold: Int64
    /// The busy period that is watched.
    private(set) var number: UInt64?
    /// When the busy period was first seen, on the clock of the looks.
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
    ///   - sight: What the look saw.
    ///   - now: The time of the look, in nanoseconds on a clock that pauses while the process is stopped.
    /// - Returns: What follows; if another busy period begins, the previous stall is over first.
    mutating func look(_ sight: Sight, at now: Int64) -> Finding? {
        if sight.isBusy, number == sight.number {
            looks += 1
            // The time must have passed as well: the process may have been stopped between some of the looks.
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
