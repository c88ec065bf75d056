import FaultInjection
import Glibc
import TestSupport
import Testing

/// What becomes of a process in which nobody handles the signal.
@Suite(.timeLimit(.minutes(10))) struct CommitTests {
    private func commit(_ cause: Cause) throws -> ProgramRun {
        try ProgramRun.run(BuiltProduct.path(of: "fault-probe"), [cause.name], within: ProgramRun.patience)
    }

    @Test(arguments: Cause.allCases) func `A cause ends its process by the signal of the catalogue`(cause: Cause) throws
    {
        let run = try commit(cause)
        #expect(run.end == .signalled(cause.signal), "\(cause.name): \(run.errors)")
    }

    @Test(arguments: [
        (Cause.fault(.fatalError), "a fault on purpose"), (.fault(.assert), "faultAssert"),
        (.fault(.cxxException), "an exception that nobody catches"), (.fault(.doubleFree), "double free"),
        (.hazard(.stackSmash), "stack smashing detected"), (.hazard(.cxxTerminate), "terminate called"),
        (.hazard(.unownedReference), "unowned reference"),
    ])
    func `Who ends the process itself says why`(cause: Cause, words: String) throws {
        #expect(try commit(cause).errors.contains(words))
    }

    @Test func `A name of no cause commits nothing`() throws {
        let program = try BuiltProduct.path(of: "fault-probe")
        for arguments in [[], ["no-such"], ["nil-unwrap", "overflow"], ["stall", "nil-unwrap", "1"]] {
            #expect(try ProgramRun.run(program, arguments).end == .exited(EX_USAGE), "\(arguments)")
        }
    }
}
