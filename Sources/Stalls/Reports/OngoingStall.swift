internal import CrashCapture
internal import CrashReports
internal import Glibc
internal import LinuxSystem
internal import RunLoops
internal import Symbolication

/// A stall that has a report, and what was seen of it so far.
///
/// Used on the reporter's thread only.
struct OngoingStall {
    /// The stall as it was told first.
    let stall: Stall
    /// The thread that stalled, as gettid(2) has it; 0 if it is not known.
    private let thread: CInt
    /// How long the process had run when it was found.
    private let uptimeNanoseconds: Int64
    /// Where its loop was, as the first look in a callout saw it.
    private var loop: CrashReport.LoopState?
    /// Whether it ended because its callout was abandoned.
    var isAbandoned = false
    /// The process when it was found.
    let process: SpoolContents
    private let beginTime: Timestamp
    private let context: FaultContext?
    private var samples = StallSamples()
    /// The look that the report has in full.
    private var shown: ThreadLook?
    private var others: [ThreadSnapshot.Thread] = []
    private var othersOmitted = 0
    private var remarks: [String] = []
    /// What lasts at least this long is a stall, by the policy of its item.
    private let threshold: Duration
    /// What the kernel said when the thread had gone back to sleep after the last look; nil if it did not sleep.
    private var asleep: ThreadActivity?
    private let interval: Duration
    /// When it was found and when it was sampled last, on the clock that stands still while the process does.
    private let found: Int64
    private var lastSample: Int64
    /// When to look again.
    private(set) var nextSample: HostRunLoop.Instant
    /// When to bring the report up to date.
    private(set) var nextWrite: HostRunLoop.Instant
    /// When it was first seen that it does not last any more.
    private var ended: HostRunLoop.Instant?

    /// Begins with the first look.
    ///
    /// - Parameters:
    ///   - stall: The stall, with its length so far.
    ///   - threshold: What lasts at least this long is one.
    ///   - process: The process, as its spool file has it.
    ///   - bytes: The spool file.
    ///   - now: The present.
    ///   - running: The same on the clock that stands still while the process does.
    init(
        _ stall: Stall,
        threshold: Duration,
        process: SpoolContents,
        bytes: [UInt8],
        at now: HostRunLoop.Instant,
        running: Int64
    ) {
        self.stall = stall
        self.threshold = threshold
        self.process = process
        let age = stall.begin.duration(to: now)
        beginTime = Timestamp.now.adding(seconds: -(age / .seconds(1)))
        thread = stall.look?.thread ?? stall.thread() ?? 0
        uptimeNanoseconds = now.nanoseconds - process.process.startMonotonicNanoseconds
        loop = stall.look?.callout.flatMap { CrashReport.LoopState($0) }
        context = process.liveContext(ofThread: Int(thread), uptimeNanoseconds: uptimeNanoseconds, in: bytes)
        interval = min(max(stall.rule.threshold / 4, .milliseconds(5)), .milliseconds(20))
        found = running
        lastSample = running
        nextSample = now.advanced(by: interval)
        nextWrite = now
        guard let look = stall.look else { return }
        // The look was taken a moment ago: what the kernel says now is of the same wait, or of the same work.
        samples.add(look, ThreadActivity(look, thread), seconds: interval / .seconds(1))
        show(look)
        noteSleep(after: look)
    }

    /// How long it has lasted at a time on the clock that stands still while the process does.
    func length(at time: Int64) -> Duration { stall.length + .nanoseconds(max(0, time - found)) }

    /// The item whose callout stalls, if that is known.
    var item: UInt64? { loop?.callout.flatMap { UInt64(exactly: $0.item) } }

    // MARK: Samples

    /// Looks at the thread of a stall that lasts.
    ///
    /// - Parameters:
    ///   - now: The present.
    ///   - running: The same on the clock that stands still while the process does.
    mutating func sample(at now: HostRunLoop.Instant, running: Int64) {
        // Ever more seldom: a stall that lasts for hours has no more than some thousands of samples.
        nextSample = now.advanced(by: max(interval, .nanoseconds((running - found) / 100)))
        let seconds = Double(max(0, running - lastSample)) / 1e9
        lastSample = running
        // What is pinged has no thread that is known.
        guard let thread = stall.thread() else { return }
        let activity = ThreadActivity(ofThread: thread)
        if let asleep, activity.isAsleep(since: asleep) {
            samples.add(nil, activity, seconds: seconds)
        } else if let look = stall.lookNow() {
            samples.add(look, activity, seconds: seconds)
            // The first look may have found nobody who answers: the machine is busy, or faults were more urgent.
            if loop == nil { loop = look.callout.flatMap { CrashReport.LoopState($0) } }
            show(look)
            noteSleep(after: look)
        }
    }

