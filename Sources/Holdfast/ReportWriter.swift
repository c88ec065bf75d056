internal import CrashCapture
internal import CrashReports
internal import Glibc
internal import LinuxSystem
internal import Logging
internal import RunLoops
internal import Symbolication
internal import Synchronization
internal import SystemPackage

/// How much of the time the report writer works: in a flood a twentieth, so that those who are served keep the processor.
///
/// A pure state machine. Meanwhile records wait in the spool, where nothing is lost, and equal ones share a slot. Without it, a server of which
/// one request in a hundred trapped spent 0.75 of a processor on reports, and answered 0.4 of the requests (measured, two processors).
struct WritingEffort {
    /// Nanoseconds of work that may be done at once, for what is no flood.
    static let burst: Int64 = 200_000_000
    /// How many nanoseconds pass for one of work.
    static let share: Int64 = 20
    /// The longest rest.
    static let longestRest: Int64 = 3_000_000_000

    private var credit = Self.burst
    private var last: Int64

    /// Begins with the whole credit.
    ///
    /// - Parameter now: Nanoseconds of the monotonic clock.
    init(now: Int64) {
        last = now
    }

    /// Counts work, and says how long to rest from its end on, in nanoseconds.
    ///
    /// - Parameters:
    ///   - work: When it was done, in nanoseconds of the monotonic clock.
    ///   - hasReadSymbols: Whether symbols were read for it, which are kept for what comes next: of that, half of the credit counts.
    /// - Returns: 0 if there is credit left.
    mutating func rest(after work: Range<Int64>, hasReadSymbols: Bool = false) -> Int64 {
        let length = work.upperBound - work.lowerBound
        let counted = hasReadSymbols ? min(length, Self.burst / 2) : length
        credit = min(Self.burst, credit + (work.upperBound - last) / Self.share) - counted
        last = work.upperBound
        return credit >= 0 ? 0 : min(Self.longestRest, -credit * Self.share)
    }
}

/// Makes reports of decided records in the background, on a thread of its own.
///
/// A record is released only when its report is in the store. If it cannot be written, the next batch tries again.
final class ReportWriter: Sendable {
    private let capture: CrashCapture
    let store: ReportStore
    private let health: StoreHealth
    private let teller: FaultTeller
    private let details = FaultDetails()
    private let logger: Logger
    private let begin: @Sendable () -> Void
    private let prepare: @Sendable () -> Void
    /// Has what `prepare` may put off done now.
    ///
    /// Callable from any thread.
    let hasten: @Sendable () -> Void
    /// The spool of the process before this one, if that had no file.
    private let inherited: [UInt8]?
    /// Whether the log has the lines of that spool.
    private let hasToldInherited: Atomic<Bool>
    /// Protected by its lock, as are the records that wait in it.
    private let waiting = Mutex(RecordBacklog())
    /// How many writes have failed.
    private let failures = Atomic<UInt32>(0)
    private let wake = Semaphore()
    private let drained = Semaphore()
    /// How many wait for the store to be up to date.
    private let flushers = Atomic<Int>(0)
    private let answers = TaskAnswers()
    /// Whether what dead processes left is being finished, or that is not told yet.
    private let isFinishing = Atomic(false)
    /// What has become of that, until it is told.
    private let finished = Mutex<(outcome: SpoolFinisher.Outcome, lines: [Line])?>(nil)
    /// Ends a rest of the thread.
    private let hurry = Semaphore()
    /// Called, once, when the writer is idle.
    private let idle = Mutex<(@Sendable () -> Void)?>(nil)

    /// Makes a writer.
    ///
    /// `begin` and `prepare` are called on its thread, before anything else: threads that `begin` starts do not give way as the writer does.
    /// `hasten` is called on any thread, when something waits for the writer.
    init(
        capture: CrashCapture,
        store: ReportStore,
        health: StoreHealth,
        teller: FaultTeller,
        logger: Logger,
        inherited: [UInt8]?,
        begin: @escaping @Sendable () -> Void,
        prepare: @escaping @Sendable () -> Void,
        hasten: @escaping @Sendable () -> Void
    ) {
        self.capture = capture
        self.store = store
        self.health = health
        self.teller = teller
        self.logger = logger
        self.inherited = inherited
        hasToldInherited = Atomic(inherited == nil)
        self.begin = begin
        self.prepare = prepare
        self.hasten = hasten
    }

