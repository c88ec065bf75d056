internal import RunLoops

/// Tells when a stall counts by the policies of the items whose callouts it is made of.
///
/// A busy period may have several callouts, one after the other: the time that one may take is its own. A pure state machine;
/// nanoseconds on a clock that stands still while the process does.
struct StallPatience {
    /// The callout that is under way, and since when.
    private var callout: (number: UInt64?, begin: Int64)

    /// Begins with the busy period.
    init(begin: Int64) { callout = (nil, begin) }

    /// Takes a look.
    ///
    /// - Parameters:
    ///   - number: The number of the callout.
    ///   - policy: That of its item, if it has one.
    ///   - now: When.
    /// - Returns: For how long it may go on; nil if it is a stall.
    mutating func left(_ number: UInt64, _ policy: StallPolicy.Item?, at now: Int64) -> Int64? {
        if callout.number != number {
            // Of the first one it is not known that another was before it.
            callout = (number, callout.number == nil ? callout.begin : now)
        }
        guard let policy else { return nil }
        let left = policy.threshold.saturatingNanoseconds - (now - callout.begin)
        return left > 0 ? left : nil
    }
}
