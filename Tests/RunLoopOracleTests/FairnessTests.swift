import RunLoops
import Testing

/// What is ready all the time, in runs of one pass that are nested in callouts: the order is each loop's own (item 28), but what
/// CFRunLoop serves, HostRunLoop must serve, too.
@Suite("Fairness on CFRunLoop and HostRunLoop", .oracle, .timeLimit(.minutes(10)))
struct FairnessTests {
    /// How many runs are nested in the outer callout.
    private static let runs = 40

    /// Makes a scenario with a timer that is always due and ports that are always ready, in a mode of a callout's runs.
    private static func scenario(seed: UInt64) -> Scenario {
        var random = SeededGenerator(seed: seed)
        let mode: ScenarioMode = random.pick([.a, .a, .default])
        let ports = random.count(1...2)
        var items = [
            ScenarioItem(
                name: "t",
                kind: .timer(.due, everyMilliseconds: 5_000_000),
                script: Array(repeating: [.setDate("t", .due)], count: 4 * runs)
            )
        ]
        for port in 0..<ports {
            let name = "p\(port)"
            items.append(
                ScenarioItem(
                    name: name,
                    kind: .port(isReady: true),
                    script: Array(repeating: [.write(name)], count: 4 * runs)
                )
            )
        }
        let returns = random.chance(40)
        let wakes = random.chance(30)
        var nested: [Action] = []
        for _ in 0..<runs {
            if wakes { nested.append(.wakeUp) }
            nested.append(.run(mode, for: .zero, returnsAfterSource: returns))
        }
        var steps: [Action] = items.map { .add($0.name, to: mode) }
        switch random.count(0...3) {
        case 0:
            items.append(.block("outer", nested))
            steps.append(.perform("outer", in: [.default]))
        case 1:
            items.append(.source("outer", nested))
            steps += [.add("outer", to: .default), .signal("outer")]
        case 2:
            // An observer does not keep its mode from being empty.
            items += [.observer("outer", .beforeTimers, nested), .source("idle")]
            steps += [.add("outer", to: .default), .add("idle", to: .default)]
        default:
            items.append(.timer("outer", .due, nested))
            steps.append(.add("outer", to: .default))
        }
        // The outer callout may have to take its turn.
        steps += Array(repeating: .run(.default), count: 4)
        return Scenario(items, steps: steps)
    }

    /// How often the timer and the ports were called.
    private func counts(_ trace: [TraceEntry]) -> (timer: Int, ports: Int) {
        var counts = (timer: 0, ports: 0)
        for case .called(let name, _, _, _) in trace {
            if name == "t" { counts.timer += 1 }
            if name.hasPrefix("p") { counts.ports += 1 }
        }
        return counts
    }

    @Test("No kind starves in nested runs where CFRunLoop serves it")
    func nestedRuns() {
        for seed: UInt64 in 1...150 {
            let comparison = Comparison(Self.scenario(seed: seed))
            let (oracle, host) = (counts(comparison.expected), counts(comparison.found))
            let all = host.timer + host.ports
            // A third goes to wake-ups at most.
            #expect(all >= Self.runs / 2, "seed \(seed)")
            if oracle.timer > 2 { #expect(host.timer * 4 >= all, "seed \(seed): \(host), CFRunLoop \(oracle)") }
            if oracle.ports > 2 { #expect(host.ports * 4 >= all, "seed \(seed): \(host), CFRunLoop \(oracle)") }
        }
    }
}
