internal import Glibc
internal import LinuxSystem
internal import SystemPackage

/// Looks at everything in a store.
struct StoreCheck {
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
    mutating func note(_ kind: StoreFinding.Kind, _ path: FilePath, _ problem: String, advice: String) {
        result.findings.append(
            StoreFinding(kind: kind, path: path, problem: problem, advice: advice, isRepairable: false)
        )
    }

    /// Notes something, after putting it right if that is wanted.
    mutating func note(
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

    mutating func note(_ error: ReportStoreError) {
        let finding = error.finding
        note(finding.kind, error.path, finding.problem, advice: finding.advice)
    }

    mutating func checkMode(of path: FilePath, allowing allowed: UInt32, repair: () throws(Errno) -> Void) {
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
    mutating func checkMode(of name: String, in path: FilePath, _ folder: borrowing FileDirectory) {
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
        let missing = scan.entries.count { known[$0.id] == nil && $0.textBytes <= IndexFile.maximumTextBytes }
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
        return switch code.value {
        case .symbolicLink:
            (.symbolicLink, "it is a symbolic link, which could lead anywhere", "put what it leads to in its place")
        case .foreignOwner:
            (.wrongOwner, "it belongs to another user (\(cause))", "chown it, or make a copy of your own")
        case .wrongKind: (.wrongKind, "it is not a \(cause)", "move it out of the way")
        case .tooLarge: (.damagedReport, "it is larger than a report can be", "move it out of the way")
        case .unsupportedVersion: (.unsupportedVersion, cause, "read it with a newer crashreport")
        case .damaged: (.damagedReport, "it is not a readable report (\(cause))", "move it out of the way")
        default: (.unreadable, "it cannot be read: \(cause)", hint ?? "see who may read it")
        }
    }
}
