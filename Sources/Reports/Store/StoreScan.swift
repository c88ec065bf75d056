internal import Glibc
internal import LinuxSystem
internal import SystemPackage

/// What is known of all reports in a folder.
struct StoreScan {
    /// A file that was not read, and why.
    struct Failure {
        var file: FolderListing.File
        var error: ReportStoreError
        /// The size of the file.
        var bytes: Int
    }

    let listing: FolderListing
    private(set) var index: LoadedIndex
    let place: StorePlace
    /// What is known, the oldest first.
    private(set) var entries: [IndexEntry] = []
    /// Files that the index does not know as they are.
    private(set) var unknown: [FolderListing.File] = []
    /// Entries that were read from files, or whose files had to be looked at.
    private(set) var found = 0
    /// How large the unknown files are together, if somebody asked.
    private(set) var unknownBytes = 0
    /// Whether a file is not the one that the index knows by its name: somebody else put it there.
    private(set) var isOutdated = false
    /// Files that could not be read.
    private(set) var failures: [Failure] = []

    private let store: ReportStore

    /// Looks at the folder and at the index, and at no report.
    init(_ store: ReportStore, _ folder: borrowing FileDirectory) throws(ReportStoreError) {
        self.store = store
        do {
            place = try StorePlace(folder)
            // First the folder: writers tell the index before it, so what the index says of a file that the folder had is never
            // older than that file, even if the number of it was used again meanwhile.
            listing = try FolderListing(folder)
            index = IndexFile.load(in: folder)
        } catch {
            throw ReportStoreError(.unreadable, store.reportsPath, error)
        }
        match(folder)
    }

    private mutating func match(_ folder: borrowing FileDirectory) {
        entries.reserveCapacity(listing.files.count)
        for file in listing.files {
            guard let known = index.entry(of: file.id) else {
                unknown.append(file)
                continue
            }
            var entry = known.entry
            if entry.file.inode == file.inode, known.place.isSame(as: place) {
                entries.append(entry)
                continue
            }
            // A copy, or the same folder after a start of the system: numbers of files say nothing, but size and time do.
            if let status = try? FileStatus(of: ReportStore.fileName(file.id.reportID), in: folder),
                status.kind == .regular, status.owner == geteuid(), status.size == entry.file.size,
                status.modified == entry.file.modified
            {
                entry.file = FileMark(status)
                entries.append(entry)
                found += 1
            } else {
                isOutdated = true
                unknown.append(file)
            }
        }
    }

    /// Reads the files that are not known.
    mutating func readUnknown(_ folder: borrowing FileDirectory, progress: ((Int, Int) -> Void)? = nil) {
        guard !unknown.isEmpty else { return }
        for (number, file) in unknown.enumerated() {
            if number % 64 == 0 { progress?(number, unknown.count) }
            do {
                entries.append(try store.readEntry(file.id.reportID, in: folder))
                found += 1
            } catch {
                // Removed since: there is nothing wrong with that.
                guard error.code != .noSuchReport else { continue }
                failures.append(Failure(file: file, error: error, bytes: size(of: file, folder)))
            }
        }
        progress?(unknown.count, unknown.count)
        unknown = []
        entries.sort { $0.id < $1.id }
    }

    /// Reads all files, whether they are known or not.
    mutating func readAll(_ folder: borrowing FileDirectory, progress: ((Int, Int) -> Void)?) {
        entries = []
        unknown = listing.files
        readUnknown(folder, progress: progress)
    }

    /// Finds out how large the files are that are not known, without reading them.
    mutating func countSizes(_ folder: borrowing FileDirectory) {
        unknownBytes = 0
        for file in unknown { unknownBytes = unknownBytes.addingClamped(size(of: file, folder)) }
    }

    private func size(of file: FolderListing.File, _ folder: borrowing FileDirectory) -> Int {
        (try? FileStatus(of: ReportStore.fileName(file.id.reportID), in: folder)).map { FileMark($0).bytes } ?? 0
    }

    /// Leaves out all reports but those in a range of identifiers.
    mutating func narrow(to range: ClosedRange<PackedID>) {
        entries.removeAll { !range.contains($0.id) }
        unknown.removeAll { !range.contains($0.id) }
    }

    /// Takes entries for unknown files from somewhere else.
    mutating func take(_ entry: (FolderListing.File) -> IndexEntry?) {
        var still: [FolderListing.File] = []
        for file in unknown {
            if let entry = entry(file) { entries.append(entry) } else { still.append(file) }
        }
        unknown = still
        entries.sort { $0.id < $1.id }
    }