    /// Shows the last look whose stack is known; one in the callout that the report names rather than one after it, in what is
    /// left of the pass.
    private mutating func show(_ look: ThreadLook) {
        guard let shown, !shown.frames.isEmpty else {
            self.shown = look
            return
        }
        let isBetter = isNamed(look) || !isNamed(shown)
        if isBetter, !look.frames.isEmpty { self.shown = look }
    }

    private func isNamed(_ look: ThreadLook) -> Bool { item != nil && look.callout?.item == item }

    /// Lets a thread that was asked while it slept go back to sleep, so that the next samples need not ask it again: each time its
    /// system call is interrupted (signal(7)).
    private mutating func noteSleep(after look: ThreadLook) {
        asleep = nil
        guard let state = look.state, "SD".contains(state), let counter = look.frames.first else { return }
        usleep(1000)
        let activity = ThreadActivity(ofThread: look.thread)
        // Where it was seen, and nowhere else: a system call that is restarted begins with the instruction before.
        guard let place = activity.place, place.stackPointer == look.stackPointer,
            place.programCounter == counter || place.programCounter == counter + 2
        else { return }
        asleep = activity
    }

    /// Looks at all other threads of the process once, but for one.
    mutating func sampleOthers(but own: CInt) {
        let list = OtherThreads.list(but: [own, thread])
        let end = HostRunLoop.Instant.now.advanced(by: OtherThreads.patience)
        // Some may not answer, and the stall itself is to be sampled on.
        for thread in list.prefix(OtherThreads.most) {
            let left = HostRunLoop.Instant.now.duration(to: end)
            guard left > .zero, stall.isLasting() else { break }
            guard let look = CrashCapture.look(at: thread, within: left) else { continue }
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
        let length = over?.length ?? length(at: lastSample)
        var description = CrashReport.Stall(stall, begin: beginTime, length: length / .seconds(1), isOver: over != nil)
        description.threshold = threshold / .seconds(1)
        let (profile, activities) = samples.merged(builder, images: images)
        if isAbandoned { description.end = .abandoned }
        description.profile = profile
        description.activities = activities
        description.processorSeconds = samples.processorSeconds
        description.waitedForProcessorSeconds = samples.waitedForProcessorSeconds
        description.ticks = ticks
        let sighting = StallSighting(
            description,
            uptimeNanoseconds: uptimeNanoseconds,
            thread: shown.map { ThreadSnapshot.Thread($0, after: .zero) } ?? ThreadSnapshot.Thread(id: Int(thread)),
            loop: loop,
            context: context,
            others: others,
            othersOmitted: others.isEmpty ? 0 : othersOmitted
        )
        return builder.report(of: sighting, images: images, notes: notes)
    }

    private var notes: [String] {
        guard thread != 0 else {
            return remarks + ["which thread should have answered is not known: the other threads are here"]
        }
        return remarks + (shown?.frames.isEmpty == false ? [] : ["the thread could not be sampled"])
    }

    /// The report is up to date; it is brought up to date again when the stall has taken twice as long.
    mutating func noteWrite() {
        nextWrite = .now.advanced(by: max(.milliseconds(200), length(at: lastSample)))
    }

    /// It does not last any more; somebody is to tell of its end.
    mutating func noteEnd(at now: HostRunLoop.Instant) {
        if ended == nil { ended = now }
        nextSample = now.advanced(by: .milliseconds(50))
        nextWrite = max(nextWrite, nextSample)
    }

    /// Whether nobody has told of its end for much longer than the watcher looks away.
    func isOverdue(at now: HostRunLoop.Instant) -> Bool {
        ended.map { $0.duration(to: now) > stall.rule.interval * 4 + .milliseconds(500) } ?? false
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
