internal import RunLoops

/// Decides when a stall counts, by the policies of the items whose callouts it consists of.
///
/// A busy period may contain several callouts in a row, and each has its own allowance. A pure state machine, in nanoseconds on a clock
/// that pauses while the process is stopped.
struct StallPatience {
    /// The current callout and when it began.
    private var callout: (number: UInt64?, begin: Int64)

    /// Begins with the busy period.
    init(begin: Int64) { callout = (nil, begin) }

    /// Takes a look.
    ///
    /// - Parameters:
    ///   - number: The number of the callout.
    ///   - policy: The policy of its item, if any.
    ///   - now: The time of the look.
    /// - Returns: How long the callout may still run; nil if it is a stall.
    mutating func left(_ number: UInt64, _ policy: StallPolicy.Item?, at now: Int64) -> Int64? {
        if callout.number != number {
            // No earlier callout is known before the first one seen, so that one keeps the beginning of the busy period.
            callout = (number, callout.number == nil ? callout.begin : now)
        }
        guard let policy else { return nil }
        let left = policy.threshold.saturatingNanoseconds - (now - callout.begin)
        return left > 0 ? left : nil
    }
}
