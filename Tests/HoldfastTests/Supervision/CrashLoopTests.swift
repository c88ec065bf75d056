import CrashReports
import RunLoops
import Testing

@testable import Holdfast

/// When starts are a crash loop, from lists of faults with given times.
@Suite struct CrashLoopTests {
    private static let begin: Int64 = 1_795_000_000

    private static func time(_ seconds: Double) -> Timestamp { Timestamp(seconds: begin).adding(seconds: seconds) }

    /// The same on the monotonic clock, of a machine that has run for an hour.
    private static func instant(_ seconds: Double) -> HostRunLoop.Instant {
        HostRunLoop.Instant(nanoseconds: 0).advanced(by: .seconds(3600 + seconds))
    }

    private static func fault(
        at seconds: Double,
        _ outcome: PastFault.Outcome = .terminated,
        label: String = "",
        lived: Double? = nil,
        number: Int = 1,
        phase: ProcessPhase? = nil,
        pid: Int = 42,
        isOfStartItem: Bool = true
    ) -> PastFault {
        PastFault(
            number: number,
            signal: 11,
            outcome: outcome,
            label: label,
            time: time(seconds),
            processStart: lived.map { time(seconds - $0) },
            pid: pid,
            phase: phase,
            isOfStartItem: isOfStartItem
        )
    }

    /// The default, but for giving up after three ends in safe mode.
    private static let givingUp = CrashLoopPolicy(givesUpAfter: 3)

    private static func assess(
        _ faults: [PastFault],
        earlyRestarts: Int = 0,
        now seconds: Double,
        _ policy: CrashLoopPolicy = givingUp
    ) -> StartAssessment {
        let history = RestartHistory(restarts: earlyRestarts, earlyRestarts: earlyRestarts)
        return policy.assess(history, faults: faults, now: time(seconds), at: instant(seconds))
    }

    /// So many ends, some seconds apart.
    private static func ends(_ count: Int, every pause: Double = 1, from start: Double = 0) -> [PastFault] {
        (0..<count).map { fault(at: start + Double($0) * pause, label: "item \($0)") }
    }

    @Test func `A first start is a normal one`() {
        #expect(Self.assess([], now: 0) == StartAssessment(stage: .normal, earlyEnds: 0))
    }

    @Test(
        arguments: [
            (0, "normal"), (1, "normal"), (4, "normal"), (5, "safe"), (6, "safe"), (7, "safe"), (8, "give up"),
            (9, "give up"), (1000, "give up"),
        ]
    )
    func `Five ends within a minute bring safe mode, three more the end`(count: Int, stage: String) {
        let store = Self.assess(Self.ends(count, every: 0.05), now: Double(count) * 0.05)
        let environment = Self.assess([], earlyRestarts: count, now: 0)
        for assessment in [store, environment] {
            #expect(Self.name(assessment.stage) == stage)
            #expect(assessment.earlyEnds == count)
        }
    }

    @Test func `The default never gives up`() {
        #expect(Self.name(Self.assess(Self.ends(1000, every: 0.01), now: 10, .default).stage) == "safe")
        #expect(Self.name(Self.assess([], earlyRestarts: .max, now: 0, .default).stage) == "safe")
    }

    private static func name(_ stage: StartStage) -> String {
        switch stage {
        case .normal: "normal"
        case .safeMode: "safe"
        case .giveUp: "give up"
        }
    }

    @Test func `A process that was restarted in place counts by its environment`() {
        #expect(Self.name(Self.assess(Self.ends(8), earlyRestarts: 1, now: 9).stage) == "normal")
        #expect(Self.name(Self.assess(Self.ends(1), earlyRestarts: 8, now: 9).stage) == "give up")
        #expect(Self.name(Self.assess(Self.ends(1), earlyRestarts: 5, now: 9).stage) == "safe")
    }

