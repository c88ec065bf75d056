import TestSupport
import Testing

/// What the allocator does in a thousand steady passes, counted in a process of its own.
@Suite("Allocations", .timeLimit(.minutes(10)))
struct AllocationTests {
    /// Runs a scenario of the probe and returns allocations, reallocations and frees.
    private func count(_ scenario: String) throws -> (calls: [Int], origins: String) {
        let run = try ProgramRun.run(BuiltProduct.path(of: "allocation-probe"), [scenario])
        #expect(run.end == .exited(0), "\(run.errors.suffix(1000))")
        return (run.output.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }, run.errors)
    }

    @Test("The probe sees a single allocation")
    func control() throws {
        let (with, _) = try count("control")
        let (without, _) = try count("source")
        #expect(with.count == 3)
        #expect(zip(with, without).map { $0 - $1 } == [1, 0, 0])
    }

    @Test(
        "A steady pass allocates nothing; without optimisation, it keeps nothing",
        arguments: [
            "source", "several-sources", "timer", "moved-timer", "port", "observers", "sleeping", "poll", "limit",
            "nested",
            "wake-ups", "events", "messages",
        ]
    )
    func steadyPass(_ scenario: String) throws {
        let (calls, origins) = try count(scenario)
        if BuiltProduct.isDebug {
            // Generic code that is not specialised puts values into boxes, and the checks of invariants make lists.
            try #require(calls.count == 3)
            #expect(calls == [calls[0], 0, calls[0]])
        } else {
            #expect(calls == [0, 0, 0], "the first came from:\n\(origins.prefix(4000))")
        }
    }
}
