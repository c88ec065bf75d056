internal import LinuxSystem
internal import SystemPackage

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
        try IndexFile.replace(with: IndexBlock(entries: entries, tally: tally, place: place).bytes(), in: folder)
    }
}
