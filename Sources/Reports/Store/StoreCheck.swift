internal import Glibc
internal import LinuxSystem
package import SystemPackage

/// Something that is not as it should be in a store.
package struct StoreFinding: Sendable, Hashable {
    /// What kind of thing it is.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// A folder or a file cannot be looked at.
        case unreadable
        /// A report that cannot be read.
        case damagedReport = "damaged-report"
        /// A report of a version that this program does not read.
        case unsupportedVersion = "unsupported-version"
        /// A file that is named like a report and has another's identifier, or is named like none.
        case wrongName = "wrong-name"
        /// A file or folder of another user.
        case wrongOwner = "wrong-owner"
        /// A file or folder that others than its owner can use.
        case wrongMode = "wrong-mode"
        /// A symbolic link in the place of a file or a folder.
        case symbolicLink = "symbolic-link"
        /// A folder, a FIFO or the like in the place of a report.
        case wrongKind = "wrong-kind"
        /// A file that nobody made this package write.
        case strangeFile = "strange-file"
        /// A file that a writer left that died.
        case leftover
        /// The index cannot be read; lists are slow until it is made anew.
        case damagedIndex = "damaged-index"
        /// The index does not know some reports, or knows them as they were.
        case staleIndex = "stale-index"
        /// Records of faults that no report tells of yet.
        case unfinishedRecords = "unfinished-records"
        /// Records that could not be read, and were set aside.
        case damagedRecords = "damaged-records"
        /// The store holds more than it may.
        case overLimits = "over-limits"
    }

    /// What was done about it.
    package enum Repair: String, Sendable, Hashable {
        /// Nothing: it was not asked for, or could lose something.
        case none
        /// It is as it should be now.
        case done
        /// It was tried, and the system refused.
        case failed
    }

    /// What kind of thing it is.
    package var kind: Kind
    /// The file or folder.
    package var path: FilePath
    /// What is wrong, in one line.
    package var problem: String
    /// What to do about it, in one line.
    package var advice: String
    /// Whether `repair` does something about it.
    package var isRepairable: Bool
    /// What was done about it.
    package var repair: Repair = .none

    /// Whether something is lost or may be: false for what costs only time or room.
    package var isSerious: Bool {
        switch kind {
        case .leftover, .damagedIndex, .staleIndex, .unfinishedRecords, .overLimits, .strangeFile: false
        default: true
        }
    }
}

/// What the check of a store found.
package struct StoreVerification: Sendable, Hashable {
    /// What is not as it should be.
    package var findings: [StoreFinding] = []
    /// How many reports can be read.
    package var reports = 0
    /// How many bytes they have together.
    package var bytes = 0

    /// Whether everything is as it should be, or is now.
    package var isSound: Bool { findings.allSatisfy { $0.repair == .done } }
}

extension ReportStore {
    /// Looks at everything in the store, and says what is not as it should be and what to do about it.
    ///
    /// Reads every report. Writers wait while something is repaired, and not otherwise.
    ///
    /// - Parameters:
    ///   - limits: What the store may hold; its own limits if nil.
    ///   - repair: Whether to put right what can be put right without losing anything: modes, leftovers, the index.
    ///   - progress: Called now and then while files are read, with how many were read and how many will be.
    /// - Returns: The findings; none for a store that does not exist.
    package func verify(
        limits: Limits? = nil,
        repair: Bool = false,
        progress: ((_ done: Int, _ total: Int) -> Void)? = nil
    ) -> StoreVerification {
        var check = StoreCheck(self, limits: limits, repairs: repair)
        check.run(progress: progress)
        return check.result
    }
}

/// Looks at everything in a store.
private struct StoreCheck {
    let store: ReportStore
    let limits: ReportStore.Limits?
    let repairs: Bool
    private(set) var result = StoreVerification()

    init(_ store: ReportStore, limits: ReportStore.Limits?, repairs: Bool) {
        self.store = store
        self.limits = limits
        self.repairs = repairs
    }

