internal import CrashCapture
internal import CrashReports
internal import Symbolication
internal import SystemPackage

/// Writes the reports of stalls one at a time on its own thread, because names and disks take time and sampling must not wait.
final class StallDesk: @unchecked Sendable {
    /// Nil where there is no place for reports: the log tells of stalls alone.
    private let store: ReportStore?
    private let capture: CrashCapture
    private let herald: StallHerald
    /// Says what the tasks in fault boundaries do; nil if there are none.
    private let dumpTasks: @Sendable () -> TaskDump?
    private let thread = SerialThread(name: "holdfast-stalled")
    // Used on the thread only.
    /// Final reports that could not be written.
    private var failed: [Job] = []
    private var images: [CrashReport.Image] = []
    private var imagesVersion: UInt32?
    private var builder: ReportBuilder?
    /// What the tasks did when a stall that lasts was first written, by its number.
    private var tasks: [UInt64: TaskDump] = [:]
    /// For each cause, the report that counts its stalls in this process.
    private var groups: [Fingerprint: ReportID] = [:]

    /// A report to write.
    private struct Job {
        var stall: OngoingStall
        var over: Stall?
        var ticks: CrashReport.Stall.Ticks?
    }

    /// The maximum number of failed final reports kept for another attempt.
    private static let mostFailed = 16
    /// The maximum number of causes to group by; stalls of further causes get a report each.
    private static let mostGroups = 1024

    init(
        store: ReportStore?,
        capture: CrashCapture,
        herald: StallHerald,
        dumpTasks: @escaping @Sendable () -> TaskDump?
    ) {
        self.dumpTasks = dumpTasks
        self.store = store
        self.capture = capture
        self.herald = herald
    }

    /// Starts the thread; it runs until the process ends.
    func start() throws(Errno) { try thread.start() }

    /// Writes the report of a stall in place of its previous version.
    ///
    /// - Parameters:
    ///   - stall: The stall.
    ///   - over: The stall when it was over, to be counted with others of its cause; nil while it lasts.
    ///   - ticks: How regularly the loop ticked.
    func write(_ stall: OngoingStall, over: Stall?, ticks: CrashReport.Stall.Ticks?) {
        thread.perform { [self] in
            retry()
            attempt(Job(stall: stall, over: over, ticks: ticks))
        }
    }

    /// Calls a closure once everything before it is written.
    func perform(_ body: @escaping @Sendable () -> Void) {
        thread.perform { [self] in
            retry()
            body()
        }
    }

    // MARK: The thread

    /// Tries failed reports again before the next job.
    private func retry() {
        let jobs = failed
        failed = []
        for job in jobs { attempt(job) }
    }

    private func attempt(_ job: Job) {
        do {
            try put(job.stall, job.over, job.ticks)
        } catch {
            herald.complain("cannot write the report of a stall: \(error)")
            // The previous version stays in the store. While the stall lasts, an update follows soon.
            if job.over != nil, failed.count < Self.mostFailed { failed.append(job) }
        }
    }

    private func put(_ stall: OngoingStall, _ over: Stall?, _ ticks: CrashReport.Stall.Ticks?) throws(ReportStoreError)
    {
        guard let store else { return }
        readImages(stall)
        if builder == nil {
            // The first name lookup takes a while: until then the report has addresses without names.
            let plain = ReportBuilder(process: stall.process.process, namesFunctions: false)
            try store.write(stall.report(over: nil, plain, images: images, ticks: ticks))
        }
        let builder = self.builder ?? ReportBuilder(process: stall.process.process)
        self.builder = builder
        let stall = withTasks(stall, isOver: over != nil)
        let report = stall.report(over: over, builder, images: images, ticks: ticks)
        guard over != nil else { return try store.write(report) }
        let id = try store.finish(stall: report, countingIn: groups[report.fingerprint])
        if groups.count < Self.mostGroups || groups[report.fingerprint] != nil { groups[report.fingerprint] = id }
    }

    /// Adds what the tasks do, once, while the stall lasts.
    private func withTasks(_ stall: OngoingStall, isOver: Bool) -> OngoingStall {
        let number = stall.stall.number
        if !isOver, tasks[number] == nil, stall.stall.isLasting() { tasks[number] = dumpTasks() }
        var stall = stall
        stall.tasks = tasks[number]
        if isOver { tasks[number] = nil }
        return stall
    }

    /// Reads the images again if libraries were loaded since the stall was found.
    private func readImages(_ stall: OngoingStall) {
        let version = capture.imagesVersion
        guard version != imagesVersion else { return }
        images = (try? SpoolContents.images(bytes: capture.spoolHead())) ?? stall.process.images
        imagesVersion = version
    }
}
