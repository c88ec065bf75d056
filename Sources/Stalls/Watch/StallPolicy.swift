/// What a host does about stalls.
public struct StallPolicy: Sendable, Hashable {
    /// The policy for one item of a loop, instead of the host's.
    public struct Item: Sendable, Hashable {
        /// How long its callout may take before it is a stall; a value below the host's threshold has no effect.
        package var threshold: Duration
        /// Whether its stalls get reports.
        package var writesReports: Bool

        /// Makes a policy for an item.
        ///
        /// - Parameters:
        ///   - threshold: How long its callout may take before it is a stall.
        ///   - writesReports: Whether its stalls get reports.
        public init(threshold: Duration = .zero, writesReports: Bool = true) {
            self.threshold = threshold
            self.writesReports = writesReports
        }

        /// The callout may take any amount of time.
        public static let ignored = Item(threshold: .seconds(1_000_000_000), writesReports: false)
    }

    /// A stall takes at least a second and gets a report.
    public static let `default` = StallPolicy(rule: .checks(4, every: .milliseconds(250)))

    /// When something counts as stalled.
    package var rule: StallRule
    /// Whether the store gets a report as soon as a stall is found, with updates while it lasts.
    package var writesReports: Bool
    /// The time between two ticks of the main loop, for measuring how late they come; nil for none.
    package var tick: Duration?

    /// Makes a policy.
    ///
    /// - Parameters:
    ///   - rule: When something counts as stalled.
    ///   - writesReports: Whether a stall gets a report.
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
