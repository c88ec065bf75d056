import CrashReports
import LinuxSystem
import Symbolication
import SystemPackage

/// Finds what is new in a store from look to look.
struct StoreFollower {
    /// How often records of processes that died are looked for, in looks.
    private static let finishingInterval = 4
    /// What is remembered of what was said; names of files differ.
    private static let mostProblems = 10000

    private let store: ReportStore
    private var known: Set<ReportFile> = []
    /// Whether there was a store at the last look.
    private(set) var hasStore = false
    private var looks = 0
    private var lastChange: Int64?
    private var problems: Set<String> = []

    init(store: ReportStore) {
        self.store = store
    }

    /// The reports that were written since the last look, the oldest first.
    mutating func next() throws(ReportStoreError) -> [ReportID] {
        // A store that is refused is not worked in.
        if looks == 0 { _ = try store.reportFiles() }
        // A process that died leaves its records to whoever comes.
        if looks % Self.finishingInterval == 0 {
            let outcome = SpoolFinisher(store: store).finish()
            for end in outcome.silentEnds { complain(end.text) }
            for problem in outcome.problems { complain(problem) }
        }
        looks += 1
        guard let status = try? FileStatus(of: store.reportsPath) else {
            // There may be something else than a store that has no reports yet.
            _ = try store.reportFiles()
            hasStore = false
            return []
        }
        hasStore = true
        // The folder's time changes with every name in it. The clock of file systems ticks in milliseconds: what is as young as
        // that is looked at again.
        let isYoung = Timestamp.now.microsecondsSinceEpoch - status.modified / 1000 < 1_000_000
        guard isYoung || status.modified != lastChange else { return [] }
        let files = try store.reportFiles()
        lastChange = status.modified
        let new = files.filter { !known.contains($0) }
        known = Set(files)
        return new.reversed().map(\.id)
    }

    /// Says what is wrong, once.
    mutating func complain(_ problem: String) {
        // Who has been told of so many things knows.
        guard problems.count < Self.mostProblems, problems.insert(problem).inserted else { return }
        Output.complain(problem)
    }
}
