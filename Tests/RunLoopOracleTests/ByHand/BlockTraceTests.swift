import RunLoops
import Testing

/// Items 34 to 36.
@Suite("Blocks as in CFRunLoop", .oracle, .timeLimit(.minutes(10)))
struct BlockTraceTests {
    @Test("34: posting does not wake the loop")
    func noWake() {
        expectSame(
            [.observer("o", .beforeWaiting, [.perform("b", in: [.default])]), .block("b"), .source("idle")],
            [
                .add("o", to: .default), .add("idle", to: .default), .run(.default, for: .milliseconds(30)),
                .run(.default),
            ],
            shows: "idle+default o.beforeWaiting b timedOut timedOut idle-default"
        )
    }

    @Test("34: a block runs once, in the first run of a mode that it is for")
    func anyOfSeveralModes() {
        expectSame(
            [.block("b"), .block("c")],
            [
                .perform("b", in: [.a, .b]), .perform("c", in: [.common, .b]), .run(.default), .run(.b), .run(.a),
            ],
            shows: "c timedOut b timedOut finished"
        )
    }

    @Test("34: which modes are common counts when the block would run, not when it was posted")
    func commonAtRunTime() {
        expectSame(
            [.block("b"), .block("c", [.addCommonMode(.b)]), .block("d"), .source("i"), .source("s")],
            [
                .perform("b", in: [.common]), .add("i", to: .a), .run(.a), .addCommonMode(.a), .run(.a),
                .perform("c", in: [.b]), .perform("d", in: [.common]), .add("s", to: .b), .signal("s"), .run(.b),
            ],
            shows: "i+a timedOut b timedOut s+b c d s timedOut i-a s-b"
        )
    }

    @Test("35: blocks run in order; those posted meanwhile wait for the next time, behind those that did not match")
    func order() {
        expectSame(
            [
                .block("b", [.perform("e", in: [.default]), .perform("f", in: [.a])]), .block("c"), .block("d"),
                .block("e"), .block("f"),
            ],
            [
                .perform("b", in: [.default]), .perform("d", in: [.a]), .perform("c", in: [.default]), .run(.default),
                .run(.a),
            ],
            shows: "b c e timedOut d f timedOut"
        )
    }

    @Test("36: a run inside a block sees only what was posted since")
    func nestedRun() {
        expectSame(
            [.block("b", [.perform("d", in: [.default]), .run(.default)]), .block("c"), .block("d")],
            [.perform("b", in: [.default]), .perform("c", in: [.default]), .run(.default)],
            shows: "b d timedOut c timedOut"
        )
    }
}
