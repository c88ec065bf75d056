import Testing

@testable import Supervision

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
        #expect(!RestartHistory.none.isCrashLoop)
    }

    @Test func `What is written is read, generation after generation`() {
        var history = RestartHistory.none
        var entries = ["HOME=/", "EMPTY=", "EQUALS=a=b"]
        for generation in 1...5 {
            entries = history.environmentForRestart(
                base: entries,
                isHealthy: false,
                keeping: ["listener": 7, "other": CInt(generation + 10)],
                holding: 1 << 14,
                pid: 42
            )
            history = RestartHistory(environment: Self.environment(entries), pid: 42)
            #expect(history.restarts == generation)
            #expect(history.earlyRestarts == generation)
            #expect(history.heldSignals == 1 << 14)
            #expect(history.keptDescriptors == ["listener": 7, "other": CInt(generation + 10)])
        }
        #expect(entries.filter { !$0.hasPrefix("HOLDFAST_") } == ["HOME=/", "EMPTY=", "EQUALS=a=b"])
        #expect(entries.count == 8, "each of ours once")
    }

    @Test func `A child does not take its parent's history for its own`() {
        let entries = RestartHistory.none.environmentForRestart(
            base: [],
            isHealthy: false,
            keeping: ["listener": 7],
            pid: 42
        )
        #expect(RestartHistory(environment: Self.environment(entries), pid: 42).restarts == 1)
        #expect(RestartHistory(environment: Self.environment(entries), pid: 43) == .none)
    }

    @Test func `A healthy process begins to count early restarts again`() {
        let history = RestartHistory(restarts: 9, earlyRestarts: 9, keptDescriptors: [:])
        let next = RestartHistory(
            environment: Self.environment(
                history.environmentForRestart(base: [], isHealthy: true, keeping: [:], pid: 42)
            )
        )
        #expect(next == RestartHistory(restarts: 10, earlyRestarts: 0, keptDescriptors: [:]))
    }

    @Test func `Sixteen early restarts are a crash loop`() {
        #expect(!RestartHistory(restarts: 99, earlyRestarts: 15, keptDescriptors: [:]).isCrashLoop)
        #expect(RestartHistory(restarts: 16, earlyRestarts: 16, keptDescriptors: [:]).isCrashLoop)
    }

    @Test func `Other variables that begin alike stay`() {
        let base = ["HOLDFAST_RESTARTS_X=1", "HOLDFAST_RESTARTS=4", "XHOLDFAST_RESTARTS=2"]
        let entries = RestartHistory.none.environmentForRestart(base: base, isHealthy: false, keeping: [:], pid: 42)
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

    @Test(
        arguments: [
            "", ",", "=", "a", "a=", "=7", "a=x", "a=-1", "a=0", "a=1", "a=2", "a=99999999999", "a==7", "a=7=8",
            ",,,=,,", "a=7x",
        ]
    )
    func `Descriptors that are none, or are the standard ones, are not taken over`(value: String) {
        #expect(RestartHistory(environment: ["HOLDFAST_KEPT_DESCRIPTORS": value]).keptDescriptors.isEmpty)
    }

    @Test func `Good descriptors beside bad ones are taken over`() {
        let history = RestartHistory(environment: ["HOLDFAST_KEPT_DESCRIPTORS": "x,a=3,b=-4,listener=2147483647,,c=2"])
        #expect(history.keptDescriptors == ["a": 3, "listener": .max])
    }

    @Test func `A count that is as large as can be does not overflow`() {
        let history = RestartHistory(environment: ["HOLDFAST_RESTARTS": "\(Int.max - 1)"])
        let entries = history.environmentForRestart(base: [], isHealthy: true, keeping: [:], pid: 42)
        #expect(entries.contains("HOLDFAST_RESTARTS=\(Int.max)"))
    }

    /// In a process of its own: it is about a trap.
    @Test func `The greatest count of all does not end the process before it began`() async {
        await #expect(processExitsWith: .success) {
            let history = RestartHistory(
                environment: ["HOLDFAST_RESTARTS": "\(Int.max)", "HOLDFAST_EARLY_RESTARTS": "\(Int.max)"]
            )
            _ = history.environmentForRestart(base: [], isHealthy: false, keeping: [:], pid: 42)
        }
    }
}
