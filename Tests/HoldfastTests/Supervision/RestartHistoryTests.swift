import RunLoops
import Testing

@testable import Holdfast

/// What a process hands to the one that takes its place, through the environment.
@Suite struct RestartHistoryTests {
    private static func environment(_ entries: [String]) -> [String: String] {
        Dictionary(
            entries.map { entry in
                let parts = entry.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                return (String(parts[0]), String(parts[1]))
            },
            uniquingKeysWith: { $1 }
        )
    }

    @Test func `A process that was not restarted has no history`() {
        #expect(RestartHistory(environment: [:], pid: 1) == .none)
        #expect(RestartHistory(environment: ["HOME": "/", "HOLDFAST_STORE": "/store"]) == .none)
        #expect(RestartHistory.none.reason == .none)
        #expect(RestartHistory.none.faults.isEmpty)
    }

    @Test func `What is written is read, generation after generation`() {
        var history = RestartHistory.none
        var entries = ["HOME=/", "EMPTY=", "EQUALS=a=b"]
        for generation in 1...5 {
            entries = history.environmentForRestart(
                base: entries,
                isHealthy: false,
                holding: 1 << 14,
                pid: 42
            )
            history = RestartHistory(environment: Self.environment(entries), pid: 42)
            #expect(history.restarts == generation)
            #expect(history.earlyRestarts == generation)
            #expect(history.heldSignals == 1 << 14)
        }
        #expect(entries.filter { !$0.hasPrefix("HOLDFAST_") } == ["HOME=/", "EMPTY=", "EQUALS=a=b"])
        #expect(entries.count == 9, "each of ours once")
    }

    @Test func `A child does not take its parent's history for its own`() {
        let entries = RestartHistory.none.environmentForRestart(
            base: [],
            isHealthy: false,
            pid: 42
        )
        #expect(RestartHistory(environment: Self.environment(entries), pid: 42).restarts == 1)
        #expect(RestartHistory(environment: Self.environment(entries), pid: 43) == .none)
    }

    @Test func `A healthy process begins to count early restarts again`() {
        let history = RestartHistory(restarts: 9, earlyRestarts: 9)
        let next = RestartHistory(
            environment: Self.environment(
                history.environmentForRestart(base: [], isHealthy: true, pid: 42)
            )
        )
        #expect(next == RestartHistory(restarts: 10, earlyRestarts: 0, reason: .fault, lastPhase: .running))
    }

    @Test(arguments: ProcessPhase.allCases)
    func `A process that served is no early end, and in safe mode leaves the count as it is`(phase: ProcessPhase) {
        let history = RestartHistory(restarts: 9, earlyRestarts: 6)
        func next(inSafeMode: Bool) -> RestartHistory {
            let entries = history.environmentForRestart(
                base: [],
                phase: phase,
                isHealthy: false,
                isInSafeMode: inSafeMode,
                pid: 42
            )
            return RestartHistory(environment: Self.environment(entries), pid: 42)
        }
        #expect(next(inSafeMode: false).earlyRestarts == (phase == .serving ? 0 : 7))
        #expect(next(inSafeMode: true).earlyRestarts == (phase == .serving ? 6 : 7))
        #expect(next(inSafeMode: true).lastPhase == phase)
    }

    @Test func `Safe mode is carried with its begin, and what it answered with the row`() {
        var history = RestartHistory(restarts: 9, earlyRestarts: 6)
        history.answeredRestarts = 6
        history.safeModeBegan = HostRunLoop.Instant(nanoseconds: 42_000_000_007)
        func next(_ phase: ProcessPhase, inSafeMode: Bool) -> RestartHistory {
            let entries = history.environmentForRestart(
                base: ["HOLDFAST_SAFE_MODE_SINCE=1", "HOLDFAST_ANSWERED_RESTARTS=1"],
                phase: phase,
                isHealthy: false,
                isInSafeMode: inSafeMode,
                pid: 42
            )
            return RestartHistory(environment: Self.environment(entries), pid: 42)
        }
        for phase in ProcessPhase.allCases {
            #expect(next(phase, inSafeMode: true).safeModeBegan == history.safeModeBegan)
        }
        #expect(next(.running, inSafeMode: false).safeModeBegan == nil)
        #expect(next(.running, inSafeMode: false).answeredRestarts == 6)
        #expect(next(.serving, inSafeMode: false).answeredRestarts == 0, "the row is over")
    }

