internal import CrashCapture
internal import CrashReports
internal import Glibc
internal import LinuxSystem
internal import RunLoops
internal import Symbolication

/// A stall that has a report, and what has been seen of it so far.
///
/// Used on the reporter's thread only.
struct OngoingStall {
    /// The stall as first reported by the monitor.
    let stall: Stall
    /// The stalled thread's gettid(2); 0 if unknown.
    private let thread: CInt
    /// How long the process had run when the stall was found.
    private let uptimeNanoseconds: Int64
    /// The state of the loop, from the first look that saw a callout.
    private var loop: CrashReport.LoopState?
    /// Whether the stall ended because its callout was abandoned.
    var isAbandoned = false
    /// The process when the stall was found.
    let process: SpoolContents
    private let beginTime: Timestamp
    private let context: FaultContext?
    private var samples = StallSamples()
    /// The look that the report shows in full.
    private var shown: ThreadLook?
    private var others: [ThreadSnapshot.Thread] = []
    private var othersOmitted = 0
    /// What the tasks in fault boundaries did; nil if there were none, or before the desk has asked.
    var tasks: TaskDump?
    private var remarks: [String] = []
    /// How long something must last to be a stall; the policy of the item can raise this.
    private let threshold: Duration
    /// The thread's kernel state once it had gone back to sleep after the last look; nil if it did not.
    private var asleep: ThreadActivity?
    private let interval: Duration
    /// When the stall was found, and when it was last sampled, on the clock that pauses while the process is stopped.
    private let found: Int64
    private var lastSample: Int64
    /// When to take the next sample.
    private(set) var nextSample: HostRunLoop.Instant
    /// When to update the report.
    private(set) var nextWrite: HostRunLoop.Instant
    /// When the stall was first seen to have ended.
    private var ended: HostRunLoop.Instant?

    /// Begins with the first look.
    ///
    /// - Parameters:
    ///   - stall: The stall, with its length so far.
    ///   - threshold: How long something must last to be a stall.
    ///   - process: The process, as described in its spool file.
    ///   - bytes: The spool file.
    ///   - now: The current time.
    ///   - running: The current time on the clock that pauses while the process is stopped.
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
        // The look was taken a moment ago, so the kernel's answer now is about the same wait or the same work.
        samples.add(look, ThreadActivity(look, thread), seconds: interval / .seconds(1))
        show(look)
        noteSleep(after: look)
    }

    /// How long the stall has lasted at a time on the clock that pauses while the process is stopped.
    func length(at time: Int64) -> Duration { stall.length + .nanoseconds(max(0, time - found)) }

    /// The item whose callout stalls, if known.
    var item: UInt64? { loop?.callout.flatMap { UInt64(exactly: $0.item) } }

    // MARK: Samples

    /// Samples the thread while the stall lasts.
    ///
    /// - Parameters:
    ///   - now: The current time.
    ///   - running: The current time on the clock that pauses while the process is stopped.
    mutating func sample(at now: HostRunLoop.Instant, running: Int64) {
        // The interval grows with the stall, so a stall of several hours has only a few thousand samples.
        nextSample = now.advanced(by: max(interval, .nanoseconds((running - found) / 100)))
        let seconds = Double(max(0, running - lastSample)) / 1e9
        lastSample = running
        // The thread behind a ping is unknown.
        guard let thread = stall.thread() else { return }
        let activity = ThreadActivity(ofThread: thread)
        if let asleep, activity.isAsleep(since: asleep) {
            samples.add(nil, activity, seconds: seconds)
        } else if let look = stall.lookNow() {
            samples.add(look, activity, seconds: seconds)
            // The first look may have had no answer, if the machine was busy or faults were more urgent.
            if loop == nil { loop = look.callout.flatMap { CrashReport.LoopState($0) } }
            show(look)
            noteSleep(after: look)
        }
    }

    /// Shows the first look that has a stack: by a later one, what blocked the thread may be over.
    ///
    /// A look inside the callout named by the report is preferred to one in the rest of the pass.
    private mutating func show(_ look: ThreadLook) {
        guard let shown, !shown.frames.isEmpty else {
            self.shown = look
            return
        }
        if isNamed(look), !isNamed(shown), !look.frames.isEmpty { self.shown = look }
    }

    private func isNamed(_ look: ThreadLook) -> Bool { item != nil && look.callout?.item == item }

    /// Lets a sleeping thread go back to sleep after it was asked, so that the next samples need not ask it again.
    ///
    /// Each look interrupts the thread's system call (signal(7)).
    private mutating func noteSleep(after look: ThreadLook) {
        asleep = nil
        guard let state = look.state, "SD".contains(state), let counter = look.frames.first else { return }
        usleep(1000)
        let activity = ThreadActivity(ofThread: look.thread)
        // The thread must be in the place where it was seen. A restarted system call begins one instruction earlier.
        guard let place = activity.place, place.stackPointer == look.stackPointer,
            place.programCounter == counter || place.programCounter == counter + 2
        else { return }
        asleep = activity
    }

    /// Looks once at every other thread of the process except `own`.
    mutating func sampleOthers(but own: CInt) {
        let list = OtherThreads.list(but: [own, thread])
        let end = HostRunLoop.Instant.now.advanced(by: OtherThreads.patience)
        // Some threads may not answer, and sampling of the stalled thread must continue.
        for thread in list.prefix(OtherThreads.most) {
            let left = HostRunLoop.Instant.now.duration(to: end)
            guard left > .zero, stall.isLasting() else { break }
            guard let look = CrashCapture.look(at: thread, within: left) else { continue }
            others.append(ThreadSnapshot.Thread(look, after: stall.begin.duration(to: .now)))
        }
        othersOmitted = list.count - others.count
    }

    /// Adds a note for the reader.
    mutating func note(_ remark: String) { remarks.append(remark) }

    // MARK: The report

    /// Returns the report for the present state.
    ///
    /// - Parameters:
    ///   - over: The stall when it was over; nil while it lasts.
    ///   - builder: Resolves names.
    ///   - images: The images of the process.
    ///   - ticks: How regularly the loop ticked.
    /// - Returns: The report; its identifier never changes.
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
            othersOmitted: others.isEmpty ? 0 : othersOmitted,
            tasks: tasks
        )
        return builder.report(of: sighting, images: images, notes: notes)
    }

    private var notes: [String] {
        guard thread != 0 else {
            return remarks + ["which thread should have answered is not known: the other threads are here"]
        }
        return remarks + (shown?.frames.isEmpty == false ? [] : ["the thread could not be sampled"])
    }

    /// Schedules the next update for when the stall has lasted twice as long.
    mutating func noteWrite() {
        nextWrite = .now.advanced(by: max(.milliseconds(200), length(at: lastSample)))
    }

    /// Notes that the stall has ended; the monitor should soon say so.
    mutating func noteEnd(at now: HostRunLoop.Instant) {
        if ended == nil { ended = now }
        nextSample = now.advanced(by: .milliseconds(50))
        nextWrite = max(nextWrite, nextSample)
    }

    /// Whether the end has not been announced for much longer than the watcher's interval.
    func isOverdue(at now: HostRunLoop.Instant) -> Bool {
        ended.map { $0.duration(to: now) > stall.rule.interval * 4 + .milliseconds(500) } ?? false
    }
}

extension ThreadActivity {
    /// The activity that a look saw, with the kernel's current times.
    fileprivate init(_ look: ThreadLook, _ thread: CInt) {
        self.init(ofThread: thread)
        state = look.state
        systemCall = look.systemCall
    }
}
