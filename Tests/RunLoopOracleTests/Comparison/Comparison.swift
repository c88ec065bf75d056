/// A scenario that was played on two loops.
struct Comparison: Sendable {
    let scenario: Scenario
    let expected: [TraceEntry]
    let found: [TraceEntry]

    /// Plays a scenario on CFRunLoop and on HostRunLoop.
    init(_ scenario: Scenario) {
        self.init(
            scenario,
            expected: ScenarioPlayer.play(scenario) { OracleAdapter($0, $1) },
            found: ScenarioPlayer.play(scenario) { HostAdapter($0, $1) }
        )
    }

    /// Compares what was seen elsewhere.
    init(_ scenario: Scenario, expected: [TraceEntry], found: [TraceEntry]) {
        self.scenario = scenario
        self.expected = expected
        self.found = found
    }

    /// Whether both loops did the same.
    var isEqual: Bool { expected == found }

    /// Why the comparison ended before the scenario did, if so.
    var cut: KnownDivergence? {
        guard case .cut(let divergence) = expected.last else { return nil }
        return divergence
    }

    /// The scenario as source, and both traces from shortly before the first difference.
    var report: String {
        let common = zip(expected, found).prefix { $0 == $1 }.count
        let start = max(0, common - 8)
        func list(_ trace: [TraceEntry]) -> String {
            trace[min(start, trace.count)...].enumerated()
                .map { "  \(start + $0 == common ? ">" : " ") \($1)\n" }
                .joined()
        }
        return """
            \(scenario.swiftSource)
            the first \(start) entries are the same, then CFRunLoop:
            \(list(expected))and the other loop:
            \(list(found))
            """
    }
}
