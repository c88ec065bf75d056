import RunLoops

/// One thing that can be seen of a loop.
enum TraceEntry: Hashable, Sendable {
    /// A callout: which item, at which stage if it is an observer, the current mode, and how many runs are active.
    case called(String, HostRunLoop.Activity?, in: ScenarioMode?, depth: Int)
    case scheduled(String, in: ScenarioMode)
    case cancelled(String, in: ScenarioMode)
    /// A run ended, and what the current mode is after it.
    case ended(HostRunLoop.RunResult, in: ScenarioMode?)
    /// Which modes exist, and which of them are empty.
    case modes(Set<ScenarioMode>, empty: Set<ScenarioMode>)
    /// What an item looks like from outside.
    case item(String, isValid: Bool, isSignalled: Bool, modes: Set<ScenarioMode>)
    /// When the first timer of a mode fires.
    case nextTimer(ScenarioMode, NextTimer)
    /// From here on the loops differ for a known reason.
    case cut(KnownDivergence)
}

/// When the first timer of a mode fires, without the digits that no two loops share.
enum NextTimer: Hashable, Sendable {
    case none
    case soon
    case far
}

extension TraceEntry: CustomStringConvertible {
    var description: String {
        switch self {
        case .called(let name, let activity, let mode, let depth):
            "\(name)\(activity.map { " \($0.swiftSource)" } ?? "") in \(mode.map { "\($0)" } ?? "no mode"), depth \(depth)"
        case .scheduled(let name, let mode): "\(name) scheduled in \(mode)"
        case .cancelled(let name, let mode): "\(name) cancelled in \(mode)"
        case .ended(let result, let mode): "\(result), back in \(mode.map { "\($0)" } ?? "no mode")"
        case .modes(let modes, let empty): "modes \(Self.list(modes)), empty \(Self.list(empty))"
        case .item(let name, let isValid, let isSignalled, let modes):
            "\(name) \(isValid ? "valid" : "invalid")\(isSignalled ? " signalled" : "") in \(Self.list(modes))"
        case .nextTimer(let mode, let next): "next timer of \(mode): \(next)"
        case .cut(let divergence): "known divergence: \(divergence)"
        }
    }

    private static func list(_ modes: Set<ScenarioMode>) -> String {
        "[\(modes.sorted().map { "\($0)" }.joined(separator: " "))]"
    }
}
