internal import CrashCapture
internal import CrashReports
internal import Logging
internal import Symbolication
internal import Synchronization

/// Logs each fault in one line: as soon as its names are known, or without them if the report writer is held up.
final class FaultTeller: Sendable {
    private struct State {
        /// What was told of the last faults, by their numbers.
        var told: [Int: CrashMessage.Known] = [:]
        /// The numbers of these faults, the oldest first.
        var order: [Int] = []
        /// What is needed to put a record into words; made when it is first needed.
        var process: SpoolProcess?
        /// What reports have told of faults, by their places (`ReportFolding.key`).
        var known: [Int: Words] = [:]
    }

    /// What is said of a fault.
    struct Words {
        /// What went wrong.
        var reason: String
        /// The function and the line; nil until a report has found them.
        var place: String?
    }

    /// How many places are remembered; then it begins anew.
    private static let mostPlaces = 1024

    /// How many faults are kept for later questions.
    private static let mostTold = 256

    /// Protected by its lock.
    private let state = Mutex(State())
    private let capture: CrashCapture
    private let health: StoreHealth
    private let logger: Logger

    init(capture: CrashCapture, health: StoreHealth, logger: Logger) {
        self.capture = capture
        self.health = health
        self.logger = logger
    }

    /// Logs the line of a fault whose report was just made, unless that was done.
    ///
    /// Called on the report writer's thread.
    ///
    /// - Parameters:
    ///   - report: The report.
    ///   - place: The key of the fault's place (`ReportFolding.key`).
    func tell(_ report: CrashReport, _ place: Int) {
        guard let number = report.fault?.number else { return }
        state.withLock { state in
            if state.known.count >= Self.mostPlaces { state.known = [:] }
            state.known[place] = Words(reason: report.reason, place: report.place)
        }
        let known = known(of: report)
        guard keep(known, of: number) else { return }
        let level: Logger.Level = report.recovery?.quarantined == true ? .error : .warning
        logger.log(level: level, "\(known.line)")
    }

    /// Logs that faults were counted in the report of an equal one.
    ///
    /// Called on the report writer's thread.
    func tell(of count: Int, countedIn id: ReportID) {
        let faults = count == 1 ? "1 more fault" : "\(count) more faults"
        logger.warning("\(faults) resumed, equal to that of report \(id.rawValue.prefix(12))")
    }

    /// Logs what is known of a fault whose line is late: the disk may stand still.
    ///
    /// Called on the main thread.
    func tellLate(_ message: CrashMessage) {
        let known = outline(ofFault: message.number).map(known(of:)) ?? CrashMessage.Known(line: message.plain)
        guard keep(known, of: message.number) else { return }
        logger.warning("\(known.line), its report is not written yet")
        // Else the next process would log it once more.
        capture.noteTold(ofFault: message.number)
    }

    /// Whether the log has the line of a fault.
    func hasTold(ofFault number: Int) -> Bool { state.withLock { $0.told[number] != nil } }

    /// What is known of a fault; nil if nothing is left of it.
    ///
    /// Callable from any thread, in ordinary code.
    func known(ofFault number: Int) -> CrashMessage.Known? {
        state.withLock { $0.told[number] } ?? outline(ofFault: number).map(known(of:))
    }

    private func known(of report: CrashReport) -> CrashMessage.Known {
        let isStored = !health.isUnusable
        return CrashMessage.Known(
            line: report.faultLine(isStored: isStored, isAlive: true),
            report: isStored ? report.id : nil,
            label: report.loop?.callout?.label
        )
    }

    /// Keeps what was told; returns false if the fault was told before.
    private func keep(_ known: CrashMessage.Known, of number: Int) -> Bool {
        state.withLock { state in
            guard state.told[number] == nil else { return false }
            state.told[number] = known
            state.order.append(number)
            if state.order.count > Self.mostTold { state.told[state.order.removeFirst()] = nil }
            return true
        }
    }

    /// A report of the record alone, without the images that give names; nil if the record is gone.
    private func outline(ofFault number: Int) -> CrashReport? {
        guard let record = record(ofFault: number), let process else { return nil }
        return ReportBuilder(process: process, namesFunctions: false).report(of: record, images: [])
    }

    /// The id of a fault's report, and what is known of the fault.
    ///
    /// Names take time, and in an optimised build only they tell which check failed. So the first fault at a place has the words of its
    /// record, and later ones those of the report that was made meanwhile. Callable from any thread, in ordinary code.
    ///
    /// - Parameters:
    ///   - number: Which fault of the process it was.
    ///   - time: When it was captured, in nanoseconds of CLOCK_REALTIME.
    /// - Returns: Both, and whether reports can be stored; a general word where the record is gone.
    func report(ofFault number: Int, at time: Int64) -> (id: ReportID, isStored: Bool, words: Words) {
        let isStored = !health.isUnusable
        let time = Timestamp(microsecondsSinceEpoch: time / 1000)
        let process = process
        let builder = process.map { ReportBuilder(process: $0, namesFunctions: false) }
        if let builder, let record = record(ofFault: number) {
            let place = ReportFolding.key(of: record)
            let words = state.withLock { $0.known[place] } ?? Words(reason: builder.reason(of: record))
            return (builder.id(of: record), isStored, words)
        }
        // Its slot may be another fault's by now, if the report was fast.
        let id = builder?.id(ofFault: number, at: time) ?? ReportID(time: time)
        return (id, isStored, Words(reason: known(ofFault: number)?.line ?? "a fault"))
    }

    private func record(ofFault number: Int) -> FaultRecord? {
        guard let bytes = capture.recordBytes(ofFault: number), let record = FaultRecord(bytes: bytes) else {
            return nil
        }
        return record.number == number ? record : nil
    }

    private var process: SpoolProcess? {
        if let known = state.withLock({ $0.process }) { return known }
        let made = try? SpoolContents.process(bytes: capture.spoolHead())
        state.withLock { $0.process = made }
        return made
    }
}
