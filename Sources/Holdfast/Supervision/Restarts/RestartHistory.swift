internal import LinuxSystem
package import RunLoops

/// What a process knows of the restarts in place before it, carried in its environment.
///
/// Everybody may write an environment: what is not understood counts as none, and no value is believed beyond its limits.
package struct RestartHistory: Sendable, Hashable {
    /// How often this process was restarted in place.
    package var restarts: Int
    /// How many restarts in a row ended a process that had served nothing, without a healthy stretch between.
    ///
    /// Those that the program asked for are not counted.
    package var earlyRestarts: Int
    /// How many of those a safe mode has answered that is over: only others can begin the next.
    package var answeredRestarts = 0
    /// When safe mode began to serve, for it lasts over restarts; nil where it did not, or there is none.
    package var safeModeBegan: HostRunLoop.Instant?
    /// How far the process before this one had come; nil if this one was not restarted.
    package var lastPhase: ProcessPhase?
    /// Why the process before this one was replaced.
    package var reason: RestartReason
    /// The last faults, the newest last, at most 8.
    ///
    /// A restart for a fault begins inside a signal handler, with an environment that was prepared before it: that fault is
    /// not among them. The spool file has it; its reader adds it (`add(_:)`).
    package private(set) var faults: [PastFault]

    /// Signals that were held back for this process, as bits.
    package var heldSignals: UInt64

    static let restartsKey = "HOLDFAST_RESTARTS"
    static let earlyKey = "HOLDFAST_EARLY_RESTARTS"
    static let reasonKey = "HOLDFAST_RESTART_REASON"
    static let faultsKey = "HOLDFAST_LAST_FAULTS"
    static let heldKey = "HOLDFAST_HELD_SIGNALS"
    static let pidKey = "HOLDFAST_PID"
    static let phaseKey = "HOLDFAST_LAST_PHASE"
    static let answeredKey = "HOLDFAST_ANSWERED_RESTARTS"
    static let safeModeKey = "HOLDFAST_SAFE_MODE_SINCE"

    /// The variables that carry it: to be taken out of the environment once they are read.
    package static let variables = [
        restartsKey, earlyKey, reasonKey, faultsKey, heldKey, pidKey, phaseKey, answeredKey, safeModeKey,
    ]

    /// The history of a process that was not restarted.
    package static let none = RestartHistory(restarts: 0, earlyRestarts: 0)

    init(
        restarts: Int,
        earlyRestarts: Int,
        reason: RestartReason = .none,
        faults: [PastFault] = [],
        heldSignals: UInt64 = 0,
        lastPhase: ProcessPhase? = nil
    ) {
        self.restarts = restarts
        self.earlyRestarts = earlyRestarts
        self.reason = reason
        self.faults = faults
        self.heldSignals = heldSignals
        self.lastPhase = lastPhase
    }

    /// Reads it from an environment; what is not understood counts as none.
    ///
    /// A restart in place keeps the pid. An environment that names another one was inherited from a parent, whose history is not
    /// this process's.
    package init(environment: [String: String], pid: CInt) {
        self = environment[Self.pidKey] == "\(pid)" ? RestartHistory(environment: environment) : .none
        for index in faults.indices { faults[index].pid = Int(pid) }
    }

    init(environment: [String: String]) {
        heldSignals = environment[Self.heldKey].flatMap { UInt64($0, radix: 16) } ?? 0
        restarts = Self.count(environment[Self.restartsKey])
        earlyRestarts = Self.count(environment[Self.earlyKey])
        reason = [.fault, .planned, .requested].first { $0.word == environment[Self.reasonKey] } ?? .none
        faults = environment[Self.faultsKey].map(PastFault.faults(in:)) ?? []
        lastPhase = environment[Self.phaseKey].flatMap(ProcessPhase.init)
        answeredRestarts = min(Self.count(environment[Self.answeredKey]), earlyRestarts)
        // Whether it is a time that has been is for those who know the present.
        safeModeBegan = environment[Self.safeModeKey].flatMap { Int64($0) }
            .flatMap { $0 >= 0 ? HostRunLoop.Instant(nanoseconds: $0) : nil }
    }

    /// A number that can still be counted up, whatever the environment says.
    private static func count(_ text: String?) -> Int {
        min(max(0, text.flatMap(Int.init) ?? 0), Int.max - 1)
    }

    /// Adds a fault of the process before this one, or of this one, which the next environment carries, too.
    ///
    /// One that is there already is not added again; of more than 8, the oldest is dropped.
    package mutating func add(_ fault: PastFault) {
        guard !faults.contains(where: { $0.isSame(as: fault) }) else { return }
        // Behind those of the same time: they may come in any order of places, but each place has its own order.
        let place = faults.lastIndex { $0.time <= fault.time }.map { $0 + 1 } ?? 0
        faults.insert(fault, at: place)
        if faults.count > PastFault.carriedFaults { faults.removeFirst() }
    }

    /// The environment that a restart begins with.
    ///
    /// One for `.fault` is prepared at once, because a handler cannot make it; others when they are about to be used.
    ///
    /// - Parameters:
    ///   - base: The environment of this process, as `key=value`.
    ///   - phase: How far this process has come.
    ///   - isHealthy: Whether it lived long enough.
    ///   - isInSafeMode: Whether it goes without what faulted before: then what it served says nothing of that.
    ///   - holding: Signals that are held back, as bits.
    ///   - pid: The pid that the process keeps.
    ///   - reason: Why it is restarted.
    /// - Returns: The environment, as `key=value`.
    package func environmentForRestart(
        base: [String],
        phase: ProcessPhase = .running,
        isHealthy: Bool,
        isInSafeMode: Bool = false,
        holding: UInt64 = 0,
        pid: CInt,
        reason: RestartReason = .fault
    ) -> [String] {
        let hasServed = phase == .serving
        let early =
            isHealthy || hasServed && !isInSafeMode
            ? 0 : earlyRestarts + (reason == .requested || hasServed ? 0 : 1)
        var environment = base.filter { entry in !Self.variables.contains { entry.hasPrefix($0 + "=") } }
        environment.append("\(Self.pidKey)=\(pid)")
        environment.append("\(Self.heldKey)=\(HexDigits.text(holding, count: 1))")
        environment.append("\(Self.restartsKey)=\(restarts + 1)")
        environment.append("\(Self.earlyKey)=\(early)")
        environment.append("\(Self.reasonKey)=\(reason.word)")
        environment.append("\(Self.phaseKey)=\(phase.rawValue)")
        if early > 0, answeredRestarts > 0 {
            environment.append("\(Self.answeredKey)=\(min(answeredRestarts, early))")
        }
        if early > 0, isInSafeMode, let safeModeBegan {
            environment.append("\(Self.safeModeKey)=\(safeModeBegan.nanoseconds)")
        }
        if !faults.isEmpty { environment.append("\(Self.faultsKey)=\(PastFault.text(of: faults))") }
        return environment
    }
}
