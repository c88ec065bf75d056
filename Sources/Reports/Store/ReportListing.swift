internal import Glibc
internal import LinuxSystem
internal import SystemPackage

/// Which reports are wanted: all that every given part fits.
public struct ReportFilter: Sendable, Hashable {
    /// The name of the process, as it is in the report.
    public var process: String?
    /// The identifier of the process.
    public var pid: Int?
    /// The name of the host, in any case; `mx1` stands for `mx1.example.org`, too.
    public var host: String?
    /// What the build identifier of the executable, or the tag `release`, begins with.
    public var build: String?
    /// The name of the signal, in any case, with or without `SIG`.
    public var signal: String?
    /// What was decided about the process.
    public var verdict: CrashReport.Word?
    /// What the report is about.
    public var kind: CrashReport.Word?
    /// What the fingerprint begins with, with or without the version of the rule before it (`v2-`).
    public var fingerprint: String?
    /// The beginning of the time: a report whose fault happened for the last time before it is left out.
    public var since: Timestamp?
    /// The end of the time: a report whose fault happened for the first time after it is left out.
    public var until: Timestamp?
    /// What the reason, the location or the name of the process contains, in any case.
    public var text: String?
    /// Tags that the report has, or one of the faults that are listed in it.
    public var tags: [String: String] = [:]

    /// Makes a filter that lets everything through.
    public init() {}

    /// Whether it lets everything through.
    package var isEmpty: Bool { self == ReportFilter() }
}

/// In which order reports, or groups of them, are listed.
public enum ReportOrder: String, Sendable, Hashable, CaseIterable {
    /// By the time of the fault, the newest first.
    case newestFirst = "newest"
    /// By the time of the fault, the oldest first.
    case oldestFirst = "oldest"
    /// By how often the fault happened, the most frequent first; then the newest first.
    case mostFrequentFirst = "count"
}

extension ReportFilter {
    /// Tells whether a report is wanted.
    ///
    /// - Parameter report: The report.
    /// - Returns: Whether every given part fits.
    package func matches(_ report: CrashReport) -> Bool {
        var matcher = ReportMatcher(self)
        return matcher.matches(IndexEntry(report, file: .none)) { _ in report.occurrences.others ?? [] }
    }
}

extension ReportStore {
    /// Lists reports.
    ///
    /// A file that cannot be read does not keep the others from being listed. What was found out by reading is kept in the
    /// index, if the store can be written: see `Documentation/ReportStore.md`.
    ///
    /// - Parameters:
    ///   - filter: Which reports; all of them without a filter.
    ///   - order: In which order.
    ///   - limit: How many at most; all of them without a limit.
    ///   - progress: Called now and then while files are read, with how many were read and how many will be.
    /// - Returns: Summaries of the reports, and what could not be read on the way.
    /// - Throws: `ReportStoreError` when the directory itself cannot be read.
    public func summaries(
        matching filter: ReportFilter = ReportFilter(),
        order: ReportOrder = .newestFirst,
        limit: Int? = nil,
        progress: ((_ done: Int, _ total: Int) -> Void)? = nil
    ) throws(ReportStoreError) -> ReportListing {
        guard let directory = try openReports(to: .read) else { return ReportListing(summaries: [], problems: []) }
        if filter.isEmpty, order == .newestFirst, let limit, limit <= Self.fewReports {
            return try newest(limit, in: directory)
        }
        let scan = try scan(directory, progress: progress)
        let entries = scan.entries
        var matcher = ReportMatcher(filter)
        // Numbers are sorted instead of entries, whose many strings would be retained each time.
        var numbers = Array(entries.indices.reversed())
        if !filter.isEmpty {
            numbers.removeAll { !matcher.matches(entries[$0]) { others(in: $0, directory) } }
        }
        switch order {
        case .newestFirst: break
        case .oldestFirst: numbers.reverse()
        case .mostFrequentFirst: numbers.sort { entries[$0].count > entries[$1].count }
        }
        let folder = reportsPath.string + "/"
        let summaries = numbers.prefix(limit ?? .max).map { ReportSummary(entries[$0], folder: folder) }
        return ReportListing(summaries: summaries, problems: scan.problems)
    }

    /// Lists what the reports of each fingerprint have in common.
    ///
    /// - Parameters:
    ///   - filter: Which reports count; all of them without a filter.
    ///   - order: In which order.
    ///   - limit: How many groups at most; all of them without a limit.
    ///   - progress: Called now and then while files are read, with how many were read and how many will be.
    /// - Returns: The groups, and what could not be read on the way.
    /// - Throws: `ReportStoreError` when the directory itself cannot be read.
    package func groups(
        matching filter: ReportFilter = ReportFilter(),
        order: ReportOrder = .newestFirst,
        limit: Int? = nil,
        progress: ((_ done: Int, _ total: Int) -> Void)? = nil
    ) throws(ReportStoreError) -> ReportGroupListing {
        guard let directory = try openReports(to: .read) else { return ReportGroupListing(groups: [], problems: []) }
        let scan = try scan(directory, progress: progress)
        var matcher = ReportMatcher(filter)
        var grouping = ReportGrouping()
        for entry in scan.entries {
            guard filter.isEmpty || matcher.matches(entry, others: { others(in: $0, directory) }) else { continue }
            grouping.add(entry)
        }
        let groups = grouping.groups(order: order)
        return ReportGroupListing(groups: Array(groups.prefix(limit ?? .max)), problems: scan.problems)
    }