    @Test func `An end is that of a process, however many of its threads fault`() {
        let threads = (1...8).map { Self.fault(at: 0.1 + Double($0) / 1e6, lived: 0.1 + Double($0) / 1e6, number: $0) }
        #expect(Self.assess(threads, now: 1).earlyEnds == 1)
        let four = (0..<4).flatMap { process in
            (1...8).map { Self.fault(at: Double(process) + 0.5, lived: 0.25, number: $0) }
        }
        #expect(Self.assess(four, now: 5).earlyEnds == 4)
        #expect(Self.name(Self.assess(four, now: 5).stage) == "normal")
    }

    @Test func `The end of a process that served does not count, and begins the count again`() {
        let served = (0..<100).map { Self.fault(at: Double($0) * 0.1, lived: 0.05, phase: .serving) }
        let assessment = Self.assess(served, now: 11)
        #expect(Self.name(assessment.stage) == "normal")
        #expect(assessment.earlyEnds == 0)
        #expect(assessment.wait(.restarts, jitter: 0, now: Self.time(11)) == .zero)
        let mixed = Self.ends(4) + [Self.fault(at: 5, phase: .serving)] + Self.ends(4, from: 6)
        #expect(Self.assess(mixed, now: 10).earlyEnds == 4)
        // In safe mode it says nothing of what was left out.
        let safe = Self.ends(5) + [Self.fault(at: 6, lived: 0.5, phase: .serving)]
        #expect(Self.name(Self.assess(safe, now: 7).stage) == "safe")
        #expect(Self.assess(safe, now: 7).wait(.restarts, jitter: 0, now: Self.time(7)) == .zero)
    }

    @Test func `In safe mode with nothing left out, what is served begins the count again`() {
        let unnamed = (1...5).map { Self.fault(at: Double($0), isOfStartItem: false) }
        #expect(Self.assess(unnamed, now: 5.5).stage == .safeMode(without: []))
        let served = unnamed + [Self.fault(at: 6, lived: 0.5, phase: .serving, isOfStartItem: false)]
        #expect(Self.assess(served, now: 7).stage == .normal)
        #expect(Self.assess(served, now: 7).earlyEnds == 0)
        // As over restarts in place.
        #expect(!StartStage.safeMode(without: []).leavesSomethingOut)
        #expect(StartStage.safeMode(without: ["timer"]).leavesSomethingOut)
    }

    // MARK: Side by side

    @Test func `Processes that ran side by side do not add up, those that followed one another do`() {
        let ten = (0..<10).map { Self.fault(at: 1 + Double($0) * 0.01, lived: 0.5 + Double($0) * 0.01, pid: 100 + $0) }
        #expect(Self.assess(ten, now: 2).earlyEnds == 1)
        #expect(Self.name(Self.assess(ten, now: 2).stage) == "normal")
        // A pool that is started again is one of generations.
        let generations = (0..<5).flatMap { generation in
            ten.map { fault in
                var fault = fault
                fault.time = fault.time.adding(seconds: Double(generation))
                fault.processStart = fault.processStart?.adding(seconds: Double(generation))
                return fault
            }
        }
        #expect(Self.assess(generations, now: 6).earlyEnds == 5)
        #expect(Self.name(Self.assess(generations, now: 6).stage) == "safe")
    }

    @Test func `One that began while the last ended is beside it, one that began at that moment follows it`() {
        let first = Self.fault(at: 1, lived: 0.5)
        #expect(Self.assess([first, Self.fault(at: 1.5, lived: 0.6, pid: 43)], now: 2).earlyEnds == 1)
        #expect(Self.assess([first, Self.fault(at: 1.5, lived: 0.5, pid: 43)], now: 2).earlyEnds == 2)
    }

    @Test func `Where the start is not known, or comes after the end, a process follows the last one`() {
        let first = Self.fault(at: 1, lived: 0.5)
        #expect(Self.assess([first, Self.fault(at: 1.1)], now: 2).earlyEnds == 2)
        #expect(Self.assess([first, Self.fault(at: 1.1, lived: -3600, pid: 43)], now: 2).earlyEnds == 2)
        #expect(Self.assess([Self.fault(at: 1), Self.fault(at: 1.1, lived: 0.05, pid: 43)], now: 2).earlyEnds == 2)
    }

    // MARK: The end of safe mode