    /// Starts the thread; it runs until the process ends.
    func start() throws(Errno) {
        try DetachedThread.start(name: FaultRecord.reportWriterThreadName) { [self] in run() }
    }

    /// Queues a record, or counts it in an equal one that waits.
    ///
    /// Called on the crash thread.
    func enqueue(slot: UInt32) {
        waiting.withLock { waiting in
            if waiting.append(slot) { return }
            carryOut(waiting.add(slot, isParked: { capture.isParked(slot: $0) }, key: { key(slot: $0) }))
        }
        hasten()
        wake.signal()
        if capture.slotsInUse > Self.scarce { hurry.signal() }
    }

    /// Takes the question what the tasks do: of another process, or for the log.
    ///
    /// Called on the crash thread, or on any other.
    func ask(_ number: UInt32) {
        answers.ask(number)
        hasten()
        wake.signal()
        hurry.signal()
    }

    /// Takes what the caller of a boundary knows of the fault in it, for the fault's report.
    ///
    /// Called in the caller's task, once for each such fault.
    ///
    /// - Parameters:
    ///   - told: What there is to tell.
    ///   - number: Which fault of the process it was.
    func add(_ told: FaultDetails.Told, toFault number: Int) {
        let bytes = FaultDetails.bytes(of: told.tags)
        // The lock keeps the record: only under it, or when all has been told, a record is freed.
        waiting.withLock { _ in capture.setTags(bytes, ofFault: number) }
        details.tell(ofFault: number, told)
    }

    private func carryOut(_ folds: [RecordBacklog.Fold]) {
        for fold in folds {
            if let job = capture.abandonedJob(slot: fold.slot), let other = capture.abandonedJob(slot: fold.other) {
                let time = Timestamp(microsecondsSinceEpoch: job.time / 1000)
                details.fold(FaultDetails.Folded(number: job.fault, time: time), into: other.fault)
            }
            capture.fold(slot: fold.slot, into: fold.other)
        }
    }

    private func key(slot: UInt32) -> Int? {
        FaultRecord(bytes: capture.recordBytes(slot: slot))
            .map { ReportFolding.key(of: $0, numbersMatter: false) }
    }

    /// Waits until every record is in the store, or the limit has passed; returns whether they are.
    ///
    /// A record that cannot be written is waited for only if it would be lost with the process (a later process finishes what is in the
    /// spool), and if the store can be used at all.
    @discardableResult
    func flush(limit: Duration) -> Bool {
        let end = HostRunLoop.Instant.now.advanced(by: limit)
        let before = failures.load(ordering: .relaxed)
        // The slots count, not the queue: a record is queued only after the thread that faulted goes on.
        flushers.add(1, ordering: .sequentiallyConsistent)
        defer { flushers.subtract(1, ordering: .acquiringAndReleasing) }
        hasten()
        hurry.signal()
        while capture.slotsInUse > 0 || !hasToldInherited.load(ordering: .acquiring)
            || isFinishing.load(ordering: .acquiring), .now < end
        {
            if capture.isPersistent || health.isUnusable, failures.load(ordering: .relaxed) != before { return false }
            drained.wait(atMost: .milliseconds(20))
        }
        return capture.slotsInUse == 0
    }

    /// Whether no record waits to get into the store, or none can.
    var isIdle: Bool { capture.slotsInUse == 0 || health.isUnusable }

    /// Has a function called, once, when the writer has become idle: on its thread, or at once.
    ///
    /// - Parameter tell: The function; it takes the place of an earlier one.
    func whenIdle(_ tell: @escaping @Sendable () -> Void) {
        idle.withLock { $0 = tell }
        tellIdle()
    }

    private func tellIdle() {
        guard isIdle else { return }
        idle.withLock { $0.take() }?()
    }

