internal import LinuxSystem
internal import SystemPackage

extension ReportStore {
    /// Removes what the store holds beyond some limits.
    ///
    /// Writers of the store, in whatever process, wait for the end of it; readers do not notice. Only reports of this user that
    /// are regular files are counted and removed.
    ///
    /// - Parameters:
    ///   - limits: The limits; those of the store if nil.
    ///   - dryRun: Whether to say only what would be removed.
    ///   - now: The present, which ages are counted to.
    ///   - progress: Called now and then while files are read, with how many were read and how many will be.
    /// - Returns: What was removed, or would be.
    /// - Throws: `ReportStoreError` when the store cannot be read or written.
    public func prune(
        _ limits: Limits? = nil,
        dryRun: Bool = false,
        now: Timestamp = .now,
        progress: ((_ done: Int, _ total: Int) -> Void)? = nil
    ) throws(ReportStoreError) -> PruneOutcome {
        guard let folder = try openReports() else { return PruneOutcome() }
        let limits = limits ?? self.limits ?? .unlimited
        // What nobody has read yet is read before others have to wait.
        var scan = try scan(folder, progress: progress)
        guard !dryRun else { return scan.outcome(of: scan.plan(limits, target: limits, now: now)) }
        try lock(folder)
        let before = scan.entries
        scan = try StoreScan(self, folder)
        scan.learn(before, folder)
        scan.readUnknown(folder)
        return prune(&scan, scan.plan(limits, target: limits, now: now), in: folder, now: now)
    }

    /// Sees to the limits and to the index after a report was written.
    ///
    /// The folder must be locked. The report is in the store, whatever happens here.
    func maintain(_ folder: borrowing FileDirectory, tally: StoreTally, now: Timestamp = .now) {
        guard let limits else {
            if tally.isFragmented, let scan = try? StoreScan(self, folder) { try? scan.save(folder) }
            return
        }
        let isFull = tally.reports.map { $0 > limits.reports ?? .max } ?? true || tally.bytes > limits.bytes ?? .max
        guard isFull || tally.isFragmented || limits.isAgeDue(since: tally.pruned, now: now),
            var scan = try? StoreScan(self, folder)
        else { return }
        scan.countSizes(folder)
        if scan.exceeds(limits, now: now) {
            scan.readUnknown(folder)
            _ = prune(&scan, scan.plan(limits, target: limits.lowWater, now: now), in: folder, now: now)
        } else {
            try? scan.save(folder, pruned: now)
        }
    }

    private func prune(
        _ scan: inout StoreScan,
        _ plan: PrunePlan,
        in folder: borrowing FileDirectory,
        now: Timestamp
    ) -> PruneOutcome {
        var outcome = PruneOutcome(keptReports: plan.keptReports, keptBytes: plan.keptBytes)
        var removed: Set<PackedID> = []
        for removal in plan.removals {
            do throws(Errno) {
                do { try folder.remove(Self.fileName(removal.id)) } catch .noSuchFileOrDirectory {}
                outcome.removed.append(removal)
                removed.insert(PackedID(removal.id))
            } catch {
                outcome.problems.append(ReportStoreError(.unwritable, path(of: removal.id), error))
                outcome.keptReports += 1
                outcome.keptBytes += removal.bytes
            }
        }
        for name in scan.listing.temporaries { try? folder.remove(name) }
        scan.forget(removed)
        try? scan.save(folder, pruned: now)
        return outcome
    }
}

extension ReportStore.Limits {
    /// Down to where a writer prunes, so that it need not with the next report again.
    var lowWater: ReportStore.Limits {
        ReportStore.Limits(reports: reports.map { $0 - $0 / 10 }, bytes: bytes.map { $0 - $0 / 10 }, age: age)
    }

    /// Whether it is time to look for reports that are too old.
    func isAgeDue(since pruned: Timestamp, now: Timestamp) -> Bool {
        guard let age else { return false }
        let pause = min(age / .seconds(1) / 16, 3600)
        // A time that lies ahead is no reason to wait for it.
        return pruned > now || pruned.adding(seconds: pause) <= now
    }
}

extension StoreScan {
    func plan(_ limits: ReportStore.Limits, target: ReportStore.Limits, now: Timestamp) -> PrunePlan {
        var items = entries.map {
            PrunePlan.Item(
                id: $0.id,
                bytes: $0.file.bytes,
                fingerprint: $0.fingerprint,
                last: max($0.last, $0.timestamp)
            )
        }
        for failure in failures where failure.error.isOfReport {
            items.append(
                PrunePlan.Item(
                    id: failure.file.id,
                    bytes: failure.bytes,
                    fingerprint: nil,
                    isUnreadable: failure.error.code != .unsupportedVersion,
                    last: failure.file.id.time
                )
            )
        }
        items.sort { $0.id < $1.id }
        return PrunePlan(items, limits: limits, target: target, now: now)
    }

    func outcome(of plan: PrunePlan) -> PruneOutcome {
        PruneOutcome(removed: plan.removals, keptReports: plan.keptReports, keptBytes: plan.keptBytes)
    }

    /// Whether there may be something to remove.
    func exceeds(_ limits: ReportStore.Limits, now: Timestamp) -> Bool {
        let bytes = entries.reduce(unknownBytes) { $0.addingClamped($1.file.bytes) }
        if listing.files.count > limits.reports ?? .max || bytes > limits.bytes ?? .max { return true }
        guard let age = limits.age, let oldest = listing.files.first else { return false }
        return oldest.id.time < now.adding(seconds: -(age / .seconds(1)))
    }
}

extension ReportStoreError {
    /// Whether the file is this user's, and meant for a report.
    var isOfReport: Bool { code == .damaged || code == .unsupportedVersion || code == .tooLarge }
}
