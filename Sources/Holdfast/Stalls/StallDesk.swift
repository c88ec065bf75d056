internal import CrashCapture
internal import CrashReports
internal import Symbolication

/// Writes the reports of stalls.
///
/// For one thread.
struct StallDesk {
    private let store: ReportStore
    private let capture: CrashCapture
    private var contents: SpoolContents?
    private var imagesVersion: UInt32 = 0
    /// Reads no file: for the first report of a process, which must not wait for names.
    private var plainBuilder: ReportBuilder?
    private var builder: ReportBuilder?
    /// Which report counts the stalls of a cause, of this process.
    private var groups: [Fingerprint: ReportID] = [:]

    /// Causes that are told apart; the stalls of further ones have a report each.
    private static let mostGroups = 1024

    init(store: ReportStore, capture: CrashCapture) {
        self.store = store
        self.capture = capture
    }

    /// The process as it is now; nil if its spool file cannot be read.
    mutating func readProcess() -> (SpoolContents?, [UInt8]) {
        let version = capture.imagesVersion
        let bytes = capture.spoolBytes()
        if contents == nil || version != imagesVersion {
            contents = try? SpoolContents(bytes: bytes)
            imagesVersion = version
        }
        return (contents, bytes)
    }

    /// Writes the report of a stall, in the place of the one that it has.
    ///
    /// - Parameters:
    ///   - stall: The stall.
    ///   - over: The same when it was over: then it is counted with others of its cause; nil while it lasts.
    ///   - ticks: How regularly the loop ticked.
    /// - Throws: `ReportStoreError`.
    mutating func write(_ stall: OngoingStall, over: Stall?, ticks: CrashReport.Stall.Ticks?) throws(ReportStoreError) {
        guard let contents else { return }
        if builder == nil {
            // Names take a while the first time: until then, the report says where, and not what it is called.
            let plain = plainBuilder ?? ReportBuilder(process: contents.process, namesFunctions: false)
            plainBuilder = plain
            try store.write(stall.report(over: nil, plain, images: contents.images, ticks: ticks))
        }
        let builder = self.builder ?? ReportBuilder(process: contents.process)
        self.builder = builder
        plainBuilder = nil
        let report = stall.report(over: over, builder, images: contents.images, ticks: ticks)
        guard over != nil else { return try store.write(report) }
        let id = try store.finish(stall: report, countingIn: groups[report.fingerprint])
        if groups.count < Self.mostGroups || groups[report.fingerprint] != nil { groups[report.fingerprint] = id }
    }
}
