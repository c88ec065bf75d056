import RunLoops
import Testing

/// Items 41 to 49: sources and ports.
@Suite("Sources and ports as in CFRunLoop", .oracle, .timeLimit(.minutes(10)))
struct SourceTraceTests {
    @Test("41 and 42: sources go by order, then by the time of their first signal")
    func order() {
        expectSame(
            [.source("s"), .source("x", order: -1), .source("u"), .source("v", order: 2)],
            ["s", "x", "u", "v"].map { .add($0, to: .default) }
                + ["v", "u", "s", "x", "u"].map { .signal($0) } + [.run(.default), .run(.default)],
            shows:
                "s+default x+default u+default v+default x u s v timedOut timedOut s-default u-default v-default x-default"
        )
    }

    @Test("42: with returnAfterSourceHandled one source is performed, the others stay signalled")
    func returnAfterFirst() {
        expectSame(
            [.source("s"), .source("u"), .block("b")],
            [
                .add("s", to: .default), .add("u", to: .default), .signal("s"), .signal("u"),
                .perform("b", in: [.default]),
                .run(.default, for: .forever, returnsAfterSource: true), .look,
                .run(.default, for: .forever, returnsAfterSource: true), .look,
            ],
            shows: "s+default u+default b s handledSource u handledSource s-default u-default"
        )
    }

    @Test("43: a source that leaves the mode while its batch runs is performed, one that is invalidated is not")
    func leavingTheBatch() {
        expectSame(
            [
                .source("s", [.remove("u", from: .default), .invalidate("v")]), .source("u"), .source("v"),
                .source("x"),
            ],
            ["s", "u", "v", "x"].map { .add($0, to: .default) } + ["s", "u", "v", "x"].map { .signal($0) } + [
                .run(.default)
            ],
            shows: "s+default u+default v+default x+default s u-default v-default u x timedOut s-default x-default"
        )
    }

    @Test("45: a run inside a source performs the rest of the batch; the outer run skips it")
    func nestedRun() {
        expectSame(
            [.source("s", [.run(.default)]), .source("u"), .source("v")],
            ["s", "u", "v"].map { .add($0, to: .default) } + ["s", "u", "v"].map { .signal($0) }
                + [.run(.default, for: .zero, returnsAfterSource: true)],
            shows: "s+default u+default v+default s u v timedOut handledSource s-default u-default v-default"
        )
    }

    @Test("45: a source that signals itself is performed once in a pass; the loop does not sleep, ports are served")
    func selfSignal() {
        expectSame(
            [
                .observer("w", [.beforeWaiting, .afterWaiting]),
                .source("s", [.signal("s")], [.signal("s"), .write("p")], [.signal("s")], [.stop]),
                .port("p", isReady: false),
            ],
            ["w", "s", "p"].map { .add($0, to: .default) } + [.signal("s"), .run(.default, for: .forever)],
            shows: "s+default s s p s s stopped s-default"
        )
    }

    @Test("46: a signal from beforeSources counts in the same pass, one from beforeWaiting needs a wake-up")
    func lateSignals() {
        expectSame(
            [.source("s"), .observer("o", .beforeSources, [.signal("s")])],
            [.add("s", to: .default), .add("o", to: .default), .run(.default)],
            shows: "s+default o.beforeSources s timedOut s-default"
        )
        expectSame(
            [.source("s"), .observer("o", .beforeWaiting, [.signal("s")])],
            [.add("s", to: .default), .add("o", to: .default), .run(.default, for: .milliseconds(30)), .look],
            shows: "s+default o.beforeWaiting timedOut s-default"
        )
        expectSame(
            [.source("s", [.stop]), .observer("o", .beforeWaiting, [.signal("s"), .wakeUp])],
            [.add("s", to: .default), .add("o", to: .default), .run(.default, for: .forever)],
            shows: "s+default o.beforeWaiting s stopped s-default"
        )
    }

    @Test("48: an eventfd is served once for any number of writes")
    func coalescedWrites() {
        expectSame(
            [.port("p", [.write("p"), .write("p")])],
            [.add("p", to: .default), .write("p"), .run(.default), .run(.default), .run(.default)],
            shows: "p timedOut p timedOut timedOut"
        )
    }

    @Test("48: a port in two modes is served where the loop runs first")
    func portInTwoModes() {
        expectSame(
            [.port("p")],
            [
                .add("p", to: .default), .add("p", to: .a), .run(.a), .run(.default), .write("p"), .run(.default),
                .run(.a),
            ],
            shows: "p timedOut timedOut p timedOut timedOut"
        )
    }

    @Test("49: a port that is added or written while the loop sleeps ends the sleep, without a wake-up")
    func asleep() {
        expectSame(
            [.port("p", [.stop]), .port("q", isReady: false, [.stop]), .source("idle")],
            [
                .add("idle", to: .default), .whileAsleep([.add("p", to: .default)]), .run(.default, for: .forever),
                .remove("p", from: .default), .add("q", to: .default), .whileAsleep([.write("q")]),
                .run(.default, for: .forever),
            ],
            shows: "idle+default p stopped q stopped idle-default"
        )
    }

    @Test("49: a port that is invalidated by an earlier callout of the pass is not served")
    func invalidatedPort() {
        expectSame(
            [.source("s", [.invalidate("p")]), .port("p")],
            [.add("s", to: .default), .add("p", to: .default), .signal("s"), .run(.default)],
            shows: "s+default s timedOut s-default"
        )
    }

    @Test("A port that a run inside an afterWaiting observer served is not served again")
    func servedInsideAfterWaiting() {
        let comparison = Comparison(
            Scenario(
                [.observer("o", .afterWaiting, [.run(.default)]), .port("p", [.stop])],
                steps: [.add("o", to: .default), .add("p", to: .default), .run(.default, for: .milliseconds(30))]
            )
        )
        // Which of the two runs serves it is `KnownDivergence.eventTakenEarly`.
        #expect(comparison.expected.brief.count { $0 == "p" } == 1)
        #expect(comparison.found.brief.count { $0 == "p" } == 1)
    }

    @Test("44: the last source of a batch decides whether any was handled")
    func lastSourceDecides() {
        expectSame(
            [.source("s", [.invalidate("u")]), .source("u", order: 1), .observer("w", .beforeTimers)],
            ["s", "u", "w"].map { .add($0, to: .default) }
                + [.signal("s"), .signal("u"), .run(.default, for: .milliseconds(30))],
            shows: "s+default u+default w.beforeTimers s u-default timedOut s-default"
        )
    }
}
