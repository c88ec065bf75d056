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

    /// Its name in the environment: interpolation would reflect on it, which takes 0.2 ms of a start the first time.
    var word: String {
        switch self {
        case .none: "none"
        case .fault: "fault"
        case .planned: "planned"
        case .requested: "requested"
        }
    }
}