    /// How many times a failed write is repeated, once a second, before it waits for the next record.
    private static let promptTries = 60
    /// How many records wait if the store cannot be used and the process would lose them anyway: those of the first faults.
    private static let mostUnwritable = 64

    /// How many slots may be taken while the thread rests: beyond it, faults might soon wait for a slot.
    private static let scarce = CrashCapture.slotCount * 3 / 4

    private func run() -> Never {
        // First of all: this thread is woken when the program is about to serve, and would come between (3 ms, measured).
        CrashCapture.giveWay(.atWake)
        begin()
        CrashCapture.giveWay(.atOnce)
        prepare()
        capture.reapMemoryHolder()
        tellInherited()
        hasToldInherited.store(true, ordering: .releasing)
        drained.signal()
        var hasFinisher = finishSpool()
        var batch = ReportBatch(store: store)
        var failedTries = 0
        var hasEarly = false
        var mends = 0
        var work = Work(start: MonotonicClock.nanoseconds)
        while true {
            // A failed write is repeated after a while, whatever else comes; later, with the next record.
            if failedTries > 0 { sleep(1) }
            if hasEarly {
                details.news.wait(atMost: .milliseconds(20))
            } else if failedTries == 0 {
                waitForWork(batch)
            } else if failedTries > Self.promptTries {
                DetachedThread.rest { wake.wait(atMost: .seconds(60)) }
            }
            // If there is one processor, the scheduler may choose this thread before the one that faulted (measured: 2 to 5 ms until the
            // next callout instead of 0.1 ms). That one goes on in less.
            usleep(500)
            wake.drain()
            answer()
            lookAtSpool(&mends)
            work.start = MonotonicClock.nanoseconds
            let hadSymbols = batch.hasSymbols
            failedTries = writeWaiting(&batch, &hasEarly, &work) ? 0 : failedTries + 1
            tellIdle()
            tellFinished()
            if !hasFinisher { hasFinisher = finishSpool() }
            rest(from: &work, hasReadSymbols: !hadSymbols && batch.hasSymbols)
        }
    }

    /// How long symbols are kept for the next report, in nanoseconds: reading them takes 0.1 s, and they may take 100 MB.
    private static let symbolTime: Int64 = 10_000_000_000

    private func waitForWork(_ batch: ReportBatch) {
        guard batch.hasSymbols else { return DetachedThread.rest { wake.wait() } }
        let end = MonotonicClock.nanoseconds + Self.symbolTime
        DetachedThread.rest { wake.wait(atMost: .nanoseconds(Self.symbolTime)) }
        // A record that has come just now waits a moment.
        guard MonotonicClock.nanoseconds >= end else { return }
        batch.forgetSymbols()
        FreeMemory.giveBack()
    }

    /// The work that goes on.
    private struct Work {
        var effort: WritingEffort
        /// When it began, in nanoseconds of the monotonic clock.
        var start: Int64

        init(start: Int64) {
            effort = WritingEffort(now: start)
            self.start = start
        }
    }

    /// Leaves the processor to others after work, unless somebody waits for reports or for slots.
    private func rest(from work: inout Work, hasReadSymbols: Bool = false) {
        let end = MonotonicClock.nanoseconds
        let nanoseconds = work.effort.rest(after: work.start..<end, hasReadSymbols: hasReadSymbols)
        work.start = end
        guard nanoseconds > 0 else { return }
        // First: who wants it to go on says so afterwards, or is seen here.
        hurry.drain()
        guard flushers.load(ordering: .sequentiallyConsistent) == 0, capture.slotsInUse <= Self.scarce else { return }
        hurry.wait(atMost: .nanoseconds(nanoseconds))
        work.start = MonotonicClock.nanoseconds
    }

    /// Answers another process, if one has asked.
    private func answer() {
        do {
            try answers.answer(by: TaskDumper(capture), into: store) { logger.notice("\($0)") }
        } catch {
            logger.warning("cannot tell crashreport what the tasks do: \(error)")
        }
    }

