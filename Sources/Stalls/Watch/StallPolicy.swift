/// What a host does about stalls.
public struct StallPolicy: Sendable, Hashable {
    /// What holds for one item of a loop in place of the host's policy.
    public struct Item: Sendable, Hashable {
        /// How long its callout may take before it is a stall; what is shorter than the host's threshold has no effect.
        package var threshold: Duration
        /// Whether its stalls have reports.
        package var writesReports: Bool

        /// Makes a policy for an item.
        ///
        /// - Parameters:
        ///   - threshold: How long its callout may take before it is a stall.
        ///   - writesReports: Whether its stalls have reports.
        public init(threshold: Duration = .zero, writesReports: Bool = true) {
            self.threshold = threshold
            self.writesReports = writesReports
        }

        /// Its callout may take any time.
        public static let ignored = Item(threshold: .seconds(1_000_000_000), writesReports: false)
    }

    /// A stall is what takes a second, and has a report.
    public static let `default` = StallPolicy(rule: .once(after: .seconds(1)))

    /// When something is called stalled.
    package var rule: StallRule
    /// Whether a stall has a report in the store: from the moment it is found, brought up to date while it lasts.
    package var writesReports: Bool
    /// The time between two ticks of the main loop, whose lateness is measured then; nil for none.
    package var tick: Duration?

    /// Makes a policy.
    ///
    /// - Parameters:
    ///   - rule: When something is called stalled.
    ///   - writesReports: Whether a stall has a report.
    ///   - tick: The time between two ticks of the main loop; nil for none.
    public init(
        rule: StallRule = .once(),
        writesReports: Bool = true,
        tick: Duration? = nil
    ) {
        self.rule = rule
        self.writesReports = writesReports
        self.tick = tick
    }
}
