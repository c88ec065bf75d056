public import CrashReports

/// When starts are called a crash loop, and what then: safe mode, longer and longer waits, and giving up only where that is asked for.
///
/// An early end is that of a process that had served nothing: no callout of a port, a source, a timer or the main queue had
/// returned since `EventHost.run()` began, and it had not lived for `healthyAfter`. A process that served is replaced at once,
/// however often that happens. `assess` is a pure function of what the caller read. Of a restart in place the environment tells; an
/// outer supervisor, such as systemd, starts the process without it, and then the store does.
///
/// ```
///            `earlyEnds` within `window`             `givesUpAfter` more, if it is set
///   normal ─────────────────────────────► safe mode ──────────────────────────────────► give up
///      ▲                                      │                                            │
///      └── a process that served, in normal; one that lived for `probation`, in safe mode ─┘
/// ```
///
/// Each early end but the first makes the next process wait before it serves (`backOff`). It waits in `EventHost.run()`, where
/// the program has its sockets open and clients queue in their backlogs; after a process that did not come so far, in
/// `EventHost.init`. A host in safe mode plans no restart after a fault that was resumed. A process that gives up ends with
/// `permanentFailureExitCode`. In a unit: `Restart=on-failure` and `RestartPreventExitStatus=125` (systemd.service(5)).
public struct CrashLoopPolicy: Sendable, Hashable {
    /// Early ends within `window` that bring safe mode.
    public var earlyEnds: Int
    /// The window.
    public var window: Duration
    /// Further early ends in a row after which the next process gives up; nil, the default, for never.
    public var givesUpAfter: Int?
    /// How long a process must live before its end is no longer an early one, whatever it served.
    public var healthyAfter: Duration
    /// How long a process in safe mode must live before it is tried again what it left out.
    public var probation: Duration
    /// How long to wait after early ends.
    public var backOff: RestartBackOff

    /// The exit code of a process that gives up.
    ///
    /// 125 is what a finish script of s6 says so with: s6-supervise does not start the service again then
    /// (skarnet.org, s6-supervise).
    public static let permanentFailureExitCode: CInt = 125

    /// Makes a policy; counts below one count as one.
    public init(
        earlyEnds: Int = 5,
        window: Duration = .seconds(60),
        givesUpAfter: Int? = nil,
        healthyAfter: Duration = .seconds(10),
        probation: Duration = .seconds(60),
        backOff: RestartBackOff = .default
    ) {
        self.earlyEnds = earlyEnds
        self.window = window
        self.givesUpAfter = givesUpAfter
        self.healthyAfter = healthyAfter
        self.probation = probation
        self.backOff = backOff
    }

    /// Safe mode after 5 early ends within a minute, waits of up to 15 seconds, and no end.
    public static let `default` = CrashLoopPolicy()

    /// Says how to start.
    ///
    /// - Parameters:
    ///   - history: What the environment says. What the spool says of the last fault is added to it beforehand.
    ///   - faults: What the store says of the faults of this instance's earlier processes, in any order; a minute or two of them
    ///     are enough.
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

        // The faults of the loop that the environment counts are those that it carries.
        let culprits = run.culprits.union(Self.culprits(of: history.faults))
        let phase = history.restarts > 0 ? phase(afterEarlyEnds: history.earlyRestarts) : run.phase
        let stage: StartStage =
            switch phase {
            case .normal: .normal
            case .safe: .safeMode(without: culprits)
            case .gaveUp: .giveUp
            }
        return StartAssessment(
            stage: stage,
            earlyEnds: history.restarts > 0 ? history.earlyRestarts : run.count,
            lastPhase: history.restarts > 0 ? history.lastPhase : run.lastEnd?.phase,
            // A restart in place was a moment ago, and the fault perhaps long before: the thread that faulted may have had to wait.
            lastEnd: history.restarts > 0 ? nil : run.lastEnd?.time
        )
    }

    /// What the environment's count says.
    private func phase(afterEarlyEnds counted: Int) -> EarlyEnds.Phase {
        let first = max(1, earlyEnds)
        guard counted >= first else { return .normal }
        guard let givesUpAfter else { return .safe }
        return counted - first >= max(1, givesUpAfter) ? .gaveUp : .safe
    }

    /// The labels of the items that were quarantined or ended a process, and of the last fault of all.
    ///
    /// Only of processes that had served nothing, and of items that can be told apart: a label that several share says nothing of
    /// the others, nor does one of an item that was made while the process served, and ports of sockets are never left out.
    static func culprits(of faults: [PastFault]) -> Set<String> {
        let faults = faults.filter { $0.phase != .serving }
        var culprits = faults.filter { $0.outcome != .resumed }
        if let last = faults.last { culprits.append(last) }
        return Set(culprits.filter(\.isOfStartItem).map(\.label)).subtracting([""])
    }
}
