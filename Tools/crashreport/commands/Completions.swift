import CrashReports
import FoundationEssentials
import ReportText
import SystemPackage

/// What a shell can complete out of a store.
///
/// Nothing here finishes records or complains: it runs while somebody types.
enum Completions {
    private static let most = 100

    /// Identifiers of reports, as `list` prints them.
    @Sendable
    static func reports(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
        if prefix.lowercased().hasPrefix("v") { return fingerprints(words, index, prefix) }
        let ids = summaries(words).map(\.id)
        let digits = ReportTable.distinctDigits(of: ids)
        return matching(ids.map { String($0.rawValue.prefix(digits)) } + ["last"], prefix)
    }

    /// Fingerprints of groups.
    @Sendable
    static func fingerprints(_ words: [String], _: Int, _ prefix: String) -> [String] {
        matching(summaries(words).map(\.fingerprint.rawValue), prefix)
    }

    /// Names of processes.
    @Sendable
    static func processes(_ words: [String], _: Int, _ prefix: String) -> [String] {
        matching(summaries(words).map(\.process), prefix)
    }

    private static func summaries(_ words: [String]) -> [ReportSummary] {
        var options = StoreOptions()
        options.store = store(in: words)
        guard let store = try? options.open(), let listing = try? store.summaries(limit: nil) else { return [] }
        return listing.summaries
    }

    /// The directory that the line names, without the quotes of the shell.
    private static func store(in words: [String]) -> String? {
        for (index, word) in words.enumerated() {
            let value: Substring
            if word == "--store", index + 1 < words.count {
                value = words[index + 1][...]
            } else if word.hasPrefix("--store=") {
                value = word.dropFirst("--store=".count)
            } else {
                continue
            }
            let plain = value.filter { !"\"'\\".contains($0) }
            guard plain.hasPrefix("~/"), let home = ProcessInfo.processInfo.environment["HOME"] else { return plain }
            return home + plain.dropFirst()
        }
        return nil
    }

    /// What starts so, each once; nothing that a terminal or a shell could stumble over.
    private static func matching(_ words: [String], _ prefix: String) -> [String] {
        var seen: Set<String> = []
        var found: [String] = []
        for word in words where word.hasPrefix(prefix) && word.utf8.allSatisfy({ (0x21..<0x7f).contains($0) }) {
            guard found.count < most else { break }
            if seen.insert(word).inserted { found.append(word) }
        }
        return found
    }
}
