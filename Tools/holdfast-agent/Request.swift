import FaultInjection

/// One line of the protocol.
enum Request: Equatable {
    case set(key: String, value: String)
    case get(key: String)
    case ping
    case stats
    case fault(Fault)
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
        default: self = .invalid("unknown command")
        }
    }
}
