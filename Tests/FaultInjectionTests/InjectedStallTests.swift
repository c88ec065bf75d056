import FaultInjection
import TestSupport
import Testing

/// How long a stall takes.
@Suite(.timeLimit(.minutes(10))) struct InjectedStallTests {
    @Test(arguments: InjectedStall.allCases) func `Signals do not shorten a stall`(stall: InjectedStall) throws {
        let program = try BuiltProduct.path(of: "fault-probe")
        let run = try ProgramRun.run(program, ["stall", stall.rawValue, "100"])
        #expect(run.end == .exited(0), "\(run.errors)")
        let numbers = run.output.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
        try #require(numbers.count == 2, "\(run.output)")
        // The clock that a busy stall looks at has whole milliseconds, and the first one has begun.
        #expect(numbers[0] >= 99)
        // Otherwise nothing was interrupted, and nothing shown.
        #expect(numbers[1] > 0)
    }

    @Test func `A stall of no time comes back`() {
        for stall in InjectedStall.allCases { stall.commit(milliseconds: 0) }
    }
}
