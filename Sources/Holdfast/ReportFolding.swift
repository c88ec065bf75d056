internal import CrashReports

/// Decides which fault gets a report of its own and which only counts in one: a flood of equal faults must not bury the rest.
///
/// A pure state machine. Equal faults have the same signal at the same place with the same callers, in the same callout and with the same
/// outcome.
struct ReportFolding {
    /// What is done with a fault.
    enum Action: Equatable {
        /// It gets a report of its own.
        case write
        /// It gets a report in which later ones are counted.
        case writeGroup
        /// It is counted in that report.
        case count(ReportID)
    }

    /// How many equal faults have a report each; the next one begins the group.
    let individual: Int
    /// After how many seconds without such a fault a flood is over; then the next one counts as new.
    let pause: Double
    private var groups: [Int: Group] = [:]

    private struct Group {
        var count = 0
        var last: Timestamp
        var report: ReportID?
    }

    /// Makes one without groups, with the defaults of `ReportStore.Folding.default`.
    init(individual: Int = 32, pause: Double = 300) {
        self.individual = individual
        self.pause = pause
    }

    /// What is done with the next fault of a kind.
    mutating func next(_ key: Int, at time: Timestamp) -> Action {
        // A process with so many different faults cannot be folded. Forgetting costs reports, not memory.
        if groups.count > 4096 { groups = [:] }
        var group = groups[key] ?? Group(last: time)
        // If the clock was set back, there is no pause.
        if time > group.last.adding(seconds: pause) { group = Group(last: time) }
        group.count += 1
        // Faults of several threads, and those that are written again, come in any order.
        group.last = max(group.last, time)
        groups[key] = group
        if let report = group.report { return .count(report) }
        return group.count > individual ? .writeGroup : .write
    }

    /// Notes that the fault of the last `next` stands for others, the last of which came later.
    mutating func lasted(_ key: Int, until last: Timestamp) {
        guard let group = groups[key] else { return }
        groups[key]?.last = max(group.last, last)
    }

    /// Notes the report that the group's further faults are counted in, however few there were.
    mutating func began(_ key: Int, _ report: ReportID) {
        groups[key]?.report = report
    }

    /// Notes that a report is gone: the next fault of each kind that was counted in it begins another.
    mutating func lost(_ report: ReportID) {
        for (key, group) in groups where group.report == report { groups[key]?.report = nil }
    }

    /// The key that equal faults share.
    ///
    /// - Parameters:
    ///   - record: The record of a fault.
    ///   - numbersMatter: Whether the items `client 7` and `client 12` differ. For quarantined items they always do.
    /// - Returns: The same number for equal faults.
    static func key(of record: FaultRecord, numbersMatter: Bool = true) -> Int {
        var hasher = Hasher()
        hasher.combine(record.signal)
        hasher.combine(record.code)
        hasher.combine(record.verdict)
        hasher.combine(record.frames.prefix(16))
        // One closure may belong to several items; the label says whose fault it is.
        hasher.combine(record.loop?.callout?.kind)
        let label = record.loop?.callout?.label
        let isQuarantined = record.facts.contains(.quarantined)
        hasher.combine(numbersMatter || isQuarantined ? label : label?.filter { !$0.isNumber })
        hasher.combine(isQuarantined)
        return hasher.finalize()
    }
}
