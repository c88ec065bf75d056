public import CrashReports

/// When starts are called a crash loop, and what then: safe mode first, then giving up.
///
/// A pure function of what the caller read. The environment tells of restarts in place alone; an outer supervisor, such as
/// systemd, starts the process without it, and then the store tells. The worse of the two holds.
///
/// ```
///            `earlyEnds` within `window`             `earlyEndsInSafeMode` more
///   normal ─────────────────────────────► safe mode ────────────────────────────► give up
///      ▲                                      │                                       │
///      └───────────── a healthy stretch ──────┴───────────────────────────────────────┘
/// ```
///
/// A healthy stretch begins the count again; systemd's RestartSteps= lacks that (systemd issue 43813). A host in safe mode
/// plans no restart after a fault that was resumed, so only what cannot be resumed leads to giving up. A process that gives
/// up ends with `permanentFailureExitCode`. In a unit: `Restart=on-failure` and `RestartPreventExitStatus=125`
/// (systemd.service(5)).
public struct CrashLoopPolicy: Sendable, Hashable {
    /// Ends within `window` that bring safe mode.
    public var earlyEnds: Int
    /// The window.
    public var window: Duration
    /// Further ends without a healthy stretch that make it give up.
    public var earlyEndsInSafeMode: Int
    /// How long a process must live before its end is no longer an early one.
    ///
    /// Of the processes in the store. Restarts in place count theirs by `RestartHistory.healthyAfter`.
    public var healthyAfter: Duration

    /// The exit code of a process that gives up.
    ///
    /// 125 is what a finish script of s6 says so with: s6-supervise does not start the service again then
    /// (skarnet.org, s6-supervise).
    public static let permanentFailureExitCode: CInt = 125

    /// Makes a policy; counts below one count as one.
    public init(
        earlyEnds: Int = 5,
        window: Duration = .seconds(60),
        earlyEndsInSafeMode: Int = 3,
        healthyAfter: Duration = .seconds(60)
    ) {
        self.earlyEnds = earlyEnds
        self.window = window
        self.earlyEndsInSafeMode = earlyEndsInSafeMode
        self.healthyAfter = healthyAfter
    }

    /// Safe mode after 5 early ends within a minute, the end after 3 more.
    public static let `default` = CrashLoopPolicy()

    /// Says how to start.
    ///
    /// - Parameters:
    ///   - history: What the environment says. What the spool says of the last fault is added to it beforehand.
    ///   - faults: What the store says of this executable's faults, in any order; a minute or two of them are enough.
    ///   - now: The present. What is said to have happened later is not believed.
    /// - Returns: The stage, and how many ends came early.
    public func assess(
        _ history: RestartHistory,
        faults: [PastFault] = [],
        now: Timestamp
    ) -> StartAssessment {
        var all = history.faults
        for fault in faults where !history.faults.contains(where: { $0.isSame(as: fault) }) { all.append(fault) }
        all = all.filter { $0.time <= now }.sorted { ($0.time, $0.number) < ($1.time, $1.number) }

        var run = EarlyEnds(self)
        for fault in all { run.add(fault) }
        run.begin(at: now)

        let first = max(1, earlyEnds)
        let limit = first.addingReportingOverflow(max(1, earlyEndsInSafeMode))
        let counted = history.earlyRestarts
        let hasGivenUp = run.phase == .gaveUp || counted >= (limit.overflow ? .max : limit.partialValue)
        let early = max(run.count, counted)
        if hasGivenUp { return StartAssessment(stage: .giveUp, earlyEnds: early) }
        guard run.phase == .safe || counted >= first else { return StartAssessment(stage: .normal, earlyEnds: early) }
        // The faults of the loop that the environment counted are those that it carries.
        let culprits = run.culprits.union(counted >= first ? Self.culprits(of: history.faults) : [])
        return StartAssessment(stage: .safeMode(without: culprits), earlyEnds: early)
    }

    /// The labels of what was quarantined or ended a process, and of the last fault of all.
    static func culprits(of faults: [PastFault]) -> Set<String> {
        var labels = Set(faults.filter { $0.outcome != .resumed }.map(\.label))
        if let last = faults.last { labels.insert(last.label) }
        return labels.subtracting([""])
    }
}