    @Test func `Safe mode lasts for the probation as a whole, whatever ends processes in it that served`() throws {
        // A minute, and 0.8 seconds that the first may have waited; a fault every five seconds.
        let served = (1..<13).map { Self.fault(at: 4 + Double($0) * 5, lived: 4.9, phase: .serving) }
        let policy = CrashLoopPolicy(window: .seconds(600))
        for (now, stage) in [(5.0, "safe"), (64.7, "safe"), (64.9, "normal")] {
            let assessment = Self.assess(Self.ends(5) + served.filter { $0.time <= Self.time(now) }, now: now, policy)
            #expect(Self.name(assessment.stage) == stage)
            #expect(assessment.earlyEnds == (stage == "safe" ? 5 : 0))
            guard stage == "safe" else { continue }
            let began = try #require(assessment.safeModeBegan)
            // Where the first process in it began to serve, but for what seconds lose as numbers with a point.
            #expect(abs(began.duration(to: Self.instant(4.8)) / .milliseconds(1)) < 1)
        }
    }

    @Test func `A row without anything served goes on after safe mode, and only further ends begin the next`() {
        let policy = CrashLoopPolicy(window: .seconds(600), givesUpAfter: 10)
        // The sixth and seventh end are in safe mode, which is over at 65 seconds.
        let stages = [7: "normal", 8: "normal", 11: "normal", 12: "safe", 14: "safe", 15: "give up"]
        for (count, stage) in stages {
            let later = (7..<count).map { Self.fault(at: 70 + Double($0), label: "late", lived: 0.1) }
            let assessment = Self.assess(Self.ends(7) + later, now: 90, policy)
            #expect(Self.name(assessment.stage) == stage)
            #expect(assessment.earlyEnds == count)
            if stage == "safe" { #expect(assessment.stage == .safeMode(without: ["late"])) }
        }
    }

    @Test func `Restarts in place are in safe mode until the minute from its begin is over`() {
        let policy = CrashLoopPolicy.default
        for (phase, count) in [(ProcessPhase.serving, 0), (.running, 7), (.starting, 7)] {
            var history = RestartHistory(restarts: 9, earlyRestarts: 7, lastPhase: phase)
            history.safeModeBegan = Self.instant(0)
            let before = policy.assess(history, now: Self.time(0), at: Self.instant(59.9))
            #expect(Self.name(before.stage) == "safe")
            #expect(before.safeModeBegan == Self.instant(0))
            let over = policy.assess(history, now: Self.time(0), at: Self.instant(60))
            #expect(over == StartAssessment(stage: .normal, earlyEnds: count, answeredEnds: count, lastPhase: phase))
        }
    }

    @Test func `After safe mode only new early restarts begin another`() {
        for (count, stage) in [(7, "normal"), (11, "normal"), (12, "safe")] {
            var history = RestartHistory(restarts: count, earlyRestarts: count)
            history.answeredRestarts = 7
            let assessment = CrashLoopPolicy.default.assess(history, now: Self.time(0), at: Self.instant(0))
            #expect(Self.name(assessment.stage) == stage)
            #expect(assessment.safeModeBegan == nil)
        }
    }

    @Test(arguments: [Int64.max, 3_600_000_000_001])
    func `A begin of safe mode that is still to come is not believed`(nanoseconds: Int64) {
        var history = RestartHistory(restarts: 5, earlyRestarts: 5)
        history.safeModeBegan = HostRunLoop.Instant(nanoseconds: nanoseconds)
        let assessment = CrashLoopPolicy.default.assess(history, now: Self.time(0), at: Self.instant(0))
        #expect(Self.name(assessment.stage) == "safe")
        #expect(assessment.safeModeBegan == nil)
    }

    // MARK: Pauses

    @Test func `Before a restart in place nothing was waited, however long ago the fault was`() {
        let entries = RestartHistory.none.environmentForRestart(base: [], isHealthy: false, pid: 1)
        let environment = Dictionary(
            uniqueKeysWithValues: entries.map { entry in
                let parts = entry.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                return (String(parts[0]), String(parts[1]))
            }
        )
        var history = RestartHistory(environment: environment, pid: 1)
        history.earlyRestarts = 4
        let ends = Self.ends(4, every: 0.01)
        let assessment = CrashLoopPolicy.default.assess(history, faults: ends, now: Self.time(9), at: .now)
        #expect(assessment.wait(.restarts, jitter: 0, now: Self.time(9)) == .milliseconds(400))
    }

    @Test func `What an outer supervisor waited is not waited again`() {
        let ends = Self.ends(4, every: 0.01)
        let assessment = Self.assess(ends, now: 0.23)
        // The fourth costs 400 milliseconds.
        #expect(assessment.wait(.restarts, jitter: 0, now: Self.time(0.23)) == .milliseconds(200))
        #expect(assessment.wait(.restarts, jitter: 0, now: Self.time(9)) == .zero)
        #expect(assessment.wait(.restarts, jitter: 0, now: Self.time(-9)) == .milliseconds(400))
    }

    @Test func `Ends that are too far apart are none of a loop`() {
        #expect(Self.name(Self.assess(Self.ends(5, every: 15), now: 61).stage) == "safe", "the fifth came at 60 s")
        #expect(Self.name(Self.assess(Self.ends(100, every: 15.1), now: 1501).stage) == "normal")
        #expect(Self.name(Self.assess(Self.ends(100, every: 61), now: 6050).stage) == "normal")
    }

    @Test func `A healthy stretch begins the count again, in safe mode, too`() {
        let loop = Self.ends(5)
        #expect(Self.name(Self.assess(loop + [Self.fault(at: 70)], now: 71).stage) == "normal")
        #expect(Self.assess(loop + [Self.fault(at: 70)], now: 71).earlyEnds == 1)
        #expect(Self.name(Self.assess(Self.ends(5) + Self.ends(1, from: 6), now: 7).stage) == "safe")
        #expect(Self.name(Self.assess(loop + Self.ends(2, from: 10), now: 13).stage) == "safe")
        #expect(
            Self.name(Self.assess(loop + Self.ends(2, from: 10) + Self.ends(2, from: 90), now: 93).stage) == "normal"
        )
        #expect(Self.name(Self.assess(Self.ends(8), now: 7.5).stage) == "give up")
        #expect(Self.name(Self.assess(Self.ends(8), now: 70).stage) == "normal", "somebody started it by hand, later")
    }

