internal import CrashReports

/// Decides which fault gets a report of its own and which only counts in one: a flood of equal faults must not bury the rest.
///
/// A pure state machine. Equal faults are those with the same signal at the same place with the same callers, in the same callout and
/// with the same outcome.
struct ReportFolding {
    /// What is done with a fault.
    enum Action: Equatable {
        /// It gets a report of its own.
        case write
        /// It gets a report that later ones are counted in.
        case writeGroup
        /// It is counted in that report.
        case count(ReportID)
    }

    /// Equal faults with a report each; the next begins the group.
    let individual: Int
    /// A flood is over when there was no such fault for so long, in seconds: what comes then is news.
    let pause: Double
    private var groups: [Int: Group] = [:]

    private struct Group {
        var count = 0
        var last: Timestamp
        var report: ReportID?
    }

    /// Makes one without groups; as `ReportStore.Folding.default` has it if nothing is said.
    init(individual: Int = 32, pause: Double = 300) {
        self.individual = individual
        self.pause = pause
    }

    /// What is done with the next fault of a kind.
    mutating func next(_ key: Int, at time: Timestamp) -> Action {
        // A process with so many different faults is beyond folding; forgetting costs reports, not memory.
        if groups.count > 4096 { groups = [:] }
        var group = groups[key] ?? Group(last: time)
        // A clock that was set back says nothing of a pause.
        if time > group.last.adding(seconds: pause) { group = Group(last: time) }
        group.count += 1
        // Faults of several threads, and those that are written again, come in any order.
        group.last = max(group.last, time)
        groups[key] = group
        guard group.count > individual else { return .write }
        return group.report.map(Action.count) ?? .writeGroup
    }

    /// Notes that the fault which was asked about stands for others, the last of which came later.
    mutating func lasted(_ key: Int, until last: Timestamp) {
        guard let group = groups[key] else { return }
        groups[key]?.last = max(group.last, last)
    }

    /// Notes the report that the group's further faults are counted in.
    mutating func began(_ key: Int, _ report: ReportID) {
        groups[key]?.report = report
    }

    /// The report is gone: the next fault begins another.
    mutating func lost(_ key: Int) {
        groups[key]?.report = nil
    }

    /// What makes faults equal.
    ///
    /// - Parameters:
    ///   - record: The record of a fault.
    ///   - numbersMatter: Whether the items `client 7` and `client 12` are different ones; of quarantined ones, each is named.
    /// - Returns: The same number for equal faults.
    static func key(of record: FaultRecord, numbersMatter: Bool = true) -> Int {
        var hasher = Hasher()
        hasher.combine(record.signal)
        hasher.combine(record.code)
        hasher.combine(record.verdict)
        hasher.combine(record.frames.prefix(16))
        // One closure may be that of several items: its label says whose fault it is.
        hasher.combine(record.loop?.callout?.kind)
        let label = record.loop?.callout?.label
        let isQuarantined = record.facts.contains(.quarantined)
        hasher.combine(numbersMatter || isQuarantined ? label : label?.filter { !$0.isNumber })
        hasher.combine(isQuarantined)
        return hasher.finalize()
    }
}