    mutating func run(progress: ((Int, Int) -> Void)?) {
        checkRoot()
        do throws(ReportStoreError) {
            guard let folder = try store.openReports() else { return checkSpool() }
            if repairs { try store.lock(folder) }
            // A folder that others share, such as a state directory, is theirs; but nobody else may put another in its place.
            let own = try store.openRoot()
            checkMode(of: store.path, allowing: 0o755) { () throws(Errno) in try own?.restrictPermissions(to: 0o755) }
            checkMode(of: store.reportsPath, allowing: 0o700) { () throws(Errno) in try folder.closeToOthers() }
            try checkReports(folder, progress)
        } catch {
            note(error)
        }
        checkSpool()
    }

    /// Notes something.
    private mutating func note(_ kind: StoreFinding.Kind, _ path: FilePath, _ problem: String, advice: String) {
        result.findings.append(
            StoreFinding(kind: kind, path: path, problem: problem, advice: advice, isRepairable: false)
        )
    }

    /// Notes something, after putting it right if that is wanted.
    private mutating func note(
        _ kind: StoreFinding.Kind,
        _ path: FilePath,
        _ problem: String,
        advice: String,
        repair: () throws(Errno) -> Void
    ) {
        note(kind, path, problem, advice: advice)
        let last = result.findings.count - 1
        result.findings[last].isRepairable = true
        guard repairs else { return }
        do throws(Errno) {
            try repair()
            result.findings[last].repair = .done
        } catch {
            result.findings[last].repair = .failed
            result.findings[last].advice = "\(error): \(advice)"
        }
    }

    private mutating func note(_ error: ReportStoreError) {
        let finding = error.finding
        note(finding.kind, error.path, finding.problem, advice: finding.advice)
    }

    private mutating func checkMode(of path: FilePath, allowing allowed: UInt32, repair: () throws(Errno) -> Void) {
        guard let status = try? FileStatus(of: path), status.permissions & ~allowed & 0o777 != 0 else { return }
        let mode = String(status.permissions, radix: 8)
        note(
            .wrongMode,
            path,
            "others than its owner may use it (mode \(mode))",
            advice: "chmod \(String(status.permissions & allowed, radix: 8))",
            repair: repair
        )
    }

    /// Sees to it that nobody else reads a file of this user's.
    private mutating func checkMode(of name: String, in path: FilePath, _ folder: borrowing FileDirectory) {
        // A symbolic link has no mode of its own.
        guard let status = try? FileStatus(of: name, in: folder), status.kind == .regular, status.owner == geteuid(),
            status.permissions & 0o077 != 0
        else { return }
        checkMode(of: path.appending(name), allowing: 0o600) { () throws(Errno) in
            try folder.setPermissions(of: name, to: 0o600)
        }
    }

    // MARK: Reports

    private mutating func checkReports(
        _ folder: borrowing FileDirectory,
        _ progress: ((Int, Int) -> Void)?
    ) throws(ReportStoreError) {
        var scan = try StoreScan(store, folder)
        let listed = scan.entries
        // What the index says is set against what the files say: each is read.
        scan.readAll(folder, progress: progress)
        for name in scan.listing.wrongNames {
            note(
                .wrongName,
                store.reportsPath.appending(name),
                "its name is not that of a report",
                advice: "name it after the identifier in it, or move it out of the way"
            )
        }
        for failure in scan.failures { note(failure.error) }
        // What is damaged tells as much as what is not.
        for id in scan.entries.map(\.id) + scan.failures.map(\.file.id) {
            checkMode(of: ReportStore.fileName(id.reportID), in: store.reportsPath, folder)
        }
        result.reports = scan.entries.count
        result.bytes = scan.entries.reduce(0) { $0.addingClamped($1.file.bytes) }
        checkNames(scan.listing, folder)
        checkIndex(scan, listed: listed, folder)
        checkLimits(scan)
    }