    @Test func `The pause of an outer supervisor is no healthy stretch where the start is known`() {
        let policy = CrashLoopPolicy(window: .seconds(3600), givesUpAfter: 3)
        let known = (0..<8).map { Self.fault(at: Double($0) * 100, lived: 0.2) }
        #expect(Self.name(Self.assess(known, now: 710, policy).stage) == "give up")
        let unknown = (0..<8).map { Self.fault(at: Double($0) * 4000) }
        #expect(Self.name(Self.assess(unknown, now: 28_010, policy).stage) == "normal")
        let healthy = (0..<8).map { Self.fault(at: Double($0) * 100, lived: 90) }
        #expect(Self.name(Self.assess(healthy, now: 710, policy).stage) == "normal")
    }

    @Test func `Faults that were resumed are no ends`() {
        let faults = (0..<100).map { Self.fault(at: Double($0) * 0.1, .resumed, number: $0 + 1) }
        #expect(Self.assess(faults, now: 11) == StartAssessment(stage: .normal, earlyEnds: 0))
        let serving = (0..<9).map { Self.fault(at: Double($0), .resumed, label: "x", number: $0 + 1, phase: .serving) }
        #expect(CrashLoopPolicy.culprits(of: serving) == [])
    }

    @Test func `The order in the store does not matter, and a fault counts once`() {
        let ends = Self.ends(7)
        #expect(Self.assess(ends.reversed(), now: 8) == Self.assess(ends, now: 8))
        var history = RestartHistory(restarts: 0, earlyRestarts: 0)
        for end in ends { history.add(end) }
        let both = Self.givingUp.assess(history, faults: ends, now: Self.time(8), at: Self.instant(8))
        #expect(both == Self.assess(ends, now: 8))
        #expect(both.earlyEnds == 7)
    }

