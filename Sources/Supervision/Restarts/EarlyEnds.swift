internal import CrashReports

/// How far a row of early ends has come: a pure state machine over faults in the order of their times.
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
    /// The times of the ends among them.
    private var ends: [Timestamp] = []
    private var endsInSafeMode = 0
    private(set) var phase = Phase.normal

    init(_ policy: CrashLoopPolicy) {
        self.policy = policy
    }

    /// How many ends there were since the last healthy stretch.
    var count: Int { ends.count }

    /// The labels that a safe mode goes without.
    var culprits: Set<String> { CrashLoopPolicy.culprits(of: faults) }

    mutating func add(_ fault: PastFault) {
        if fault.outcome.endsProcess, wasHealthy(until: fault) { reset() }
        faults.append(fault)
        guard fault.outcome.endsProcess else { return }
        ends.append(fault.time)
        switch phase {
        case .normal:
            let needed = max(1, policy.earlyEnds)
            if ends.count >= needed, ends[ends.count - needed].time(to: fault.time) <= policy.window { phase = .safe }
        case .safe, .gaveUp:
            endsInSafeMode += 1
            if endsInSafeMode >= max(1, policy.earlyEndsInSafeMode) { phase = .gaveUp }
        }
    }

    /// A process begins: nothing is known of it yet, but what is long ago no longer counts.
    mutating func begin(at now: Timestamp) {
        if let last = ends.last, last.time(to: now) >= policy.healthyAfter { reset() }
    }

    /// Whether the process that the fault ended had lived long enough: since its own start, or else since the end before.
    private func wasHealthy(until fault: PastFault) -> Bool {
        guard let begin = fault.processStart ?? ends.last else { return false }
        return begin.time(to: fault.time) >= policy.healthyAfter
    }

    private mutating func reset() {
        faults = []
        ends = []
        endsInSafeMode = 0
        phase = .normal
    }
}

extension Timestamp {
    /// How much later another time is; both lie between 1970 and 9999.
    fileprivate func time(to other: Timestamp) -> Duration {
        .microseconds(other.microsecondsSinceEpoch - microsecondsSinceEpoch)
    }
}
