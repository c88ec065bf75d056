/// How a process should start, by what became of those before it.
public enum StartStage: Sendable, Hashable {
    /// As ever.
    case normal
    /// Without the items that have these labels: they were quarantined, or faulted when the processes ended.
    case safeMode(without: Set<String>)
    /// Not at all: end with `CrashLoopPolicy.permanentFailureExitCode`.
    case giveUp
}

/// What was found out about the processes before a start.
public struct StartAssessment: Sendable, Hashable {
    /// How to start.
    public var stage: StartStage
    /// How many ends in a row came early: what `RestartBackOff` takes.
    public var earlyEnds: Int
}