    /// Forgets reports that were removed.
    mutating func forget(_ removed: Set<PackedID>) {
        entries.removeAll { removed.contains($0.id) }
        unknown.removeAll { removed.contains($0.id) }
        failures.removeAll { removed.contains($0.file.id) }
    }

    /// What was wrong with files and names, the newest first.
    var problems: [ReportStoreError] {
        store.problems(of: listing) + failures.reversed().map(\.error)
    }
}

/// The names in the folder of the reports.
struct FolderListing {
    /// A file that is named like a report.
    struct File {
        var id: PackedID
        /// As the folder has it, without a look at the file.
        var inode: UInt64
    }

    /// Files that are named like reports, the oldest first.
    var files: [File] = []
    /// Names that end like those of reports, but are none.
    var wrongNames: [String] = []
    /// Names of files that are being written, or were.
    var temporaries: [String] = []
    /// Other names.
    var others: [String] = []

    /// What a report's file is called after its 32 digits.
    private static let suffix = Array(".json".utf8)
    private static let temporarySuffix = Array(".tmp".utf8)

    init(_ folder: borrowing FileDirectory) throws(Errno) {
        var listing = ([File](), [String](), [String](), [String]())
        try folder.readEntries { name, inode in
            if name.count == ReportID.length + 5, name.suffix(5).elementsEqual(Self.suffix),
                let id = PackedID(digits: name.prefix(ReportID.length))
            {
                listing.0.append(File(id: id, inode: inode))
            } else if name.first == UInt8(ascii: ".") {
                if name.suffix(4).elementsEqual(Self.temporarySuffix) {
                    listing.2.append(String(decoding: name, as: UTF8.self))
                } else if name.count > 2 || name.contains(where: { $0 != UInt8(ascii: ".") }) {
                    listing.3.append(String(decoding: name, as: UTF8.self))
                }
            } else if name.suffix(5).elementsEqual(Self.suffix) {
                listing.1.append(String(decoding: name, as: UTF8.self))
            } else {
                listing.3.append(String(decoding: name, as: UTF8.self))
            }
        }
        files = listing.0.sorted { $0.id < $1.id }
        wrongNames = listing.1.sorted()
        temporaries = listing.2.sorted()
        others = listing.3.sorted()
    }
}

extension ReportStore {
    /// A list that had to read so many reports leaves an index behind, so that the next need not.
    ///
    /// One that found another file in the place of a known one does so at once: the file after that may have the number that the
    /// index knows.
    private static let readsWorthKeeping = 32

    /// What is known of all reports, the oldest first, with an index as far as it helps.
    func scan(
        _ folder: borrowing FileDirectory,
        progress: ((Int, Int) -> Void)? = nil
    ) throws(ReportStoreError) -> StoreScan {
        var scan = try StoreScan(self, folder)
        scan.readUnknown(folder, progress: progress)
        if scan.found >= Self.readsWorthKeeping || scan.isOutdated { keep(scan.entries) }
        return scan
    }

    /// Puts what was read into the index, unless somebody is writing, or nothing can be written.
    private func keep(_ entries: [IndexEntry]) {
        // A folder of its own: the lock ends with it.
        guard let folder = try? openReports(), (try? folder.tryLock()) == true,
            var scan = try? StoreScan(self, folder)
        else { return }
        scan.learn(entries, folder)
        try? scan.save(folder)
    }
}

extension StoreScan {
    /// Takes over what somebody else read, as far as the files are still the same.
    ///
    /// The folder must be locked.
    mutating func learn(_ others: [IndexEntry], _ folder: borrowing FileDirectory) {
        var known: [PackedID: IndexEntry] = [:]
        for entry in others { known[entry.id] = entry }
        take { file in
            guard let entry = known[file.id],
                let status = try? FileStatus(of: ReportStore.fileName(file.id.reportID), in: folder),
                FileMark(status) == entry.file
            else { return nil }
            return entry
        }
    }

    /// Writes an index of what is known, and notes when somebody looked for reports that are too old.
    ///
    /// The folder must be locked.
    func save(_ folder: borrowing FileDirectory, pruned: Timestamp? = nil) throws(Errno) {
        var tally = StoreTally(reports: entries.count, bytes: 0)
        for entry in entries { tally.bytes = tally.bytes.addingClamped(entry.file.bytes) }
        for file in unknown + failures.map(\.file) {
            guard let status = try? FileStatus(of: ReportStore.fileName(file.id.reportID), in: folder) else { continue }
            tally.reports = (tally.reports ?? 0) + 1
            tally.bytes = tally.bytes.addingClamped(Int(status.size))
        }
        tally.pruned = pruned ?? index.tally?.pruned ?? tally.pruned
        try IndexFile.replace(with: entries, tally: tally, place: place, in: folder)
    }
}
