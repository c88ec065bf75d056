import TestSupport

/// What became of a process in which a fault was committed.
enum Outcome: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The callout was abandoned, all of the repertoire works, and a second fault of the kind went the same way.
    case resume
    /// A fresh process took over at once.
    case restart
    /// The host handed over, and then a fresh process took over.
    case drainAndRestart
    /// The callout was abandoned, and a fresh process took over when the host was quiet.
    case resumeAndRestart
    /// The process ended by a signal.
    case ends(CInt)
    /// The process went on, but not everything works any more.
    case broken
    /// The process did not end in time.
    case hang
    /// None of these.
    case unclassified

    var description: String {
        switch self {
        case .resume: "resume"
        case .restart: "restart"
        case .drainAndRestart: "drain, restart"
        case .resumeAndRestart: "resume, then restart"
        case .ends(let signal): "ends by \(SignalText.name(signal))"
        case .broken: "broken"
        case .hang: "HANG"
        case .unclassified: "unclassified"
        }
    }

    static func < (left: Outcome, right: Outcome) -> Bool { left.description < right.description }
}
