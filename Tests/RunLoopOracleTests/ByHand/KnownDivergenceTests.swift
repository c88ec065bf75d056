import RunLoops
import Testing

/// Shows that the known divergences are real: an entry of the list that CFRunLoop does not bear out has to go.
@Suite("Known divergences", .oracle, .timeLimit(.minutes(10)))
struct KnownDivergenceTests {
    private static let idle = ScenarioItem.source("idle")

    private func play(_ items: [ScenarioItem], _ steps: [Action]) -> (oracle: [String], host: [String]) {
        let comparison = Comparison(Scenario(items, steps: steps))
        return (comparison.expected.brief, comparison.found.brief)
    }

    @Test(
        "27: a due timer belongs to the outer run before afterWaiting in CFRunLoop, to whoever looks first in HostRunLoop"
    )
    func eventTakenEarly() {
        let comparison = Comparison(
            Scenario(
                [.observer("o", .afterWaiting, [.run(.default)]), .timer("t")],
                steps: [.add("o", to: .default), .add("t", to: .default), .run(.default, for: .milliseconds(30))]
            )
        )
        #expect(comparison.expected.contains(.called("t", nil, in: .default, depth: 1)))
        #expect(comparison.found.contains(.called("t", nil, in: .default, depth: 2)))
    }

    @Test("48: a port that leaves between the wait and its callout has lost its bytes in CFRunLoop, not in HostRunLoop")
    func portIsReadByLoop() {
        let (oracle, host) = play(
            [Self.idle, .port("p"), .observer("o", .afterWaiting, repeats: false, [.remove("p", from: .default)])],
            ["idle", "p", "o"].map { .add($0, to: .default) }
                + [.run(.default, for: .milliseconds(30)), .add("p", to: .default), .run(.default)]
        )
        #expect(!oracle.contains("p"))
        #expect(host.contains("p"))
    }

    @Test("54: CFRunLoop does not arm other modes for a timer that was moved in its callout")
    func movedTimerInOtherModes() {
        let (oracle, host) = play(
            [.timer("t", .due, everyMilliseconds: 5_000_000, [.add("t", to: .default), .setDate("t", .due)])],
            [.add("t", to: .a), .run(.a), .run(.default)]
        )
        #expect(oracle == ["t", "timedOut", "timedOut"])
        #expect(host == ["t", "timedOut", "t", "timedOut"])
    }

    @Test("60: a timer that was removed while due still ends a sleep of CFRunLoop")
    func ghostWakeUp() {
        let (oracle, host) = play(
            [Self.idle, .timer("t"), .observer("w", .afterWaiting)],
            ["idle", "t", "w"].map { .add($0, to: .default) }
                + [.remove("t", from: .default), .run(.default, for: .milliseconds(1000))]
        )
        #expect(oracle.count { $0.hasPrefix("w") } == 2)
        #expect(host.count { $0.hasPrefix("w") } == 1)
    }
}
