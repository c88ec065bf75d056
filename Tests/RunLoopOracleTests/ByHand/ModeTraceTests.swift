import RunLoops
import Testing

/// Items 1 to 15: objects, ownership, modes.
@Suite("Modes and membership as in CFRunLoop", .oracle, .timeLimit(.minutes(10)))
struct ModeTraceTests {
    @Test("2: a wake-up of a loop that does not run is dropped")
    func wakeUpOutside() {
        expectSame(
            [.observer("w"), .port("p", [.stop])],
            [.add("w", to: .default), .add("p", to: .default), .wakeUp, .wakeUp, .run(.default, for: .forever)],
            shows: "w.entry w.beforeTimers w.beforeSources w.beforeWaiting w.afterWaiting p w.exit stopped"
        )
    }

    @Test("3: modes are made by adding and by posting, not by running, removing or declaring common")
    func modeCreation() {
        expectSame(
            [.source("s"), .source("idle")],
            [
                .run(.a), .remove("s", from: .a), .addCommonMode(.b), .look, .add("idle", to: .default), .run(.default),
                .add("s", to: .a), .look, .remove("s", from: .a), .run(.a),
            ],
            shows: "finished idle+default timedOut s+a s-a finished idle-default"
        )
        expectSame(
            [.block("b")],
            [.perform("b", in: [.a]), .look, .perform("b", in: [.b]), .look, .run(.default), .run(.a), .run(.b)],
            shows: "finished b timedOut b timedOut"
        )
    }

    @Test("3: observers and timers make modes too, which then are empty or not")
    func modeCreationByOthers() {
        expectSame(
            [.observer("o"), .timer("t", .never)],
            [.add("o", to: .a), .add("t", to: .b), .look, .run(.a), .run(.b)],
            shows: "finished timedOut"
        )
    }

    @Test("5: the current mode begins before entry and ends after exit")
    func currentMode() {
        expectSame(
            [.observer("w"), .source("s", [.run(.a)]), .observer("v"), .source("idle")],
            [
                .add("w", to: .default), .add("v", to: .a), .add("s", to: .default), .add("idle", to: .a), .signal("s"),
                .run(.default),
            ],
            shows: """
                s+default idle+a w.entry w.beforeTimers w.beforeSources s v.entry v.beforeTimers v.beforeSources v.exit \
                timedOut w.exit timedOut idle-a s-default
                """
        )
    }

    @Test("6: a timer in two modes leaves them one by one and can be added again")
    func timerInTwoModes() {
        expectSame(
            [.timer("t", .never), .observer("o")],
            [
                .add("t", to: .a), .add("t", to: .b), .add("o", to: .a), .add("o", to: .b), .look,
                .remove("t", from: .a),
                .remove("o", from: .a), .look, .remove("t", from: .b), .remove("o", from: .b), .look,
                .add("t", to: .a), .add("o", to: .a), .look, .run(.a),
            ],
            shows: "o.entry o.beforeTimers o.beforeSources o.exit timedOut"
        )
    }

    @Test("7: adding twice is adding once")
    func addingTwice() {
        expectSame(
            [.source("s"), .observer("o", .entry), .timer("t"), .port("p")],
            [
                .add("s", to: .default), .add("s", to: .default), .add("o", to: .default), .add("o", to: .default),
                .add("t", to: .default), .add("t", to: .default), .add("p", to: .a), .add("p", to: .a),
                .signal("s"), .run(.default), .remove("s", from: .default), .run(.a), .run(.a),
            ],
            shows: "s+default o.entry s t timedOut s-default p timedOut timedOut"
        )
    }

    @Test("8: an invalid item is not added, an invalid source not signalled")
    func invalidItems() {
        expectSame(
            [.source("s"), .observer("o"), .timer("t"), .port("p")],
            ["s", "o", "t", "p"].flatMap { [.invalidate($0), .add($0, to: .default), .add($0, to: .common)] }
                + [.signal("s"), .look, .run(.default)],
            shows: "finished"
        )
    }

    @Test("10: common items are in every common mode, also in those declared later")
    func commonItems() {
        expectSame(
            [.source("s"), .observer("o", .entry), .timer("t", .never), .port("p")],
            ["s", "o", "t", "p"].map { .add($0, to: .common) }
                + [.look, .addCommonMode(.a), .look, .addCommonMode(.a), .signal("s"), .run(.a), .run(.default)],
            shows: "s+default s+a o.entry s p timedOut o.entry timedOut s-a s-default"
        )
    }

    @Test("10: declaring a mode common makes it if there is a valid common item, not otherwise")
    func commonModeCreation() {
        expectSame(
            [.source("s"), .source("x")],
            [
                .add("s", to: .common), .remove("s", from: .default), .invalidate("s"), .addCommonMode(.a), .look,
                .add("x", to: .common), .addCommonMode(.b), .look,
            ],
            shows: "s+default s-default x+a x+default x+b x-a x-b x-default"
        )
    }

    @Test("11: removing from the common modes removes from all of them, and only what was added there")
    func removingCommonItems() {
        expectSame(
            [.source("s"), .source("x"), .observer("o"), .timer("t", .never)],
            [
                .addCommonMode(.a), .add("s", to: .common), .add("s", to: .a), .add("o", to: .common),
                .add("t", to: .common), .add("x", to: .default), .remove("x", from: .common), .look,
                .remove("s", from: .a), .remove("o", from: .a), .remove("t", from: .a), .look,
                .addCommonMode(.b), .look, .remove("s", from: .common), .remove("o", from: .common),
                .remove("t", from: .common), .look,
            ],
            shows: "s+a s+default x+default s-a s+b s-b s-default x-default"
        )
    }

    @Test("12 and 13: invalidating cancels in every mode, once")
    func invalidating() {
        expectSame(
            [.source("s"), .observer("o"), .timer("t"), .port("p"), .source("idle")],
            ["s", "o", "t", "p"].flatMap { [.add($0, to: .default), .add($0, to: .a), .add($0, to: .common)] }
                + [.signal("s"), .look]
                + ["s", "o", "t", "p"].flatMap { [.invalidate($0), .invalidate($0)] }
                + [.look, .add("idle", to: .a), .run(.a), .run(.default)],
            shows: "s+default s+a s-a s-default idle+a timedOut finished idle-a"
        )
    }

    @Test("14: the end of a thread cancels its sources and drops its blocks")
    func endOfThread() {
        expectSame(
            [.source("s"), .block("b"), .timer("t")],
            [.add("s", to: .default), .add("s", to: .a), .add("t", to: .b), .perform("b", in: [.a]), .signal("s")],
            shows: "s+default s+a s-a s-default"
        )
    }
}