    /// So few reports are found by their names: what the index does not know is read, and nothing else.
    private static let fewReports = 64

    private func newest(
        _ limit: Int,
        in directory: borrowing FileDirectory
    ) throws(ReportStoreError) -> ReportListing {
        let place = try? StorePlace(directory)
        let listing = try files(in: directory)
        var index = IndexFile.load(in: directory)
        let folder = reportsPath.string + "/"
        var result = ReportListing(summaries: [], problems: problems(of: listing))
        for file in listing.files.reversed() {
            guard result.summaries.count < limit else { break }
            if let place, let (entry, written) = index.entry(of: file.id), entry.file.inode == file.inode,
                written.isSame(as: place)
            {
                result.summaries.append(ReportSummary(entry, folder: folder))
                continue
            }
            do {
                let entry = try readEntry(file.id.reportID, in: directory)
                result.summaries.append(ReportSummary(entry, folder: folder))
            } catch {
                // Removed since: there is nothing wrong with that.
                if error.code != .noSuchReport { result.problems.append(error) }
            }
        }
        return result
    }

    /// The faults that are listed in a report; none if it cannot be read.
    ///
    /// The index has not got them: few ask for them, and there may be hundreds in a report.
    private func others(
        in entry: IndexEntry,
        _ directory: borrowing FileDirectory
    ) -> [CrashReport.Occurrences.Other] {
        guard entry.count > 1 else { return [] }
        return (try? read(entry.id.reportID, in: directory))?.occurrences.others ?? []
    }

    /// The report in which a fault is listed whose identifier is in a range; nil if there is none, or more than one fault is meant.
    func report(
        listing wanted: ClosedRange<PackedID>,
        in directory: borrowing FileDirectory
    ) throws(ReportStoreError) -> ReportID? {
        var found: [ReportID] = []
        // An identifier has milliseconds only, and faults of several threads are counted in any order.
        let (start, end) = (wanted.lowerBound.time.adding(seconds: -60), wanted.upperBound.time.adding(seconds: 60))
        for entry in try scan(directory).entries where entry.count > 1 && entry.last >= start && entry.first <= end {
            for other in others(in: entry, directory) where wanted.contains(PackedID(other.id)) {
                found.append(entry.id.reportID)
            }
        }
        return found.count == 1 ? found[0] : nil
    }

    func files(in directory: borrowing FileDirectory) throws(ReportStoreError) -> FolderListing {
        do {
            return try FolderListing(directory)
        } catch {
            throw ReportStoreError(.unreadable, reportsPath, error)
        }
    }

    func problems(of listing: FolderListing) -> [ReportStoreError] {
        listing.wrongNames.map {
            ReportStoreError(.damaged, reportsPath.appending($0), detail: "its name is not that of a report")
        }
    }
}

/// A filter made ready for many reports.
private struct ReportMatcher {
    private let filter: ReportFilter
    private let signal: String?
    private let text: String?
    /// What was found out about a text: most reports have a reason and a location that others have, too.
    private var known: [String: Bool] = [:]

    init(_ filter: ReportFilter) {
        self.filter = filter
        signal = filter.signal.map { name in
            let name = name.uppercased()
            return name.hasPrefix("SIG") ? name : "SIG" + name
        }
        text = filter.text?.lowercased()
    }

    /// Whether every given part fits.
    ///
    /// - Parameters:
    ///   - entry: What is known of a report.
    ///   - others: Finds the faults that are listed in the report.
    /// - Returns: Whether it does.
    mutating func matches(
        _ entry: IndexEntry,
        others: (IndexEntry) -> [CrashReport.Occurrences.Other]
    ) -> Bool {
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
        if text != nil, !contains(entry.reason), !contains(entry.location), !contains(entry.process) { return false }
        // Last: it may have to read the report.
        return hasTags(entry.tags) || others(entry).contains { hasTags($0.tags) }
    }

    private func hasTags(_ tags: [String: String]) -> Bool { filter.tags.allSatisfy { tags[$0.key] == $0.value } }

    private mutating func contains(_ candidate: String) -> Bool {
        guard let text else { return true }
        if let answer = known[candidate] { return answer }
        let answer = unsafe candidate.lowercased().withCString { unsafe strstr($0, text) != nil }
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
