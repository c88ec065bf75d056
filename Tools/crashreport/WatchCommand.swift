import ArgumentParser
import CrashReports
import Glibc
import LinuxSystem
import Symbolication
import SystemPackage

/// Follows a store.
struct WatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Print a line for every fault as it happens.",
        discussion: """
            Goes on until it is interrupted (Ctrl-C) or nobody reads its output any more. The store need not exist yet. A \
            report that is counted up is printed again, once per look at the store at most.

            EXAMPLES:
              crashreport watch
              crashreport watch --last 10 --process mail-agent
              crashreport watch --json-lines | while read -r line; do notify "$line"; done
            """
    )

    @OptionGroup
    var options: StoreOptions

    @OptionGroup(title: "Filters")
    var filter: FilterOptions

    @Option(help: ArgumentHelp("Begin with so many of the reports that are there.", valueName: "n"))
    var last = 0

    @Flag(help: "Print a JSON object per line for programs.")
    var jsonLines = false

    func validate() throws {
        if last < 0 { throw ValidationError("The number of reports to begin with must not be negative.") }
    }

    func run() throws {
        let store: ReportStore
        do {
            store = try options.open()
        } catch {
            throw Failure.exit(for: error)
        }
        var follower = StoreFollower(store: store)
        // What is there is known; what of it is wanted is listed.
        _ = follower.next()
        if !follower.hasStore { Output.complain("there is no store at \(store.path) yet: waiting for it") }
        if last > 0 {
            let listing = try? store.summaries(matching: filter.filter, limit: last)
            for summary in (listing?.summaries ?? []).reversed() { try write(summary) }
        }
        while Self.isReaderThere(within: 250) {
            for id in follower.next() {
                guard let report = try? store.load(prefix: id.rawValue), filter.filter.matches(report) else { continue }
                try write(ReportSummary(report, path: store.path(of: id)))
            }
        }
    }

    private func write(_ summary: ReportSummary) throws {
        if jsonLines { return try Output.write(bytes: try JSONText.line(summary)) }
        try Output.write(ReportLine(summary).text(Terminal.standardOutput.layout))
    }

    /// Waits, unless nobody can read the output any more.
    private static func isReaderThere(within milliseconds: CInt) -> Bool {
        // Without an event asked for, poll(2) tells only of the end of the other side.
        var descriptor = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        return unsafe poll(&descriptor, 1, milliseconds) <= 0
    }
}

/// Finds what is new in a store from look to look.
struct StoreFollower {
    /// How often records of processes that died are looked for, in looks.
    private static let finishingInterval = 4

    private let store: ReportStore
    private var known: Set<ReportFile> = []
    /// Whether there was a store at the last look.
    private(set) var hasStore = false
    private var looks = 0
    private var lastChange: Int64?
    private var lastProblem: String?

    init(store: ReportStore) {
        self.store = store
    }

    /// The reports that were written since the last look, the oldest first.
    mutating func next() -> [ReportID] {
        // A process that died leaves its records to whoever comes.
        if looks % Self.finishingInterval == 0 { complain(SpoolFinisher(store: store).finish().problems.first) }
        looks += 1
        guard let status = try? FileStatus(of: store.reportsPath) else {
            hasStore = false
            return []
        }
        hasStore = true
        // The folder's time changes with every name in it. The clock of file systems ticks in milliseconds: what is as young as
        // that is looked at again.
        let isYoung = Timestamp.now.microsecondsSinceEpoch - status.modified / 1000 < 1_000_000
        guard isYoung || status.modified != lastChange else { return [] }
        do {
            let files = try store.reportFiles()
            lastChange = status.modified
            let new = files.filter { !known.contains($0) }
            known = Set(files)
            return new.reversed().map(\.id)
        } catch {
            complain(error.description)
            return []
        }
    }

    /// Says what is wrong, once.
    private mutating func complain(_ problem: String?) {
        guard let problem, problem != lastProblem else { return }
        lastProblem = problem
        Output.complain(problem)
    }
}
