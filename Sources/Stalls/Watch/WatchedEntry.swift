internal import CrashCapture
internal import LinuxSystem
internal import RunLoops
internal import Synchronization

/// Something that is watched by a rule, and what was announced about it.
///
/// Used on the watcher's thread only.
final class WatchedEntry: WatcherEntry, @unchecked Sendable {
    /// What was announced of a stall that lasts.
    ///
    /// It does not keep the loop alive.
    private struct Told {
        var number: UInt64
        var length: Duration
    }

    let subject: any WatchedSubject
    let interval: Int64
    private let rule: StallRule
    private let handler: @Sendable (Stall) -> Void
    /// Whether the handler returns at once, and so is called on the watcher's thread, without a look.
    private let isDirect: Bool
    private let isRemoved = Atomic<Bool>(false)

    private var detector: StallDetector
    /// When the next look is due.
    private(set) var due: Int64 = 0
    private(set) var lastSight: StallDetector.Sight?
    /// When the busy period was first seen, and how long the process had been stopped by then.
    private var begin: (time: Int64, stoodStill: Int64) = (0, 0)
    private var told: Told?

    init(
        _ subject: any WatchedSubject,
        _ rule: StallRule,
        isDirect: Bool,
        _ handler: @escaping @Sendable (Stall) -> Void
    ) {
        self.subject = subject
        self.rule = rule
        self.handler = handler
        self.isDirect = isDirect
        interval = rule.interval.saturatingNanoseconds
        detector = StallDetector(count: rule.count, threshold: rule.threshold.saturatingNanoseconds)
    }

    var isGone: Bool { subject.subject == nil }
    var wasBusy: Bool? { lastSight?.isBusy }
    var hasNews: Bool { lastSight != subject.sight }
    var ownDue: Int64 { subject.due }

    func act(at now: Int64) -> Bool { subject.act(at: now) }

    func remove() { isRemoved.store(true, ordering: .releasing) }

    func look(
        at now: Int64,
        _ clock: RunningClock,
        number: () -> UInt64,
        perform: (@escaping @Sendable () -> Void) -> Void
    ) -> Bool {
        due = now + interval
        let sight = subject.sight
        let now = Self.time(ofSightSince: now)
        let hasNews = sight != lastSight
        lastSight = sight
        let before = detector.number
        let finding = detector.look(sight, at: clock.time(at: now))
        if finding == .over, let before, let told {
            let end = subject.end(of: before) ?? now
            // Never shorter than already announced.
            let length = max(told.length, length(until: end, clock.stoodStill(until: end)))
            tell(stall(told.number, .over, length, of: before), perform)
            self.told = nil
        }
        if detector.number != before { begin = (now, clock.stoodStill) }
        if finding == .stalled {
            subject.noteStall(of: sight.number)
            let told = Told(number: number(), length: length(until: now, clock.stoodStill))
            self.told = told
            tell(stall(told.number, .lasting, told.length, of: sight.number), perform)
        }
        return hasNews
    }

    /// When what was just seen was seen: `now` was before that, and the thread may have waited for a processor since.
    ///
    /// A period must not begin before it did. Where the process was stopped in between, the clock counts from `now` on.
    private static func time(ofSightSince now: Int64) -> Int64 {
        let later = MonotonicClock.nanoseconds
        return later - now > RunningClock.patience ? now : max(now, later)
    }

    private func length(until end: Int64, _ stoodStill: Int64) -> Duration {
        .nanoseconds(max(0, end - begin.time - (stoodStill - begin.stoodStill)))
    }

    private func stall(_ number: UInt64, _ phase: Stall.Phase, _ length: Duration, of period: UInt64) -> Stall? {
        subject.subject.map { [subject] stalled in
            Stall(
                number: number,
                subject: stalled,
                phase: phase,
                begin: HostRunLoop.Instant(nanoseconds: begin.time),
                length: length,
                rule: rule,
                thread: { subject.thread(in: period) },
                isLasting: { subject.sight == StallDetector.Sight(number: period, isBusy: true) },
                callout: { subject.callout },
                end: { subject.end(of: period).map { HostRunLoop.Instant(nanoseconds: $0) } }
            )
        }
    }

    /// Calls the handler, after a look at the stalled thread if the stall lasts.
    private func tell(_ stall: Stall?, _ perform: (@escaping @Sendable () -> Void) -> Void) {
        guard let stall else { return }
        guard !isDirect else {
            if !isRemoved.load(ordering: .acquiring) { handler(stall) }
            return
        }
        perform { [self] in
            guard !isRemoved.load(ordering: .acquiring) else { return }
            var stall = stall
            if stall.phase == .lasting { stall.look = stall.lookNow() }
            handler(stall)
        }
    }
}
