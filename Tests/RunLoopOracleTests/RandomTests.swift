import Glibc
import RunLoops
import Testing

/// How many random scenarios are compared, and from which seed on.
///
/// The environment variables `HOLDFAST_ORACLE_SCENARIOS` and `HOLDFAST_ORACLE_SEED` say otherwise: the first for a longer
/// run, both together (1 and the seed) to see one failure again.
private enum Amount {
    static let scenarios = number("HOLDFAST_ORACLE_SCENARIOS") ?? 20_000
    static let firstSeed = number("HOLDFAST_ORACLE_SEED") ?? 1
    /// Two loops and their threads leave room for another pair.
    static let lanes = 2

    private static func number(_ variable: String) -> Int? {
        guard let text = getenv(variable) else { return nil }
        return Int(String(cString: text))
    }
}

@Suite("Random scenarios on CFRunLoop and HostRunLoop", .oracle)
struct RandomTests {
    @Test("Both loops do the same", arguments: 0..<Amount.lanes)
    func sameTraces(lane: Int) {
        var failures = 0
        var coverage = Coverage()
        for index in stride(from: lane, to: Amount.scenarios, by: Amount.lanes) where failures < 3 {
            let seed = UInt64(Amount.firstSeed + index)
            let comparison = Comparison(ScenarioGenerator.scenario(seed: seed))
            coverage.count(comparison)
            guard !comparison.isEqual else { continue }
            failures += 1
            let small = Shrinker.shrink(comparison.scenario) { !Comparison($0).isEqual }
            Issue.record("seed \(seed) differs:\n\(Comparison(small).report)")
        }
        if failures == 0, Amount.scenarios >= 1000 {
            coverage.expectBreadth(scenarios: Amount.scenarios / Amount.lanes)
        }
    }
}

/// What the random scenarios of a lane came to: equal traces of nothing would prove nothing.
private struct Coverage {
    private var whole = 0
    private var entries = 0
    private var deepest = 0
    private var results: [HostRunLoop.RunResult: Int] = [:]
    private var kinds: [Character: Int] = [:]
    private var cuts: [KnownDivergence: Int] = [:]

    mutating func count(_ comparison: Comparison) {
        if let cut = comparison.cut { cuts[cut, default: 0] += 1 } else { whole += 1 }
        entries += comparison.expected.count
        for entry in comparison.expected {
            switch entry {
            case .called(let name, _, _, let depth):
                deepest = max(deepest, depth)
                if let kind = name.first { kinds[kind, default: 0] += 1 }
            case .ended(let result, _):
                results[result, default: 0] += 1
            default:
                break
            }
        }
    }

    func expectBreadth(scenarios: Int) {
        #expect(whole > scenarios / 2, "too many comparisons end early: \(cuts)")
        #expect(entries > scenarios * 10)
        #expect(deepest > 2)
        for result in [HostRunLoop.RunResult.finished, .stopped, .timedOut, .handledSource] {
            #expect(results[result, default: 0] > scenarios / 50, "\(result)")
        }
        for kind: Character in ["s", "p", "t", "o", "b"] {
            #expect(kinds[kind, default: 0] > scenarios / 20, "\(kind)")
        }
    }
}