    @Test func `What is said to come later is not believed`() {
        #expect(Self.assess(Self.ends(100, from: 1000), now: 10) == StartAssessment(stage: .normal, earlyEnds: 0))
    }

    @Test func `Safe mode goes without what was quarantined and what ended the processes`() {
        var faults = [
            Self.fault(at: 0, .resumed, label: "unlucky"), Self.fault(at: 0.1, .quarantined, label: "broken"),
            Self.fault(at: 0.2, .terminated, label: ""),
        ]
        faults += (1...4).map { Self.fault(at: Double($0), .restarted, label: "killer") }
        #expect(Self.assess(faults, now: 5).stage == .safeMode(without: ["broken", "killer"]))
        faults.append(Self.fault(at: 4.5, .resumed, label: "last"))
        #expect(Self.assess(faults, now: 5).stage == .safeMode(without: ["broken", "killer", "last"]))
    }

    @Test func `Safe mode goes without nothing that cannot be told apart`() {
        let faults = (0..<5).map { Self.fault(at: Double($0), label: "connection", isOfStartItem: false) }
        #expect(Self.assess(faults, now: 5).stage == .safeMode(without: []))
    }

    @Test func `Restarts in place know their culprits from what they carry`() {
        var history = RestartHistory(restarts: 5, earlyRestarts: 5)
        #expect(CrashLoopPolicy.default.assess(history, now: Self.time(0), at: .now).stage == .safeMode(without: []))
        history.add(Self.fault(at: 0, .resumed, label: "clock"))
        let assessment = CrashLoopPolicy.default.assess(history, now: Self.time(99), at: .now)
        #expect(assessment.stage == .safeMode(without: ["clock"]))
    }

    @Test(arguments: [(0, 0), (-5, -5), (Int.min, Int.min)])
    func `Counts below one are one`(early: Int, safe: Int) {
        let policy = CrashLoopPolicy(earlyEnds: early, givesUpAfter: safe)
        #expect(Self.name(Self.assess([], now: 0, policy).stage) == "normal")
        #expect(Self.name(Self.assess(Self.ends(1), now: 1, policy).stage) == "safe")
        #expect(Self.name(Self.assess(Self.ends(2), now: 2, policy).stage) == "give up")
    }

    @Test func `The greatest counts are never reached, and overflow nothing`() {
        let policy = CrashLoopPolicy(earlyEnds: .max, givesUpAfter: .max)
        #expect(Self.name(Self.assess(Self.ends(100), earlyRestarts: .max - 1, now: 101, policy).stage) == "normal")
    }

    @Test func `The exit code of giving up is the one that s6 knows`() {
        #expect(CrashLoopPolicy.permanentFailureExitCode == 125)
    }

    // MARK: Waiting between starts

    @Test func `The first early end costs no wait, each further one twice as much, up to the longest`() {
        let backOff = BackOff(first: .seconds(1), longest: .seconds(10))
        let waits = (0...7).map { backOff.delay(afterEarlyEnds: $0, jitter: 0) }
        #expect(waits == [0, 0, 1, 2, 4, 8, 10, 10].map { .seconds($0) })
        #expect(backOff.delay(afterEarlyEnds: .max, jitter: 0) == .seconds(10))
        #expect(BackOff.none.delay(afterEarlyEnds: .max, jitter: 0) == .zero)
        #expect(BackOff(first: .seconds(-1), longest: .seconds(-1)).delay(afterEarlyEnds: 9, jitter: 1) == .zero)
    }

    @Test(arguments: [(0, 8), (0.5, 6), (1, 4), (-3, 8), (7, 4), (Double.nan, 8), (.infinity, 4), (-.infinity, 8)])
    func `Jitter takes up to half of the wait`(jitter: Double, seconds: Int) {
        let backOff = BackOff(first: .seconds(8), longest: .seconds(8))
        #expect(backOff.delay(afterEarlyEnds: 2, jitter: jitter) == .seconds(seconds))
    }
}
