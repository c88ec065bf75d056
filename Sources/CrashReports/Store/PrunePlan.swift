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