    /// Makes the spool whole again if somebody has cut it, and logs that.
    private func lookAtSpool(_ mends: inout Int) {
        let now = capture.mendSpool()
        guard now != mends else { return }
        mends = now
        let fate =
            capture.isPersistent
            ? "was made whole again" : "could not be made whole: records are in memory, and lost with the process"
        logger.error(
            "somebody has cut the spool file; it \(fate); faults that waited in it have no report",
            metadata: ["spool": "\(capture.spoolPath)"]
        )
    }

    /// Tries all records that wait now, each once; returns whether all could be written.
    ///
    /// Leaves those of which a caller has yet to tell.
    private func writeWaiting(_ batch: inout ReportBatch, _ hasEarly: inout Bool, _ work: inout Work) -> Bool {
        details.news.drain()
        var early: [UInt32] = []
        defer {
            hasEarly = !early.isEmpty
            putBack(early)
        }
        var left = waiting.withLock { $0.count }
        var failed: [UInt32] = []
        while left > 0 {
            let slots = waiting.withLock { $0.take(left) }
            left -= slots.count
            let ready = slots.filter(isComplete)
            early += slots.filter { !ready.contains($0) }
            failed += write(ready, &batch, &work)
            drained.signal()
        }
        if failed.isEmpty { return true }
        // They must not take the slots of later faults: without a free slot, the process restarts.
        if !capture.isPersistent, health.isUnusable {
            for slot in failed.dropFirst(Self.mostUnwritable) { capture.release(slot: slot) }
            failed = Array(failed.prefix(Self.mostUnwritable))
        }
        putBack(failed)
        return false
    }

    private func putBack(_ slots: [UInt32]) {
        guard !slots.isEmpty else { return }
        let keys = Dictionary(uniqueKeysWithValues: slots.map { ($0, key(slot: $0)) })
        waiting.withLock { waiting in
            carryOut(waiting.putBack(slots, isParked: capture.isParked(slot:)) { keys[$0] ?? nil })
        }
    }

    /// Whether nobody has yet to tell of the fault in a slot.
    private func isComplete(slot: UInt32) -> Bool {
        guard let job = capture.abandonedJob(slot: slot) else { return true }
        return details.isComplete(job.fault, at: Timestamp(microsecondsSinceEpoch: job.time / 1000))
    }

    /// Has what dead processes left finished, unless the store cannot be used; returns whether it has.
    ///
    /// Clients of this process wait for nothing of it, and it takes 0.1 s. So a thread does it whose share is a tenth of that of others where
    /// processors are scarce. It runs no code of the program, such as a log handler, which may make threads: they would be like it.
    private func finishSpool() -> Bool {
        guard !health.isUnusable else { return false }
        isFinishing.store(true, ordering: .releasing)
        let finish: @Sendable () -> Void = { [self] in
            let outcome = SpoolFinisher(store: store).finish()
            let lines = Self.lines(of: outcome.reports.map { ($0, try? store.load($0)) }, isStored: true)
            finished.withLock { $0 = (outcome, lines) }
            wake.signal()
        }
        do {
            try DetachedThread.start(name: FaultRecord.reportWriterThreadName) {
                CrashCapture.giveWay(.withShare)
                finish()
            }
        } catch {
            finish()
        }
        return true
    }

    /// Logs what has become of what dead processes left, once it is finished.
    private func tellFinished() {
        guard let (outcome, lines) = finished.withLock({ $0.take() }) else { return }
        defer {
            isFinishing.store(false, ordering: .releasing)
            drained.signal()
        }
        log(lines)
        noteEnds(outcome.silentEnds)
        for problem in outcome.problems { logger.warning("cannot finish a spool file: \(problem)") }
    }

    /// A line of the log.
    private struct Line {
        var text: String
        var level: Logger.Level
    }

