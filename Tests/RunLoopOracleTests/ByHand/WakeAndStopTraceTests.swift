import RunLoops
import Testing

/// Items 61 to 63.
@Suite("Waking and stopping as in CFRunLoop", .oracle, .timeLimit(.minutes(10)))
struct WakeAndStopTraceTests {
    private static let idle = ScenarioItem.source("idle")

    @Test(
        "61: a wake-up before the sleep gives one more pass, however often it is given",
        arguments: [HostRunLoop.Activity.beforeTimers, .beforeSources, .beforeWaiting]
    )
    func wakeUpBeforeSleep(stage: HostRunLoop.Activity) {
        expectSame(
            [Self.idle, .observer("o", stage, [.wakeUp, .wakeUp, .wakeUp], [.stop]), .observer("w", .afterWaiting)],
            ["idle", "o", "w"].map { .add($0, to: .default) } + [.run(.default, for: .forever)],
            shows: """
                idle+default o\(stage.swiftSource) w.afterWaiting o\(stage.swiftSource) w.afterWaiting stopped \
                idle-default
                """
        )
    }

    @Test("61: a wake-up between the sleep and the next pass is dropped")
    func wakeUpAfterSleep() {
        expectSame(
            [
                .observer("o", .afterWaiting, [.wakeUp], [.wakeUp]),
                .timer("t", .due, everyMilliseconds: 5_000_000, [.wakeUp]),
                .port("p", [.wakeUp, .perform("b", in: [.default])]), .block("b", [.wakeUp]),
                .observer("w", .beforeWaiting, [], [.whileAsleep([.stop])], [], [.whileAsleep([.stop])]),
            ],
            [
                .add("o", to: .default), .add("w", to: .default), .add("t", to: .default),
                .run(.default, for: .forever),
                .add("p", to: .default), .run(.default, for: .forever),
            ],
            shows: """
                w.beforeWaiting o.afterWaiting t w.beforeWaiting o.afterWaiting stopped w.beforeWaiting o.afterWaiting p b \
                w.beforeWaiting o.afterWaiting stopped
                """
        )
    }

    @Test("61: a wake-up ends a sleep, and nothing else happens")
    func wakeUpWhileAsleep() {
        expectSame(
            [Self.idle, .observer("o", .afterWaiting, [.whileAsleep([.stop])])],
            [
                .add("idle", to: .default), .add("o", to: .default), .whileAsleep([.wakeUp]),
                .run(.default, for: .forever),
            ],
            shows: "idle+default o.afterWaiting o.afterWaiting stopped idle-default"
        )
    }

    @Test("62: a stop of a loop that does not run, or from an exit observer, is lost")
    func lostStops() {
        expectSame(
            [Self.idle, .observer("o", .exit, [.stop]), .observer("w", .beforeWaiting)],
            [
                .add("idle", to: .default), .add("o", to: .default), .add("w", to: .default), .stop, .run(.default),
                .run(.default, for: .milliseconds(30)),
            ],
            shows: "idle+default o.exit timedOut w.beforeWaiting o.exit timedOut idle-default"
        )
    }

    @Test(
        "62: a stop lets the pass end, through a wait that returns at once",
        arguments: [HostRunLoop.Activity.beforeTimers, .beforeSources, .beforeWaiting, .afterWaiting]
    )
    func stopInObserver(stage: HostRunLoop.Activity) {
        expectSame(
            [Self.idle, .observer("w"), .observer("o", stage, order: 1, [.stop], [])]
                + (stage == .afterWaiting ? [.timer("t")] : []),
            ["idle", "w", "o", "t"].map { .add($0, to: .default) } + [.run(.default, for: .forever)],
            shows: Self.passStopped(at: stage)
        )
    }

    private static func passStopped(at stage: HostRunLoop.Activity) -> String {
        let stages: [HostRunLoop.Activity] = [
            .entry, .beforeTimers, .beforeSources, .beforeWaiting, .afterWaiting, .exit,
        ]
        let called = stages.map { "w\($0.swiftSource)" + ($0 == stage ? " o\($0.swiftSource)" : "") }
        let timer = stage == .afterWaiting ? ["t"] : []
        return (["idle+default"] + called.dropLast() + timer + [called[5], "stopped idle-default"]).joined(
            separator: " "
        )
    }

    @Test("62: stops from another thread end nested runs one by one")
    func stopsFromOutside() {
        expectSame(
            [Self.idle, .source("s", [.run(.a, for: .forever), .whileAsleep([.stop])]), .source("i")],
            [
                .add("idle", to: .default), .add("i", to: .a), .add("s", to: .default), .signal("s"),
                .whileAsleep([.stop]), .run(.default, for: .forever),
            ],
            shows: "idle+default i+a s+default s stopped stopped i-a idle-default s-default"
        )
    }

    @Test("62: a stop from a source, a timer, a port and a block")
    func stopInCallouts() {
        expectSame(
            [Self.idle, .source("s", [.stop]), .timer("t", .due, [.stop]), .port("p", [.stop]), .block("b", [.stop])],
            [
                .add("idle", to: .default), .add("s", to: .default), .signal("s"), .run(.default, for: .forever),
                .perform("b", in: [.default]), .run(.default, for: .forever), .add("t", to: .default),
                .run(.default, for: .forever), .add("p", to: .default), .run(.default, for: .forever),
            ],
            shows: "idle+default s+default s stopped b stopped t stopped p stopped idle-default s-default"
        )
    }

    @Test("63: the limit of an outer run wakes an inner one, and is reported by the outer")
    func outerLimit() {
        expectSame(
            [
                .source("s", [.run(.a, for: .milliseconds(1500))]), .source("i"), .observer("w", .afterWaiting),
            ],
            [
                .add("s", to: .default), .add("i", to: .a), .add("w", to: .a), .signal("s"),
                .run(.default, for: .milliseconds(500)),
            ],
            shows: "s+default i+a s w.afterWaiting w.afterWaiting timedOut timedOut i-a s-default"
        )
    }
}
