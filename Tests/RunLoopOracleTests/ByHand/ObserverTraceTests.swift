import RunLoops
import Testing

/// Items 37 to 39.
@Suite("Observers as in CFRunLoop", .oracle, .timeLimit(.minutes(10)))
struct ObserverTraceTests {
    @Test("37: observers go by order, then by the time of adding")
    func order() {
        expectSame(
            [
                .observer("m", .entry, order: 1), .observer("n", .entry), .observer("o", .entry, order: -1),
                .observer("p", .entry), .observer("q", .entry, order: 1), .source("idle"),
            ],
            ["m", "p", "n", "q", "o", "idle"].map { .add($0, to: .default) } + [.run(.default)],
            shows: "idle+default o.entry p.entry n.entry m.entry q.entry timedOut idle-default"
        )
    }

    @Test("38: removed meanwhile is called, invalidated is not, added waits")
    func changesMeanwhile() {
        expectSame(
            [
                .observer(
                    "o",
                    .beforeTimers,
                    order: -1,
                    [.remove("r", from: .default), .invalidate("i"), .add("n", to: .default)]
                ),
                .observer("r", .beforeTimers), .observer("i", .beforeTimers), .observer("n", .beforeTimers),
                .source("idle"),
            ],
            ["o", "r", "i", "idle"].map { .add($0, to: .default) } + [.run(.default), .run(.default)],
            shows:
                "idle+default o.beforeTimers r.beforeTimers timedOut o.beforeTimers n.beforeTimers timedOut idle-default"
        )
    }

    @Test("39: one that does not repeat is invalid after its first call, and valid in it")
    func once() {
        expectSame(
            [.observer("o", .all, repeats: false, [.look, .run(.default)]), .source("idle")],
            [
                .add("o", to: .common), .add("idle", to: .default), .run(.default), .look, .add("o", to: .default),
                .run(.default),
            ],
            shows: "idle+default o.entry timedOut timedOut timedOut idle-default"
        )
    }

    @Test("39: a run inside an observer does not call it again")
    func noReentry() {
        expectSame(
            [.observer("o", .beforeSources, [.run(.default)]), .observer("p", .beforeSources), .source("idle")],
            ["o", "p", "idle"].map { .add($0, to: .default) } + [.run(.default)],
            shows: "idle+default o.beforeSources p.beforeSources timedOut p.beforeSources timedOut idle-default"
        )
    }
}