    private mutating func checkNames(_ listing: FolderListing, _ folder: borrowing FileDirectory) {
        // Whoever has the lock is writing; the others are dead.
        let isWriting = !repairs && (try? store.openReports()?.tryLock()) == false
        for name in listing.temporaries where !(isWriting && name == ReportStore.temporaryName) {
            note(
                .leftover,
                store.reportsPath.appending(name),
                "a writer that died has left it",
                advice: "remove it: nothing is in it that is not somewhere else"
            ) { () throws(Errno) in try folder.remove(name) }
        }
        for name in listing.others where name != IndexFile.name {
            note(
                .strangeFile,
                store.reportsPath.appending(name),
                "it has nothing to do with reports",
                advice: "move it to where it belongs"
            )
        }
    }

    private mutating func checkIndex(_ scan: StoreScan, listed: [IndexEntry], _ folder: borrowing FileDirectory) {
        let path = store.reportsPath.appending(IndexFile.name)
        guard let status = try? FileStatus(of: path) else { return }
        let advice = "remove it, or list the reports once more: it is made anew"
        guard IndexFile.isUsable(status), !scan.index.isDamaged else {
            return note(.damagedIndex, path, "it is not an index of this version", advice: advice) {
                () throws(Errno) in try scan.save(folder)
            }
        }
        var known: [PackedID: IndexEntry] = [:]
        for entry in listed { known[entry.id] = entry }
        let wrong = scan.entries.count { known[$0.id].map { [entry = $0] in entry != $0 } ?? false }
        let missing = scan.entries.count { known[$0.id] == nil && $0.texts.size <= IndexFile.maximumTextBytes }
        guard wrong + missing > 0 else { return }
        note(
            .staleIndex,
            path,
            "of \(scan.entries.count) reports, it does not know \(missing), and knows \(wrong) otherwise than they are",
            advice: wrong > 0 ? "remove it: lists are wrong until then" : "nothing: they are read when they are listed"
        ) { () throws(Errno) in try scan.save(folder) }
    }

    private mutating func checkLimits(_ scan: StoreScan) {
        guard let limits = limits ?? store.limits else { return }
        let plan = scan.plan(limits, target: limits, now: .now)
        guard !plan.removals.isEmpty else { return }
        note(
            .overLimits,
            store.reportsPath,
            "\(plan.removals.count) reports are more, larger or older than the limits allow",
            advice: "crashreport prune"
        )
    }
}

extension ReportStoreError {
    /// What a check says of it.
    fileprivate var finding: (kind: StoreFinding.Kind, problem: String, advice: String) {
        let cause = detail ?? underlyingError.map(String.init(describing:)) ?? "unknown cause"
        return switch code {
        case .symbolicLink:
            (.symbolicLink, "it is a symbolic link, which could lead anywhere", "put what it leads to in its place")
        case .foreignOwner:
            (.wrongOwner, "it belongs to another user (\(cause))", "read it as that user, or make a copy of your own")
        case .wrongKind: (.wrongKind, "it is not a \(cause)", "move it out of the way")
        case .tooLarge: (.damagedReport, "it is larger than a report can be", "move it out of the way")
        case .unsupportedVersion: (.unsupportedVersion, cause, "read it with a newer crashreport")
        case .damaged: (.damagedReport, "it is not a readable report (\(cause))", "move it out of the way")
        default: (.unreadable, "it cannot be read: \(cause)", hint ?? "see who may read it")
        }
    }
}

extension StoreCheck {
    /// Looks for what was put beside the folders of the store instead of into them.
    ///
    /// The store may be a state directory, which others keep their files in: only names that this package gives count.
    mutating func checkRoot() {
        // Why it cannot be opened is said by whoever looks at the reports.
        guard let folder = try? store.openRoot(), let names = try? folder.names() else { return }
        for name in names.sorted() {
            guard let place = Self.place(of: name, in: store) else { continue }
            note(
                .strangeFile,
                store.path.appending(name),
                "it has the name of \(place.content), which nobody looks for here",
                advice: "move it into \(place.folder)"
            )
        }
    }

