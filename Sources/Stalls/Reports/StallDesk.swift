internal import CrashCapture
internal import CrashReports
internal import Symbolication
internal import SystemPackage

/// Writes the reports of stalls, one after the other on a thread of its own: names and disks take time, and looks must not wait.
final class StallDesk: @unchecked Sendable {
    private let store: ReportStore
    private let capture: CrashCapture
    private let herald: StallHerald
    private let thread = SerialThread(name: "holdfast-stalled")
    // Of the thread alone.
    /// Ends of stalls that could not be written.
    private var failed: [Job] = []
    private var images: [CrashReport.Image] = []
    private var imagesVersion: UInt32?
    private var builder: ReportBuilder?
    /// Which report counts the stalls of a cause, of this process.
    private var groups: [Fingerprint: ReportID] = [:]

    /// What is to be written.
    private struct Job {
        var stall: OngoingStall
        var over: Stall?
        var ticks: CrashReport.Stall.Ticks?
    }

    /// Ends that are kept to be tried again.
    private static let mostFailed = 16
    /// Causes that are told apart; the stalls of further ones have a report each.
    private static let mostGroups = 1024

    init(store: ReportStore, capture: CrashCapture, herald: StallHerald) {
        self.store = store
        self.capture = capture
        self.herald = herald
    }

    /// Starts the thread; it runs until the process ends.
    func start() throws(Errno) { try thread.start() }

    /// Has the report of a stall written, in the place of the one that it has.
    ///
    /// - Parameters:
    ///   - stall: The stall.
    ///   - over: The same when it was over: then it is counted with others of its cause; nil while it lasts.
    ///   - ticks: How regularly the loop ticked.
    func write(_ stall: OngoingStall, over: Stall?, ticks: CrashReport.Stall.Ticks?) {
        thread.perform { [self] in
            retry()
            attempt(Job(stall: stall, over: over, ticks: ticks))
        }
    }

    /// Calls a closure when all is written.
    func perform(_ body: @escaping @Sendable () -> Void) {
        thread.perform { [self] in
            retry()
            body()
        }
    }

    // MARK: The thread

    /// What could not be written is tried again with what comes next.
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
            // What is in the store stays; while the stall lasts, its next state comes soon.
            if job.over != nil, failed.count < Self.mostFailed { failed.append(job) }
        }
    }

    private func put(_ stall: OngoingStall, _ over: Stall?, _ ticks: CrashReport.Stall.Ticks?) throws(ReportStoreError)
    {
        readImages(stall)
        if builder == nil {
            // Names take a while the first time: until then, the report says where, and not what it is called.
            let plain = ReportBuilder(process: stall.process.process, namesFunctions: false)
            try store.write(stall.report(over: nil, plain, images: images, ticks: ticks))
        }
        let builder = self.builder ?? ReportBuilder(process: stall.process.process)
        self.builder = builder
        let report = stall.report(over: over, builder, images: images, ticks: ticks)
        guard over != nil else { return try store.write(report) }
        let id = try store.finish(stall: report, countingIn: groups[report.fingerprint])
        if groups.count < Self.mostGroups || groups[report.fingerprint] != nil { groups[report.fingerprint] = id }
    }

    /// Libraries may have come since the stall was found.
    private func readImages(_ stall: OngoingStall) {
        let version = capture.imagesVersion
        guard version != imagesVersion else { return }
        images = (try? SpoolContents.images(bytes: capture.spoolBytes())) ?? stall.process.images
        imagesVersion = version
    }
}