    @Test(arguments: ["", "-1", "\(Int64.min)", "soon", "1.5", " 7", "99999999999999999999", "0x7", "\u{0}"])
    func `A begin of safe mode that is no time counts as none`(value: String) {
        let environment = ["HOLDFAST_EARLY_RESTARTS": "5", "HOLDFAST_SAFE_MODE_SINCE": value]
        #expect(RestartHistory(environment: environment).safeModeBegan == nil)
    }

    @Test(arguments: [("-3", 0), ("x", 0), ("4", 4), ("6", 5), ("\(Int.max)", 5)])
    func `No more early restarts are answered than there were`(value: String, answered: Int) {
        let environment = ["HOLDFAST_EARLY_RESTARTS": "5", "HOLDFAST_ANSWERED_RESTARTS": value]
        #expect(RestartHistory(environment: environment).answeredRestarts == answered)
    }

    @Test(arguments: [RestartReason.none, .fault, .planned, .requested])
    func `The next process knows why it was started`(reason: RestartReason) {
        let entries = RestartHistory.none.environmentForRestart(
            base: ["HOLDFAST_RESTART_REASON=lies"],
            isHealthy: false,
            pid: 42,
            reason: reason
        )
        let next = RestartHistory(environment: Self.environment(entries), pid: 42)
        #expect(next.reason == reason)
        #expect(next.earlyRestarts == (reason == .requested ? 0 : 1), "what was asked for is no crash")
    }

    @Test(arguments: ["", "crash", "FAULT", "fault ", "\u{0}"])
    func `A reason that is none counts as none`(value: String) {
        #expect(RestartHistory(environment: ["HOLDFAST_RESTART_REASON": value]).reason == .none)
    }

    @Test func `Other variables that begin alike stay`() {
        let base = ["HOLDFAST_RESTARTS_X=1", "HOLDFAST_RESTARTS=4", "XHOLDFAST_RESTARTS=2"]
        let entries = RestartHistory.none.environmentForRestart(base: base, isHealthy: false, pid: 42)
        #expect(entries.prefix(2) == ["HOLDFAST_RESTARTS_X=1", "XHOLDFAST_RESTARTS=2"])
        #expect(entries.filter { $0.hasPrefix("HOLDFAST_RESTARTS=") } == ["HOLDFAST_RESTARTS=1"])
    }

    @Test(arguments: ["", "-1", "x", "1x", " 1", "99999999999999999999", "1.5", "0x10", "\u{0}"])
    func `Numbers that are none count as none`(value: String) {
        let history = RestartHistory(
            environment: ["HOLDFAST_RESTARTS": value, "HOLDFAST_EARLY_RESTARTS": value]
        )
        #expect(history == .none)
    }

    @Test func `A count that is as large as can be does not overflow`() {
        let history = RestartHistory(environment: ["HOLDFAST_RESTARTS": "\(Int.max - 1)"])
        let entries = history.environmentForRestart(base: [], isHealthy: true, pid: 42)
        #expect(entries.contains("HOLDFAST_RESTARTS=\(Int.max)"))
    }

    /// In a process of its own: it is about a trap.
    @Test func `The greatest count of all does not end the process before it began`() async {
        await #expect(processExitsWith: .success) {
            let history = RestartHistory(
                environment: ["HOLDFAST_RESTARTS": "\(Int.max)", "HOLDFAST_EARLY_RESTARTS": "\(Int.max)"]
            )
            _ = history.environmentForRestart(base: [], isHealthy: false, pid: 42)
        }
    }
}
