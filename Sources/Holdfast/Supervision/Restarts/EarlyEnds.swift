internal import CrashReports

/// How far a row of early ends has come: a pure state machine over faults in the order of their times.
///
/// An end is that of a process, however many of its threads faulted. It is an early one if the process had served nothing. Only
/// processes that followed one another are a row: those that ran side by side do not add up.
struct EarlyEnds {
    /// What the process after the faults so far is.
    enum Phase {
        case normal
        case safe
        case gaveUp
    }

    private let policy: CrashLoopPolicy
    /// The faults since the last healthy stretch.
    private var faults: [PastFault] = []
    /// The fault with which each early end began.
    private var ends: [PastFault] = []
    /// How many of them there were when safe mode came first.
    private var endsBeforeSafeMode: Int?
    /// How many of them a safe mode has answered that is over: only others can begin the next.
    private(set) var answered = 0
    /// When safe mode began to serve, at the latest.
    private(set) var safeModeBegan: Timestamp?
    /// The last fault that ended a process, early or not.
    private(set) var lastEnd: PastFault?
    private(set) var phase = Phase.normal

    init(_ policy: CrashLoopPolicy) {
        self.policy = policy
    }

    /// How many early ends there were since the last healthy stretch.
    var count: Int { ends.count }

    /// The labels that a safe mode goes without.
    var culprits: Set<String> { CrashLoopPolicy.culprits(of: faults) }

    mutating func add(_ fault: PastFault) {
        endSafeMode(at: fault.time)
        guard fault.outcome.endsProcess else { return faults.append(fault) }
        let isKnown = (ends + [lastEnd].compactMap { $0 }).contains { $0.hasSameProcess(as: fault) }
        if !isKnown, wasHealthy(until: fault) { reset() }
        lastEnd = fault
        // In safe mode, serving proves nothing about the items that were left out, if there are any.
        if fault.phase == .serving {
            if phase == .normal || phase == .safe && culprits.isEmpty { reset() }
            return
        }
        faults.append(fault)
        guard !isKnown, followsTheLast(fault) else { return }
        ends.append(fault)
        let needed = max(1, policy.earlyEnds)
        if phase == .normal, ends.count - answered >= needed,
            ends[ends.count - needed].time.time(to: fault.time) <= policy.window
        {
            phase = .safe
            let wait = policy.backOff.delay(afterEarlyEnds: ends.count, jitter: 0)
            safeModeBegan = fault.time.adding(seconds: wait / .seconds(1))
        }
        let before = endsBeforeSafeMode ?? ends.count
        if phase == .safe { endsBeforeSafeMode = before }
        if let limit = policy.givesUpAfter, ends.count - before >= max(1, limit) { phase = .gaveUp }
    }

    /// Whether the process of a fault began after the last end of the row.
    ///
    /// Where the start is not known, or the clock was set back since, nothing says that it did not.
    private func followsTheLast(_ fault: PastFault) -> Bool {
        guard let last = ends.last, let start = fault.processStart, start <= fault.time else { return true }
        return start >= last.time
    }

    /// Ends safe mode if it is over by then.
    private mutating func endSafeMode(at time: Timestamp) {
        guard phase == .safe, let safeModeBegan, safeModeBegan.time(to: time) >= policy.healthyAfter else { return }
        // The row goes on, unless something was served.
        if lastEnd?.phase == .serving { return reset() }
        phase = .normal
        answered = ends.count
        faults = []
    }

    /// A process begins: nothing is known of it yet, but what is long ago no longer counts.
    mutating func begin(at now: Timestamp) {
        if let last = ends.last, last.time.time(to: now) >= policy.window { reset() }
        endSafeMode(at: now)
    }

    /// Whether the process that the fault ended had lived long enough: since its own start, or else since the end before.
    private func wasHealthy(until fault: PastFault) -> Bool {
        guard let start = fault.processStart else {
            guard let last = ends.last else { return false }
            return last.time.time(to: fault.time) >= policy.window
        }
        let lived = start.time(to: fault.time)
        switch phase {
        // Where it is known how far it had come, that counts: it may have waited for most of its life.
        case .normal: return fault.phase == nil && lived >= policy.healthyAfter
        // It is over when its time is.
        case .safe: return false
        case .gaveUp: return lived >= policy.healthyAfter + max(.zero, policy.backOff.longest)
        }
    }

    private mutating func reset() {
        faults = []
        ends = []
        endsBeforeSafeMode = nil
        answered = 0
        safeModeBegan = nil
        phase = .normal
    }
}

extension Timestamp {
    /// How much later another time is; both lie between 1970 and 9999.
    func time(to other: Timestamp) -> Duration {
        .microseconds(other.microsecondsSinceEpoch - microsecondsSinceEpoch)
    }
}
