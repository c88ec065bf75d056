import RunLoops
import Testing

/// Items 16 to 33: entering a run, the order of a pass, results.
@Suite("Runs and passes as in CFRunLoop", .oracle, .timeLimit(.minutes(10)))
struct RunTraceTests {
    @Test("16 and 17: nothing runs in the common modes, in a missing mode, or with observers alone")
    func emptyModes() {
        expectSame(
            [.observer("w"), .source("s")],
            [.add("w", to: .default), .run(.default), .run(.a), .add("s", to: .common), .run(.common), .run(.default)],
            shows:
                "finished finished s+default finished w.entry w.beforeTimers w.beforeSources w.exit timedOut s-default"
        )
    }

    @Test("18: a stop of the inner run is not one of the outer run")
    func stopIsPerRun() {
        expectSame(
            [
                .source("s", [.run(.a, for: .forever)]), .source("i", [.stop]), .source("e", [.stop]),
                .block("b", [.signal("e")]),
            ],
            [
                .add("s", to: .default), .add("e", to: .default), .add("i", to: .a), .signal("i"), .signal("s"),
                .perform("b", in: [.default]), .run(.default, for: .forever),
            ],
            shows: "s+default e+default i+a b s i stopped e stopped e-default i-a s-default"
        )
    }

    @Test("19: sources, ports, timers and blocks keep a mode alive, observers do not")
    func emptiness() {
        expectSame(
            [.source("s"), .port("p", isReady: false), .timer("t", .never), .block("b"), .observer("o")],
            [
                .add("s", to: .default), .look, .remove("s", from: .default), .add("p", to: .default), .look,
                .remove("p", from: .default), .add("t", to: .default), .look, .remove("t", from: .default),
                .perform("b", in: [.common]), .look, .run(.default), .add("o", to: .default), .look,
            ],
            shows: "s+default s-default b timedOut"
        )
    }

    @Test("20 and 31: a limit of zero or less is one whole pass, in which a due timer fires")
    func zeroLimit() {
        expectSame(
            [.observer("w"), .timer("t"), .timer("k", .never)],
            [
                .add("w", to: .default), .add("t", to: .default), .add("k", to: .default), .run(.default),
                .run(.default, for: .negative),
            ],
            shows: """
                w.entry w.beforeTimers w.beforeSources t w.exit timedOut w.entry w.beforeTimers w.beforeSources w.exit \
                timedOut
                """
        )
    }

    @Test("20 and 30: a limit ends a sleep")
    func finiteLimit() {
        expectSame(
            [.observer("w"), .source("idle")],
            [.add("w", to: .default), .add("idle", to: .default), .run(.default, for: .milliseconds(30))],
            shows: """
                idle+default w.entry w.beforeTimers w.beforeSources w.beforeWaiting w.afterWaiting w.exit timedOut \
                idle-default
                """
        )
    }

    @Test("22: a stop from an entry observer ends the run before its first pass; exit observers are called")
    func stopAtEntry() {
        expectSame(
            [.observer("w"), .observer("o", .entry, order: 1, [.stop]), .source("s")],
            [
                .add("w", to: .default), .add("o", to: .default), .add("s", to: .default), .signal("s"), .run(.default),
                .run(.default),
            ],
            shows:
                "s+default w.entry o.entry w.exit stopped w.entry o.entry w.beforeTimers w.beforeSources s w.exit timedOut s-default"
        )
    }

    @Test("23 to 29: the order of a pass that sleeps, with blocks from everywhere")
    func sleepingPass() {
        let post: [Action] = [.perform("x", in: [.default])]
        expectSame(
            [
                .observer("w"), .block("b", post), .block("x"), .timer("t", .due, post + [.stop]),
                .observer("o", .afterWaiting, order: 1, post), .observer("q", .beforeSources, order: 1, post),
            ],
            ["w", "o", "q", "t"].map { .add($0, to: .default) } + [
                .perform("b", in: [.default]), .run(.default, for: .forever),
            ],
            shows: """
                w.entry w.beforeTimers w.beforeSources q.beforeSources b x w.beforeWaiting w.afterWaiting o.afterWaiting t \
                x x x w.exit stopped
                """
        )
    }

    @Test("24, 27 and 32: a handled source makes the pass poll, and a port is served in it as well")
    func pollingPass() {
        expectSame(
            [
                .observer("w"), .source("s", [.perform("b", in: [.default])]), .block("b"),
                .port("p", [.perform("b", in: [.default])]),
            ],
            [
                .add("w", to: .default), .add("s", to: .default), .add("p", to: .default), .signal("s"),
                .run(.default, for: .forever, returnsAfterSource: true),
            ],
            shows: "s+default w.entry w.beforeTimers w.beforeSources s b p b w.exit handledSource s-default"
        )
    }

    @Test("28: ports that are ready together are served one in a pass")
    func onePortPerPass() {
        let comparison = Comparison(
            Scenario(
                [.port("p"), .port("q"), .port("r")],
                steps: ["p", "q", "r"].map { .add($0, to: .default) } + Array(repeating: .run(.default), count: 4)
            )
        )
        for trace in [comparison.expected.brief, comparison.found.brief] {
            #expect(trace.filter { $0 != "timedOut" }.sorted() == ["p", "q", "r"])
            #expect(trace.split(separator: "timedOut").map(\.count) == [1, 1, 1])
        }
    }

    @Test("30 and 31: source handled comes before time over, that before stopped, that before finished")
    func precedence() {
        expectSame(
            [.source("s", [.stop], [.stop], [.stop, .invalidate("s")], []), .source("k"), .timer("t", .due, [.stop])],
            [
                .add("s", to: .default), .signal("s"), .run(.default, for: .forever, returnsAfterSource: true),
                .signal("s"), .run(.default), .add("t", to: .a), .run(.a, for: .forever),
                .signal("s"), .run(.default, for: .forever),
            ],
            shows: "s+default s handledSource s timedOut t stopped s s-default stopped"
        )
    }

    @Test("30: a run whose mode becomes empty is finished")
    func finished() {
        expectSame(
            [.source("s", [.invalidate("s")]), .timer("t"), .port("p", [.invalidate("p")])],
            [
                .add("s", to: .default), .signal("s"), .run(.default, for: .forever), .add("t", to: .default),
                .run(.default, for: .forever), .add("p", to: .default), .run(.default, for: .forever),
            ],
            shows: "s+default s s-default finished t finished p finished"
        )
    }

    @Test("33: a mode in which a block was all there was sleeps, until it is woken or the time is over")
    func sleepAfterBlock() {
        expectSame(
            [.observer("w", .beforeWaiting), .block("b"), .block("c", [.wakeUp])],
            [
                .add("w", to: .default), .perform("b", in: [.default]), .run(.default, for: .milliseconds(30)),
                .perform("c", in: [.default]), .run(.default, for: .forever),
            ],
            shows: "b w.beforeWaiting timedOut c w.beforeWaiting finished"
        )
    }
}
