/// A filter made ready for many reports.
struct ReportMatcher {
    private let filter: ReportFilter
    private let signal: String?
    private let text: FoldedText?
    /// What was found out about a text: most reports have a reason and a location that others have, too.
    private var known: [String: Bool] = [:]

    init(_ filter: ReportFilter) {
        self.filter = filter
        signal = filter.signal.map { name in
            let name = name.uppercased()
            return name.hasPrefix("SIG") ? name : "SIG" + name
        }
        text = filter.text.flatMap { $0.isEmpty ? nil : FoldedText($0) }
    }

    mutating func matches(_ entry: IndexEntry) -> Bool {
        if let since = filter.since, max(entry.last, entry.timestamp) < since { return false }
        if let until = filter.until, min(entry.first, entry.timestamp) > until { return false }
        if let process = filter.process, entry.process != process { return false }
        if let pid = filter.pid, entry.pid != pid { return false }
        if let host = filter.host, !Self.host(entry.host, isCalled: host) { return false }
        if let build = filter.build, !Self.isBuild(entry, build) { return false }
        if let signal, entry.signal.uppercased() != signal, "SIG" + entry.signal.uppercased() != signal { return false }
        if let verdict = filter.verdict, entry.verdict != verdict.rawValue { return false }
        if let kind = filter.kind, entry.kind != kind.rawValue { return false }
        if let fingerprint = filter.fingerprint, !Self.fingerprint(entry.fingerprint, beginsWith: fingerprint) {
            return false
        }
        for tag in filter.tags where entry.tags[tag.key] != tag.value { return false }
        guard text != nil else { return true }
        return contains(entry.reason) || contains(entry.location) || contains(entry.process)
    }

    private mutating func contains(_ candidate: String) -> Bool {
        guard let text else { return true }
        if let answer = known[candidate] { return answer }
        let answer = text.isContained(in: candidate)
        known[candidate] = answer
        return answer
    }

    private static func host(_ host: String, isCalled name: String) -> Bool {
        let (host, name) = (host.lowercased(), name.lowercased())
        return host == name || host.hasPrefix(name + ".")
    }

    private static func isBuild(_ entry: IndexEntry, _ start: String) -> Bool {
        entry.buildID?.hasPrefix(start.lowercased()) == true || entry.tags["release"]?.hasPrefix(start) == true
    }

    private static func fingerprint(_ fingerprint: String, beginsWith prefix: String) -> Bool {
        let prefix = prefix.lowercased()
        if fingerprint.hasPrefix(prefix) { return true }
        guard let dash = fingerprint.utf8.firstIndex(of: UInt8(ascii: "-")) else { return false }
        return fingerprint[fingerprint.utf8.index(after: dash)...].hasPrefix(prefix)
    }
}

/// A text that is looked for in others, in any case.
struct FoldedText {
    private let bytes: [UInt8]

    init(_ text: String) {
        bytes = Array(text.lowercased().utf8)
    }

    func isContained(in text: String) -> Bool {
        guard let first = bytes.first else { return true }
        let text = Array(text.lowercased().utf8)
        guard text.count >= bytes.count else { return false }
        for start in 0...(text.count - bytes.count)
        where text[start] == first && text[start..<(start + bytes.count)].elementsEqual(bytes) {
            return true
        }
        return false
    }
}
