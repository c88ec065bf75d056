package import CrashReports
package import RunLoops

/// How a process should start, by what became of those before it.
package enum StartStage: Sendable, Hashable {
    /// As ever.
    case normal
    /// Without the items that have these labels: they were quarantined, or faulted when the processes ended.
    ///
    /// There may be none: not everything that faults is an item that can be told apart, and a port of a socket is never left out.
    case safeMode(without: Set<String>)
    /// Not at all: end with `CrashLoopPolicy.permanentFailureExitCode`.
    case giveUp

    /// Whether the process goes without something, so that what it serves says nothing of that.
    package var leavesSomethingOut: Bool {
        if case .safeMode(let labels) = self { !labels.isEmpty } else { false }
    }
}

/// What was found out about the processes before a start.
package struct StartAssessment: Sendable, Hashable {
    /// How to start.
    package var stage: StartStage
    /// How many processes in a row ended early: what `BackOff` takes.
    package var earlyEnds: Int
    /// How many of those a safe mode has answered that is over.
    package var answeredEnds: Int
    /// When the safe mode began that the process starts in; nil if it begins with this process, or there is none.
    package var safeModeBegan: HostRunLoop.Instant?
    /// How far the last of them had come; nil if there was none, or that is not known.
    package var lastPhase: ProcessPhase?
    /// When the last of them ended, if that is known.
    package var lastEnd: Timestamp?

    /// Makes an assessment.
    package init(
        stage: StartStage,
        earlyEnds: Int,
        answeredEnds: Int = 0,
        safeModeBegan: HostRunLoop.Instant? = nil,
        lastPhase: ProcessPhase? = nil,
        lastEnd: Timestamp? = nil
    ) {
        self.stage = stage
        self.earlyEnds = earlyEnds
        self.answeredEnds = answeredEnds
        self.safeModeBegan = safeModeBegan
        self.lastPhase = lastPhase
        self.lastEnd = lastEnd
    }

    /// How long to wait before the process serves.
    ///
    /// None after a process that served. What an outer supervisor waited already counts.
    ///
    /// - Parameters:
    ///   - backOff: How long to wait after how many ends.
    ///   - jitter: A number from 0 to 1, at random.
    ///   - now: The present.
    /// - Returns: The wait, zero for none.
    package func wait(_ backOff: BackOff, jitter: Double, now: Timestamp) -> Duration {
        guard earlyEnds > 0, lastPhase != .serving else { return .zero }
        let whole = backOff.delay(afterEarlyEnds: earlyEnds, jitter: jitter)
        // A clock that was set back in between makes it no longer.
        let passed = lastEnd.map { max(.zero, $0.time(to: now)) } ?? .zero
        return max(.zero, whole - passed)
    }
}
