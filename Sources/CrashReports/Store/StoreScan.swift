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
    let index: LoadedIndex
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
        var doubtful: [(FolderListing.File, LoadedIndex.Reference)] = []
        var entries: [IndexEntry] = []
        var unknown: [FolderListing.File] = []
        entries.reserveCapacity(listing.files.count)
        index.match(listing.files) { file, match in
            guard case .known(let reference) = match else { return unknown.append(file) }
            if index.mark(reference).inode == file.inode, index.place(reference).isSame(as: place) {
                entries.append(index.entry(reference))
            } else {
                doubtful.append((file, reference))
            }
        }
        self.entries = entries
        self.unknown = unknown
        guard !doubtful.isEmpty else { return }
        for (file, reference) in doubtful {
            // A copy, or the same folder after a start of the system: numbers of files say nothing, but size and time do.
            let mark = index.mark(reference)
            if let status = try? FileStatus(of: ReportStore.fileName(file.id.reportID), in: folder),
                status.kind == .regular, status.owner == geteuid(), status.size == mark.size,
                status.modified == mark.modified
            {
                var entry = index.entry(reference)
                entry.file = FileMark(status)
                self.entries.append(entry)
                found += 1
            } else {
                isOutdated = true
                self.unknown.append(file)
            }
        }
        self.entries.sort { $0.id < $1.id }
        self.unknown.sort { $0.id < $1.id }
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
