package import CrashReports
package import RunLoops

/// When starts are called a crash loop, and what then: safe mode, longer and longer waits, and giving up only where that is asked for.
///
/// An early end is that of a process that had served nothing: no callout of a port, a source or a timer had returned since
/// `EventHost.run()` began, none of the main queue after a second of that, and it had not lived for `healthyAfter`. A process that served is replaced at once,
/// however often that happens. `assess` is a pure function of what the caller read. Of a restart in place the environment tells; an
/// outer supervisor, such as systemd, starts the process without it, and then the store does.
///
/// ```
///            `earlyEnds` within `window`             `givesUpAfter` more, if it is set
///   normal ─────────────────────────────► safe mode ──────────────────────────────────► give up
///      ▲                                      │                                            │
///      └── a process that served, in normal; `healthyAfter` is over, in safe mode ──────────┘
/// ```
///
/// Only ends that follow one another are a row: a process that began before the last of them came is one of several side by side.
/// Safe mode lasts for `healthyAfter` as a whole, over all restarts in it: no fault prolongs it. Only `earlyEnds` further early ends begin
/// another.
///
/// Each early end but the first makes the next process wait before it serves (`backOff`). It waits in `EventHost.run()`, where
/// the program has its sockets open and clients queue in their backlogs; after a process that did not come so far, in
/// `EventHost.init`. A host in safe mode plans no restart after a fault that was resumed. A process that gives up ends with
/// `permanentFailureExitCode`. In a unit: `Restart=on-failure` and `RestartPreventExitStatus=125` (systemd.service(5)).
package struct CrashLoopPolicy: Sendable, Hashable {
    /// Early ends within `window` that bring safe mode.
    package var earlyEnds: Int
    /// The window.
    package var window: Duration
    /// Further early ends in a row after which the next process gives up; nil, the default, for never.
    package var givesUpAfter: Int?
    /// How long a process must live before its end is no longer an early one, whatever it served; and how long safe mode lasts, over all
    /// restarts in it, before what it left out is tried again.
    package var healthyAfter: Duration
    /// How long to wait after early ends.
    package var backOff: BackOff

    /// The exit code of a process that gives up.
    ///
    /// 125 is what a finish script of s6 says so with: s6-supervise does not start the service again then
    /// (skarnet.org, s6-supervise).
    package static let permanentFailureExitCode: CInt = 125

    /// Makes a policy; counts below one count as one.
    package init(
        earlyEnds: Int = 5,
        window: Duration = .seconds(60),
        givesUpAfter: Int? = nil,
        healthyAfter: Duration = .seconds(60),
        backOff: BackOff = .restarts
    ) {
        self.earlyEnds = earlyEnds
        self.window = window
        self.givesUpAfter = givesUpAfter
        self.healthyAfter = healthyAfter
        self.backOff = backOff
    }

    /// Safe mode after 5 early ends within a minute, waits of up to 15 seconds, and no end.
    package static let `default` = CrashLoopPolicy()

    /// Says how to start.
    ///
    /// - Parameters:
    ///   - history: What the environment says. What the spool says of the last fault is added to it beforehand.
    ///   - faults: What the store says of the faults of this instance's earlier processes, in any order; a minute or two of them
    ///     are enough.
    ///   - now: The present. What is said to have happened later is not believed.
    ///   - instant: The present on the clock by which safe mode lasts over restarts in place.
    /// - Returns: The stage, and how many ends came early.
    package func assess(
        _ history: RestartHistory,
        faults: [PastFault] = [],
        now: Timestamp,
        at instant: HostRunLoop.Instant
    ) -> StartAssessment {
        // The faults of the loop that the environment counts are those that it carries.
        let carried = Self.culprits(of: history.faults)
        if history.restarts > 0 { return assess(history, culprits: carried, at: instant) }

        var all = history.faults
        for fault in faults where !history.faults.contains(where: { $0.isSame(as: fault) }) { all.append(fault) }
        all = all.filter { $0.time <= now }.sorted { ($0.time, $0.number) < ($1.time, $1.number) }
        var run = EarlyEnds(self)
        for fault in all { run.add(fault) }
        run.begin(at: now)
        var assessment = StartAssessment(
            stage: .normal,
            earlyEnds: run.count,
            answeredEnds: run.answered,
            lastPhase: run.lastEnd?.phase,
            lastEnd: run.lastEnd?.time
        )
        switch run.phase {
        case .normal: break
        case .safe:
            assessment.stage = .safeMode(without: run.culprits.union(carried))
            assessment.safeModeBegan = run.safeModeBegan.map { began in
                let passed = max(.zero, began.time(to: now))
                return max(HostRunLoop.Instant(nanoseconds: 0), instant.advanced(by: .zero - passed))
            }
        case .gaveUp: assessment.stage = .giveUp
        }
        return assessment
    }

    /// Says how to start after a restart in place, by what the environment counts.
    ///
    /// That was a moment ago, and the fault perhaps long before: the thread that faulted may have had to wait. So the assessment
    /// says nothing of the last end.
    private func assess(
        _ history: RestartHistory,
        culprits: Set<String>,
        at instant: HostRunLoop.Instant
    ) -> StartAssessment {
        let first = max(1, earlyEnds)
        var assessment = StartAssessment(
            stage: .normal,
            earlyEnds: history.earlyRestarts,
            answeredEnds: min(history.answeredRestarts, history.earlyRestarts),
            lastPhase: history.lastPhase
        )
        if assessment.earlyEnds - assessment.answeredEnds >= first {
            // A time in the future cannot be from one of our processes: then safe mode begins now.
            let began = history.safeModeBegan.flatMap { $0 <= instant ? $0 : nil }
            if let began, began.advanced(by: healthyAfter) <= instant {
                // The row goes on, unless something was served; what was left out is tried again in any case.
                if history.lastPhase == .serving { assessment.earlyEnds = 0 }
                assessment.answeredEnds = assessment.earlyEnds
            } else {
                assessment.stage = .safeMode(without: culprits)
                assessment.safeModeBegan = began
            }
        }
        if let givesUpAfter, assessment.earlyEnds >= first, assessment.earlyEnds - first >= max(1, givesUpAfter) {
            assessment.stage = .giveUp
        }
        return assessment
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
