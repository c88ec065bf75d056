import Glibc

/// What a fault costs those who did not cause it: requests lost, and how long the others waited.
struct ServingBenchmark {
    /// What becomes of the agent at a fault.
    enum Mode: String, CaseIterable {
        case none
        case resume
        case restartWhenQuiet = "restart-when-quiet"
        case restart
        case standby
        case unprotected

        /// Five restarts within a minute would be a crash loop.
        private static let onPurpose = ["--crash-loop-after", "never"]

        /// What the rows say of it.
        var title: String {
            switch self {
            case .none: "no fault"
            case .resume: "resume"
            case .restartWhenQuiet: "resume, restart when quiet"
            case .restart: "restart in place"
            case .standby: "a process that stands by"
            case .unprotected: "no Holdfast, restart loop"
            }
        }

        var arguments: [String] {
            switch self {
            case .none, .resume: ["--after-fault", "keep-going"]
            case .restartWhenQuiet: ["--after-fault", "restart-when-quiet"] + Self.onPurpose
            case .restart, .standby: ["--after-fault", "restart"] + Self.onPurpose
            case .unprotected: ["--unprotected"]
            }
        }
    }

    struct Result {
        var faults = 0
        var lost = 0
        var stalls: [Double] = []

        var lostPerFault: Double { Double(lost) / Double(max(1, faults)) }
    }

    let agent: String
    /// `holdfast`, for the process that stands by.
    let supervisor: String
    let faults: Int
    /// From one fault to the next, in nanoseconds: longer than a restart that waits for a quiet moment takes.
    let window: Double
    private static let connections = 10
    private static let thinkTime = 1e6
    /// Several agents, so that no one start is measured alone.
    private static let faultsPerAgent = 15

    private static func standingBy(_ port: UInt16) -> [String] {
        let socket = "tcp:127.0.0.1:\(port)"
        return [
            "run", "--standby", "--ready", "notify", "--restart", "always", "--healthy-after", "1ms", "--listen",
            socket,
        ]
    }

    func measure(_ mode: Mode) throws -> Result {
        var result = Result()
        while result.faults < faults { try measure(mode, min(Self.faultsPerAgent, faults - result.faults), &result) }
        return result
    }

    private func measure(_ mode: Mode, _ count: Int, _ result: inout Result) throws {
        let port = try AgentProcess.freePort()
        let process = try AgentProcess(
            executable: agent,
            arguments: ["--port", String(port)] + mode.arguments,
            isInLoop: mode == .unprotected,
            supervisor: mode == .standby ? [supervisor] + Self.standingBy(port) : []
        )
        defer { process.end() }
        let client = LoadClient(port: process.port, connections: Self.connections, thinkTime: Self.thinkTime)
        // The next process that stands by is started 100 ms after the one before has begun to serve.
        let window = mode == .standby ? 2 * window : window
        client.run(for: window)
        for index in 0..<count {
            client.runWindow(mode == .none ? nil : "nil-unwrap", faulting: index % Self.connections, for: window)
        }
        let left = client.finish(within: 5e9)
        let counts = client.counts
        guard left == 0, counts.wrong == 0, counts.faultsAnswered == 0, counts.asked == counts.answered else {
            throw MeasurementError("\(mode.title): \(left) requests without an answer, \(counts)")
        }
        result.faults += count
        result.lost += counts.lost
        result.stalls += client.stalls
    }

    // MARK: Rows

    /// The names of the rows, in their order.
    static var names: [String] { rows([:]).map(\.name) }

    /// The names of the rows that a mode has a value in.
    static func names(of mode: Mode) -> [String] {
        [name(lost: mode)] + percentiles.map { name(wait: mode) + $0.suffix }
    }

    private static let percentiles: [(suffix: String, percent: Double)] = [("", 50), (", p99", 99), (", maximum", 100)]

    private static func name(lost mode: Mode) -> String { "requests lost per fault: \(mode.title)" }
    private static func name(wait mode: Mode) -> String { "longest wait of others: \(mode.title)" }

    static func rows(_ results: [Mode: Result]) -> [Row] {
        let plain = results[.unprotected]
        let name = Mode.unprotected.title
        var rows: [Row] = []
        for mode in Mode.allCases where mode != .none && mode != .unprotected {
            let peers = [Row.Peer(name: name, value: plain?.lostPerFault)]
            rows.append(Row(self.name(lost: mode), unit: "requests", results[mode]?.lostPerFault, peers: peers))
        }
        for (suffix, percent) in percentiles {
            let peers = [Row.Peer(name: name, value: plain.map { Sample($0.stalls).percentile(percent) })]
            for mode in Mode.allCases where mode != .unprotected {
                let value = results[mode].map { Sample($0.stalls).percentile(percent) }
                rows.append(Row(self.name(wait: mode) + suffix, value, peers: peers))
            }
        }
        return rows
    }
}