    private static func place(of name: String, in store: ReportStore) -> (content: String, folder: FilePath)? {
        if name.hasSuffix(".json"), ReportID(rawValue: String(name.dropLast(5))) != nil {
            return ("a report", store.reportsPath)
        }
        // A process and the time of its start.
        let isOfDigits = name.prefix { $0 != "." }.allSatisfy { ("0"..."9").contains($0) || $0 == "-" }
        guard isOfDigits, name.hasSuffix(".spool") || name.hasSuffix(".spool.damaged") else { return nil }
        return ("records of faults", store.spoolPath)
    }
}

extension StoreCheck {
    /// Looks at the records that are no reports yet.
    mutating func checkSpool() {
        do throws(Errno) {
            let status = try FileStatus(of: store.spoolPath)
            let owner = geteuid()
            guard status.kind == .directory, status.owner == owner else {
                return noteStrange(store.spoolPath, status, wanted: "folder")
            }
            let folder = try FileDirectory(at: store.spoolPath)
            checkMode(of: store.spoolPath, allowing: 0o700) { () throws(Errno) in try folder.closeToOthers() }
            for name in try folder.names().sorted() where name != "." && name != ".." {
                try checkRecords(name, folder)
            }
        } catch {
            guard error != .noSuchFileOrDirectory else { return }
            note(
                .unreadable,
                store.spoolPath,
                "it cannot be read: \(error)",
                advice: error.hint ?? "see who may read it"
            )
        }
    }

    private mutating func noteStrange(_ path: FilePath, _ status: FileStatus, wanted: String) {
        switch status.kind {
        case .symbolicLink:
            note(.symbolicLink, path, "it is a symbolic link, which could lead anywhere", advice: "remove it")
        case .regular where wanted == "file", .directory where wanted == "folder":
            let problem = "it belongs to another user (uid \(status.owner), not \(geteuid()))"
            note(.wrongOwner, path, problem, advice: "read it as that user, or make a copy of your own")
        default:
            note(.wrongKind, path, "it is not a \(wanted)", advice: "move it out of the way")
        }
    }

    private mutating func checkRecords(_ name: String, _ folder: borrowing FileDirectory) throws(Errno) {
        let path = store.spoolPath.appending(name)
        let status: FileStatus
        do {
            status = try FileStatus(of: name, in: folder)
        } catch .noSuchFileOrDirectory {
            // Finished by somebody since.
            return
        }
        guard status.kind == .regular, status.owner == geteuid() else {
            return noteStrange(path, status, wanted: "file")
        }
        if name.hasSuffix(".spool") || name.hasSuffix(".damaged") { checkMode(of: name, in: store.spoolPath, folder) }
        if name.hasSuffix(".damaged") {
            note(
                .damagedRecords,
                path,
                "records of faults that could not be read",
                advice: "send it to whoever maintains Holdfast, then remove it"
            )
        } else if name.hasSuffix(".spool") || name.hasSuffix(".tmp") {
            // A process holds its file locked as long as it runs.
            guard let file = try? folder.open(name), flock(file.rawValue, LOCK_SH | LOCK_NB) == 0 else { return }
            guard name.hasSuffix(".spool") else {
                return note(
                    .leftover,
                    path,
                    "a process that died has left it",
                    advice: "list the reports once more: it is removed when it is a minute old"
                )
            }
            note(
                .unfinishedRecords,
                path,
                "faults of a dead process of which there is no report yet",
                advice: "list the reports, or start the program: both finish it"
            )
        } else {
            note(.strangeFile, path, "it has nothing to do with faults", advice: "move it to where it belongs")
        }
    }
}
