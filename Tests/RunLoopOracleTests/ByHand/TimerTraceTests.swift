import RunLoops
import Testing

/// Items 50 to 60.
@Suite("Timers as in CFRunLoop", .oracle, .timeLimit(.minutes(10)))
struct TimerTraceTests {
    @Test("51: due timers fire in the order of their dates, equal ones as they were made")
    func order() {
        expectSame(
            [.timer("t"), .timer("u"), .timer("v")],
            ["v", "t", "u"].map { .add($0, to: .default) } + [.setDate("t", .due), .run(.default)],
            shows: "u v t timedOut"
        )
    }

    @Test("52: invalidated, removed or postponed by an earlier timer: not fired; in another mode still: fired")
    func changesMeanwhile() {
        expectSame(
            [
                .timer(
                    "t",
                    .due,
                    [
                        .invalidate("u"), .remove("v", from: .default), .setDate("x", .never),
                        .remove("y", from: .default),
                    ]
                ),
                .timer("u"), .timer("v"), .timer("x"), .timer("y"), .timer("k", .never),
            ],
            ["t", "u", "v", "x", "y", "k"].map { .add($0, to: .default) } + [.add("y", to: .a), .run(.default), .look],
            shows: "t y timedOut"
        )
    }

    @Test("52: a timer of the batch that is set to fire at once still fires in it")
    func movedToThePresent() {
        expectSame(
            [.timer("t", .due, [.setDate("u", .due)]), .timer("u"), .timer("k", .never)],
            ["t", "u", "k"].map { .add($0, to: .default) } + [.run(.default)],
            shows: "t u timedOut"
        )
    }

    @Test("52: a timer that is added due, or becomes due, while timers fire waits for the next pass")
    func addedMeanwhile() {
        expectSame(
            [
                .timer("t", .due, [.add("u", to: .default), .setDate("v", .due)]), .timer("u"), .timer("v", .never),
                .timer("k", .never),
            ],
            ["t", "v", "k"].map { .add($0, to: .default) } + [.run(.default), .run(.default)],
            shows: "t timedOut u v timedOut"
        )
    }

    @Test("53: a timer that fires once is valid in its callout, and nothing revives it")
    func once() {
        expectSame(
            [.timer("t", .due, [.look, .setDate("t", .due)]), .timer("k", .never)],
            [
                .add("t", to: .default), .add("k", to: .default), .run(.default), .look, .add("t", to: .default),
                .run(.default),
            ],
            shows: "t timedOut timedOut"
        )
    }

    @Test("54: a repeating timer that was held up fires once and keeps its phase")
    func missedFires() {
        expectSame(
            [
                // Fires at 120 ms and is held up until 1470, past 720 and 1320; next is 1920, before the end at 2220.
                .timer("t", .after(milliseconds: 120), everyMilliseconds: 600, [.stall(milliseconds: 1350)]),
                .timer("u", .after(milliseconds: 2220), [.stop]),
            ],
            [.add("t", to: .default), .add("u", to: .default), .run(.default, for: .forever)],
            shows: "t t u stopped"
        )
    }

    @Test("54: a date set in the callout counts if it is later; the past means now")
    func dateSetInCallout() {
        expectSame(
            [.timer("t", .due, everyMilliseconds: 5_000_000, [.setDate("t", .due)], [.setDate("t", .due)], [.stop])],
            [.add("t", to: .default), .run(.default, for: .forever), .look],
            shows: "t t t stopped"
        )
    }

    @Test("55: a timer in two modes has one date")
    func twoModes() {
        expectSame(
            [.timer("t", .due, everyMilliseconds: 5_000_000), .timer("k", .never)],
            [
                .add("t", to: .default), .add("t", to: .a), .add("k", to: .default), .run(.a), .run(.default),
                .setDate("t", .due), .run(.default), .run(.a),
            ],
            shows: "t timedOut timedOut t timedOut timedOut"
        )
    }

    @Test("56: a timer does not fire in a run inside its own callout; others do")
    func nestedRun() {
        expectSame(
            [.timer("t", .due, everyMilliseconds: 5_000_000, [.run(.default)]), .timer("u"), .timer("k", .never)],
            ["t", "u", "k"].map { .add($0, to: .default) } + [.run(.default)],
            shows: "t u timedOut timedOut"
        )
    }

    @Test("57: setting a date wakes a sleeping loop; adding a due timer ends its sleep")
    func asleep() {
        expectSame(
            [.timer("t", .never, everyMilliseconds: 5_000_000, [.stop])],
            [.add("t", to: .default), .whileAsleep([.setDate("t", .due)]), .run(.default, for: .forever)],
            shows: "t stopped"
        )
        expectSame(
            [.source("idle"), .timer("u", .due, [.stop]), .observer("w", .afterWaiting)],
            [
                .add("idle", to: .default), .add("w", to: .default), .whileAsleep([.add("u", to: .default)]),
                .run(.default, for: .forever),
            ],
            shows: "idle+default w.afterWaiting u stopped idle-default"
        )
    }

    @Test("58: the next fire date of a mode is that of its first timer")
    func nextDate() {
        expectSame(
            [.timer("t", .never), .timer("u", .after(milliseconds: 100_000)), .source("s")],
            [
                .look, .add("s", to: .default), .look, .add("t", to: .default), .look, .add("u", to: .default), .look,
                .setDate("u", .never), .look, .setDate("t", .due), .look, .invalidate("t"), .invalidate("u"), .look,
            ],
            shows: "s+default s-default"
        )
    }
}
