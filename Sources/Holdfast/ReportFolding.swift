internal import CrashReports

/// Decides which fault gets a report of its own and which only counts in one: a flood of equal faults must not bury the rest.
///
/// A pure state machine. Equal faults are those with the same signal at the same place with the same callers.
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
    private var groups: [Int: Group] = [:]

    private struct Group {
        var count = 0
        var report: ReportID?
    }

    init(individual: Int = 32) {
        self.individual = individual
    }

    /// What is done with the next fault of a kind.
    mutating func next(_ key: Int) -> Action {
        // A process with so many different faults is beyond folding; forgetting costs reports, not memory.
        if groups.count > 4096 { groups = [:] }
        groups[key, default: Group()].count += 1
        guard let group = groups[key], group.count > individual else { return .write }
        return group.report.map(Action.count) ?? .writeGroup
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
    static func key(of record: FaultRecord) -> Int {
        var hasher = Hasher()
        hasher.combine(record.signal)
        hasher.combine(record.code)
        hasher.combine(record.verdict)
        hasher.combine(record.frames.prefix(16))
        return hasher.finalize()
    }
}
