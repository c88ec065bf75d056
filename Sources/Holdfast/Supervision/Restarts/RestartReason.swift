/// Why a process was restarted in place.
public enum RestartReason: Sendable, Hashable {
    /// It was not: an outer supervisor or a user started it.
    case none
    /// A fault was not resumed.
    case fault
    /// A fault was resumed, and a restart at a quiet moment is what follows.
    case planned
    /// The program asked for it.
    case requested
}
