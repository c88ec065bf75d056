internal import CrashCapture
internal import CrashReports
internal import Glibc
internal import LinuxSystem
internal import RunLoops
internal import Supervision
internal import Symbolication

/// A stall that has a report, and what was seen of it so far.
///
/// Used on the reporter's thread only.
struct OngoingStall {
    /// The stall as it was told first.
    let stall: Stall
    /// Its report: the same name as long as it lasts.
    private(set) var record: FaultRecord
    /// Whether it ended because its callout was abandoned.
    var isAbandoned = false
    /// The process when it was found.
    let process: SpoolContents
    private let beginTime: Timestamp
    private let context: FaultContext?
    private var samples = StallSamples()
    private var others: [ThreadSnapshot.Thread] = []
    private var othersOmitted = 0
    private var remarks: [String] = []
    /// How long it has lasted, without the time during which the process stood still.
    private var length: Duration
    /// What the kernel said when the thread had gone back to sleep after the last look; nil if it did not sleep.
    private var asleep: ThreadActivity?
    private let interval: Duration
    private let found: HostRunLoop.Instant
    private var lastSample: HostRunLoop.Instant
    /// When to look again.
    private(set) var nextSample: HostRunLoop.Instant
    /// When to bring the report up to date.
    private(set) var nextWrite: HostRunLoop.Instant

    /// Begins with the first look.
    ///
    /// - Parameters:
    ///   - stall: The stall.
    ///   - process: The process, as its spool file has it.
    ///   - bytes: The spool file.
    init(_ stall: Stall, process: SpoolContents, bytes: [UInt8]) {
        self.stall = stall
        length = stall.length
        self.process = process
        let now = HostRunLoop.Instant.now
        let age = stall.begin.duration(to: now)
        beginTime = Timestamp.now.adding(seconds: -(age / .seconds(1)))
        let thread = stall.look?.thread ?? stall.thread() ?? 0
        var record = FaultRecord(
            stall: Int(clamping: stall.number),
            time: beginTime,
            uptimeNanoseconds: now.nanoseconds - process.process.startMonotonicNanoseconds,
            thread: Int(thread),
            isMainThread: thread == getpid()
        )
        if let callout = stall.look?.callout { record.loop = CrashReport.LoopState(callout) }
        context = process.liveContext(of: record, in: bytes)
        record.context = context
        self.record = record
        interval = min(max(stall.rule.threshold / 4, .milliseconds(5)), .milliseconds(20))
        found = now
        lastSample = now
        nextSample = now.advanced(by: interval)
        nextWrite = now
        guard let look = stall.look else { return }
        // The look was taken a moment ago: what the kernel says now is of the same wait, or of the same work.
        samples.add(look, ThreadActivity(look, thread), seconds: interval / .seconds(1))
        noteSleep(of: thread)
    }

    /// The item whose callout stalls, if that is known.
    var item: UInt64? { record.loop?.callout.flatMap { UInt64(exactly: $0.item) } }

    // MARK: Samples

    /// Looks at the thread, if the stall lasts.
    mutating func sample() {
        let now = HostRunLoop.Instant.now
        // Ever more seldom: a stall that lasts for hours has no more than some thousands of samples.
        let pause = max(interval, found.duration(to: now) / 100)
        nextSample = now.advanced(by: pause)
        guard stall.isLasting() else { return }
        // A process that stood still meanwhile was not in the stall for all of that time.
        let time = min(lastSample.duration(to: now), pause * 2)
        lastSample = now
        length += time
        // What is pinged has no thread that is known.
        guard let thread = stall.thread() else { return }
        let activity = ThreadActivity(ofThread: thread)
        if let asleep, activity.isAsleep(since: asleep) {
            samples.add(nil, activity, seconds: time / .seconds(1))
        } else {
            let look = CrashCapture.look(at: thread)
            // It went on meanwhile: what was seen is not of the stall.
            guard stall.thread() == thread, let look else { return }
            samples.add(look, activity, seconds: time / .seconds(1))
            // The first look may have found nobody who answers: the machine is busy, or faults were more urgent.
            if record.loop == nil, let callout = look.callout { record.loop = CrashReport.LoopState(callout) }
            noteSleep(of: thread)
        }
    }

    /// Lets a thread that was asked while it slept go back to sleep, so that the next samples need not ask it again: each time its
    /// system call is interrupted (signal(7)).
    private mutating func noteSleep(of thread: CInt) {
        asleep = nil
        guard let state = samples.lastLook?.state, "SD".contains(state) else { return }
        usleep(1000)
        asleep = ThreadActivity(ofThread: thread)
    }

    /// Looks at all other threads of the process once, but for one.
    mutating func sampleOthers(but own: CInt) {
        let list = OtherThreads.list(but: [own, CInt(truncatingIfNeeded: record.thread)])
        let end = HostRunLoop.Instant.now.advanced(by: OtherThreads.patience)
        // Some may not answer, and the stall itself is to be sampled on.
        for thread in list.prefix(OtherThreads.most) where .now < end {
            guard let look = CrashCapture.look(at: thread, within: OtherThreads.patience) else { continue }
            others.append(ThreadSnapshot.Thread(look, after: stall.begin.duration(to: .now)))
        }
        othersOmitted = list.count - others.count
    }

    /// Adds what the reader should know.
    mutating func note(_ remark: String) { remarks.append(remark) }

    // MARK: The report

    /// What the report says now.
    ///
    /// - Parameters:
    ///   - over: The stall when it was over; nil while it lasts.
    ///   - builder: Gives names.
    ///   - images: The images of the process.
    ///   - ticks: How regularly the loop ticked.
    /// - Returns: The report; its name is always the same.
    func report(
        over: Stall?,
        _ builder: ReportBuilder,
        images: [CrashReport.Image],
        ticks: CrashReport.Stall.Ticks?
    ) -> CrashReport {
        var record = record
        if let look = samples.lastLook {
            record.frames = look.frames
            record.headFrameCount = look.headFrameCount
            record.framesOmitted = look.framesOmitted
            record.threadName = look.name
            record.facts.formSymmetricDifference(look.isWalkComplete ? [] : [.walkComplete, .walkBroken])
        }
        if !others.isEmpty { record.attach(threads: others, omitted: othersOmitted) }
        let length = over?.length ?? length
        var description = CrashReport.Stall(stall, begin: beginTime, length: length / .seconds(1), isOver: over != nil)
        let (profile, activities) = samples.merged(builder, images: images)
        if isAbandoned { description.end = .abandoned }
        description.profile = profile
        description.activities = activities
        description.processorSeconds = samples.processorSeconds
        description.waitedForProcessorSeconds = samples.waitedForProcessorSeconds
        description.ticks = ticks
        return builder.report(of: description, record, images: images, notes: notes)
    }

    private var notes: [String] {
        guard record.thread != 0 else {
            return remarks + ["which thread should have answered is not known: the other threads are here"]
        }
        return remarks + (samples.lastLook?.frames.isEmpty == false ? [] : ["the thread could not be sampled"])
    }

    /// The report is up to date; it is brought up to date again when the stall has taken twice as long.
    mutating func noteWrite() {
        let now = HostRunLoop.Instant.now
        nextWrite = now.advanced(by: max(.milliseconds(200), stall.begin.duration(to: now)))
    }
}

extension ThreadActivity {
    /// What a look says of it, with the times that the kernel has now.
    fileprivate init(_ look: ThreadLook, _ thread: CInt) {
        self.init(ofThread: thread)
        state = look.state
        systemCall = look.systemCall
    }
}
