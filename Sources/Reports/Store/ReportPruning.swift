internal import LinuxSystem
internal import SystemPackage

extension ReportStore {
    /// How much a store may hold.
    ///
    /// When it holds more, files that are no readable reports go first, but for reports of newer versions. Then duplicates go, the
    /// oldest before the others: reports that are neither the first nor the last of their fingerprint. Then whole groups go,
    /// beginning with the one whose fault was seen last the longest ago.
    public struct Limits: Sendable, Hashable {
        /// How many reports; nil for any number.
        public var reports: Int?
        /// How many bytes the files of the reports have together; nil for any number.
        public var bytes: Int?
        /// How long ago a fault may have happened for the last time; nil for any time.
        ///
        /// The first report of a group that still happens stays, however old it is.
        public var age: Duration?

        /// Makes limits; what is not given is not limited, and negative numbers count as zero.
        public init(reports: Int? = nil, bytes: Int? = nil, age: Duration? = nil) {
            self.reports = reports.map { max(0, $0) }
            self.bytes = bytes.map { max(0, $0) }
            self.age = age.map { max(.zero, $0) }
        }

        /// 1,000 reports, 256 MiB, 90 days.
        public static let `default` = Limits(reports: 1000, bytes: 256 << 20, age: .seconds(90 * 86400))

        /// Nothing is limited.
        public static let unlimited = Limits()
    }
}

/// What pruning removed, or would remove.
package struct PruneOutcome: Sendable, Hashable {
    /// A report that was removed, or would be.
    package struct Removal: Sendable, Hashable {
        /// Why it went.
        package enum Cause: String, Sendable, Hashable {
            /// It is no report that can be read, and none of a newer version.
            case unreadable
            /// Its group has an older and a newer one.
            case duplicate
            /// Its fault did not happen again for longer than the limit.
            case tooOld
            /// There was no duplicate left to remove, and its fault was seen last the longest ago.
            case oldestGroup
        }

        /// The identifier of the report.
        package var id: ReportID
        /// The size of its file.
        package var bytes: Int
        /// Why it went.
        package var cause: Cause
    }

    /// What was removed, in this order.
    package var removed: [Removal] = []
    /// How many reports are left.
    package var keptReports = 0
    /// How many bytes they have together.
    package var keptBytes = 0
    /// Files that could not be removed, each with the reason.
    package var problems: [ReportStoreError] = []

    /// How many bytes were removed.
    package var removedBytes: Int { removed.reduce(0) { $0 + $1.bytes } }
}

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
    package func prune(
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

/// Decides which reports go when a store holds more than it may.
///
/// Pure: it knows nothing of files.
struct PrunePlan {
    /// A report, as far as it matters here.
    struct Item {
        var id: PackedID
        var bytes: Int
        /// Nil where it is not known, as in reports of newer versions: each is a group of its own.
        var fingerprint: String?
        /// Whether it is no report that anybody could read.
        var isUnreadable = false
        /// When its fault happened last.
        var last: Timestamp
    }

    private(set) var removals: [PruneOutcome.Removal] = []
    private(set) var keptReports: Int
    private(set) var keptBytes: Int

    /// A group, its items by their numbers, the oldest first.
    private struct Group {
        var items: [Int] = []
        var last: Timestamp
    }

    private let items: [Item]
    private var isKept: [Bool]

    /// Makes a plan.
    ///
    /// - Parameters:
    ///   - items: The reports, the oldest first.
    ///   - limits: What makes a removal necessary.
    ///   - target: What is left then; at most the limits.
    ///   - now: The present.
    init(_ items: [Item], limits: ReportStore.Limits, target: ReportStore.Limits, now: Timestamp) {
        self.items = items
        isKept = [Bool](repeating: true, count: items.count)
        keptReports = items.count
        keptBytes = items.reduce(0) { $0.addingClamped($1.bytes) }
        let groups = Self.groups(of: items)
        if let age = limits.age { removeOld(groups, before: now.adding(seconds: -(age / .seconds(1)))) }
        guard exceeds(limits) else { return }
        removeUnreadable(until: target)
        removeDuplicates(groups, until: target)
        removeGroups(groups, until: target)
    }

    private static func groups(of items: [Item]) -> [Group] {
        var numbers: [String: Int] = [:]
        var groups: [Group] = []
        for (index, item) in items.enumerated() {
            guard let fingerprint = item.fingerprint else {
                groups.append(Group(items: [index], last: item.last))
                continue
            }
            if let number = numbers[fingerprint] {
                groups[number].items.append(index)
                groups[number].last = max(groups[number].last, item.last)
            } else {
                numbers[fingerprint] = groups.count
                groups.append(Group(items: [index], last: item.last))
            }
        }
        return groups
    }

    private mutating func removeOld(_ groups: [Group], before time: Timestamp) {
        for group in groups {
            if group.last < time {
                for index in group.items { remove(index, .tooOld) }
            } else {
                // The first stays: when a fault that goes on began is what one wants to know of it.
                for index in group.items.dropFirst().dropLast() where items[index].last < time {
                    remove(index, .tooOld)
                }
            }
        }
    }

    /// Before any report: however young their names are, they tell nobody anything.
    private mutating func removeUnreadable(until limits: ReportStore.Limits) {
        for index in items.indices where items[index].isUnreadable {
            guard exceeds(limits) else { return }
            remove(index, .unreadable)
        }
    }

    private mutating func removeDuplicates(_ groups: [Group], until limits: ReportStore.Limits) {
        guard exceeds(limits) else { return }
        for index in groups.flatMap({ $0.items.dropFirst().dropLast() }).sorted() {
            guard exceeds(limits) else { return }
            remove(index, .duplicate)
        }
    }

    private mutating func removeGroups(_ groups: [Group], until limits: ReportStore.Limits) {
        guard exceeds(limits) else { return }
        let order = groups.indices.sorted { (groups[$0].last, $0) < (groups[$1].last, $1) }
        for number in order {
            for index in groups[number].items {
                guard exceeds(limits) else { return }
                remove(index, .oldestGroup)
            }
        }
    }

    private func exceeds(_ limits: ReportStore.Limits) -> Bool {
        keptReports > limits.reports ?? .max || keptBytes > limits.bytes ?? .max
    }

    private mutating func remove(_ index: Int, _ cause: PruneOutcome.Removal.Cause) {
        guard isKept[index] else { return }
        isKept[index] = false
        let item = items[index]
        keptReports -= 1
        keptBytes -= item.bytes
        removals.append(.init(id: item.id.reportID, bytes: item.bytes, cause: cause))
    }
}
