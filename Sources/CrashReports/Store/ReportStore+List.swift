internal import LinuxSystem
internal import SystemPackage

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
        if !filter.isEmpty { numbers.removeAll { !matcher.matches(entries[$0]) } }
        order.sort(&numbers, of: entries)
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
    public func groups(
        matching filter: ReportFilter = ReportFilter(),
        order: ReportGroupOrder = .latestFirst,
        limit: Int? = nil,
        progress: ((_ done: Int, _ total: Int) -> Void)? = nil
    ) throws(ReportStoreError) -> ReportGroupListing {
        guard let directory = try openReports(to: .read) else { return ReportGroupListing(groups: [], problems: []) }
        let scan = try scan(directory, progress: progress)
        var matcher = ReportMatcher(filter)
        var grouping = ReportGrouping()
        for entry in scan.entries where filter.isEmpty || matcher.matches(entry) { grouping.add(entry) }
        let groups = grouping.groups(order: order)
        return ReportGroupListing(groups: Array(groups.prefix(limit ?? .max)), problems: scan.problems)
    }

    /// So few reports are found by their names: what the index does not know is read, and nothing else.
    static let fewReports = 64

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

extension ReportOrder {
    /// Sorts the numbers of entries, which come sorted by time, the newest first.
    func sort(_ numbers: inout [Int], of entries: [IndexEntry]) {
        switch self {
        case .newestFirst: break
        case .oldestFirst: numbers.reverse()
        // The sort of the standard library is stable.
        case .mostFrequentFirst: numbers.sort { entries[$0].count > entries[$1].count }
        case .byProcess: numbers.sort { entries[$0].process < entries[$1].process }
        case .byReason: numbers.sort { entries[$0].reason < entries[$1].reason }
        }
    }
}
