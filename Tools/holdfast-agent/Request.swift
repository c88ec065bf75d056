import FaultInjection

/// One line of the protocol.
enum Request: Equatable {
    case set(key: String, value: String)
    case get(key: String)
    case ping
    case stats
    case fault(Fault)
    case stall(InjectedStall, milliseconds: Int)
    /// Not understood, and why.
    case invalid(String)

    init(line: String) {
        let words = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
        switch (words.first ?? "", words.count) {
        case ("SET", 3) where !words[1].isEmpty: self = .set(key: words[1], value: words[2])
        case ("SET", _): self = .invalid("usage: SET key value")
        case ("GET", 2) where !words[1].isEmpty: self = .get(key: words[1])
        case ("GET", _): self = .invalid("usage: GET key")
        case ("PING", 1): self = .ping
        case ("STATS", 1): self = .stats
        case ("FAULT", 2):
            self = Fault(rawValue: words[1]).map(Request.fault) ?? .invalid("no such fault; see --list-faults")
        case ("FAULT", _): self = .invalid("usage: FAULT name")
        case ("STALL", 3): self = Self.stall(words[1], words[2])
        case ("STALL", _): self = .invalid(Self.stallUsage)
        default: self = .invalid("unknown command")
        }
    }

    private static let stallUsage =
        "usage: STALL \(InjectedStall.allCases.map(\.rawValue).joined(separator: "|")) milliseconds, up to an hour"

    private static func stall(_ kind: String, _ milliseconds: String) -> Request {
        guard let kind = InjectedStall(rawValue: kind), let time = Int(milliseconds), (0...3_600_000).contains(time)
        else { return .invalid(stallUsage) }
        return .stall(kind, milliseconds: time)
    }
}