    /// A line for each fault of an earlier process, and for each end that no fault explains.
    ///
    /// Equal faults of one process with the same outcome share a line, with their number. An end that was asked for is no error.
    private static func lines(of reports: [(id: ReportID, report: CrashReport?)], isStored: Bool) -> [Line] {
        var told: [String] = []
        var lines: [String: (text: String, count: Int, level: Logger.Level)] = [:]
        for (id, report) in reports {
            let key = report.map { "\($0.process.pid) \($0.verdict.decision) \($0.fingerprint)" } ?? "\(id)"
            if lines[key] == nil { told.append(key) }
            // A fault of another process, whose numbers are not ours.
            let text = report.map { "\($0.process.name)[\($0.process.pid)] \($0.faultLine(isStored: isStored))" }
            let level: Logger.Level = report?.kind == .death && report?.death?.cause == "stopped" ? .notice : .error
            lines[key] = (lines[key]?.text ?? text ?? "report \(id)", (lines[key]?.count ?? 0) + 1, level)
        }
        let beginning = isStored ? "finished an earlier report" : "an earlier fault has no report"
        return told.compactMap { lines[$0] }.map { line in
            let others = line.count > 1 ? ", and \(line.count - 1) equal to it" : ""
            return Line(text: "\(beginning): \(line.text)\(others)", level: line.level)
        }
    }

    private func log(_ lines: [Line]) {
        for line in lines { logger.log(level: line.level, "\(line.text)") }
    }

    /// Logs the faults that the process before this one left in memory because it had no store; makes their reports if there is a store
    /// now.
    private func tellInherited() {
        guard let inherited, let contents = try? SpoolContents(bytes: inherited), contents.process.pid == Int(getpid())
        else {
            return
        }
        // If that process died while naming functions, this one does not name them.
        let hasNamed = contents.records.contains {
            $0.verdict != .resume && $0.threadName == FaultRecord.reportWriterThreadName
        }
        let builder = ReportBuilder(process: contents.process, namesFunctions: !hasNamed)
        let notes = ["the report was finished after the process had ended"]
        var isStored = !health.isUnusable
        var reports: [(ReportID, CrashReport?)] = []
        for record in contents.records {
            let report = builder.report(of: record, images: contents.images, notes: notes)
            if isStored, (try? store.add(report, folding: .default)) == nil { isStored = false }
            if !record.facts.contains(.told) { reports.append((report.id, report)) }
        }
        log(Self.lines(of: reports, isStored: isStored))
    }

    /// Logs processes like this one that ended without saying why: of the same program, started in the same way.
    private func noteEnds(_ ends: [SpoolFinisher.SilentEnd]) {
        guard !ends.isEmpty, let own = try? SpoolContents.process(bytes: capture.spoolHead()) else { return }
        let ours = ends.filter { $0.process.executable == own.executable && $0.process.arguments == own.arguments }
        for end in ours.sorted(by: { $0.lastActivity < $1.lastActivity }) {
            let metadata: Logger.Metadata = [
                "pid": "\(end.process.pid)", "started": "\(end.process.startTime)", "lastActive": "\(end.lastActivity)",
            ]
            if end.hasExited {
                logger.notice("the process before called exit without closing its host", metadata: metadata)
            } else {
                logger.warning(
                    "the process before ended without a word: it was killed, or ended itself",
                    metadata: metadata
                )
            }
        }
    }

    /// Returns the slots that could not be written.
    private func write(_ slots: [UInt32], _ batch: inout ReportBatch, _ work: inout Work) -> [UInt32] {
        guard !slots.isEmpty else { return [] }
        let (done, error) = batch.write(
            slots.map { ($0, capture.recordBytes(slot: $0)) },
            sections: { (capture.threadBytes(slot: $0), capture.memoryBytes(slot: $0)) },
            imagesVersion: { capture.imagesVersion },
            spool: capture.spoolBytes,
            context: capture.contextBytes(ofFault:),
            details: details.take,
            tell: { report, key, slot in
                teller.tell(report, key)
                capture.noteTold(slot: slot)
            },
            tellCount: teller.tell(of:countedIn:),
            release: capture.release(slot:),
            pause: { rest(from: &work) }
        )
        if let error {
            failures.add(1, ordering: .relaxed)
            health.failed("\(error)\(capture.isPersistent ? "" : "; records are in memory, and lost with the process")")
        } else if !done.isEmpty {
            health.worked()
        }
        return slots.filter { !done.contains($0) }
    }
}
