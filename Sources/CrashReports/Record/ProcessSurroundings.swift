/// What was around a process for all of its life, as far as it may be told.
public struct ProcessSurroundings: Sendable, Hashable {
    /// The variables of the environment that may be told.
    public var environment: [String: String] = [:]
    /// The container or the control group it ran in; nil when none is known.
    public var container: CrashReport.Context.Container?
    /// How texts of the process are redacted.
    public var redaction = TextRedaction()
    /// Whether the spool file has a place for the context of faults.
    public var hasContexts = false

    init(_ section: ContextSection?) {
        guard let section else { return }
        hasContexts = true
        environment = section.environment
        container = section.container
        redaction = section.redaction
    }
}
