import TestSupport
import Testing

/// Handlers that are given up again, and sequences.
@Suite(.timeLimit(.minutes(10))) struct ObservationTests {
    @Test func `Faults, signals and stalls come as sequences, which end with the host`() throws {
        let run = try HostRun("observations", "sequences")
        let lines = try run.lines()
        #expect(
            lines.prefix(4) == ["fault 1", "signal true true", "stall over", "observed false"]
        )
        #expect(Set(lines.dropFirst(4).dropLast()) == ["no more faults", "no more stalls"])
        #expect(lines.last == "resumed 1 dropped 0")
        #expect(try run.process.wait() == .exited(0), "\(run.process.errors)")
    }

    @Test func `What nobody takes from a sequence is dropped, the oldest first, and counted`() throws {
        let run = try HostRun("observations", "dropped")
        #expect(try run.lines() == ["256 from 45 to 300, dropped 44"])
        #expect(try run.process.wait() == .exited(0), "\(run.process.errors)")
    }

    @Test func `A handler that was given up is not called, and the others are`() throws {
        let run = try HostRun("observations", "given-up")
        #expect(
            try run.lines() == [
                "valid 0 observed false", "fault", "restart", "valid 0 observed false", "restarted",
            ]
        )
        #expect(try run.process.wait() == .exited(0), "\(run.process.errors)")
    }
}
