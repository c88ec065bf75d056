import TestSupport
import Testing

/// What the allocator does while verdicts are given, counted in a process of its own: nothing, for the heap may be locked by
/// the thread that waits for the verdict.
@Suite(.timeLimit(.minutes(10))) struct VerdictAllocationTests {
    private func counts(_ scenario: String) throws -> (numbers: [Int], origins: String) {
        let run = try ProgramRun.run(BuiltProduct.path(of: "verdict-probe"), [scenario])
        #expect(run.end == .exited(0), "\(run.errors.suffix(1000))")
        return (run.output.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }, run.errors)
    }

    @Test func `The probe sees a single allocation`() throws {
        #expect(try counts("control").numbers == [0, 1, 0, 0, 0])
    }

    @Test(arguments: ["sample", "sample-pending"])
    func `From a fault to the end nothing is allocated, and no type looked up`(scenario: String) throws {
        let (numbers, origins) = try counts(scenario)
        #expect(numbers == [0, 0, 0, 0, 0], "the first came from:\n\(origins.prefix(4000))")
    }

    @Test(
        arguments: [
            "resumed", "denied", "other-threads", "sent", "stopping", "items", "item-budget", "quarantine", "policies",
            "objection", "overdue",
        ]
    )
    func `The first thousand verdicts allocate nothing, and look no type up`(scenario: String) throws {
        let (numbers, origins) = try counts(scenario)
        #expect(numbers == [0, 0, 0, 0, 0], "the first came from:\n\(origins.prefix(4000))")
    }

    @Test func `What is posted after a verdict allocates nothing`() throws {
        let (numbers, origins) = try counts("posts")
        #expect(numbers.dropLast() == [0, 0, 0, 0], "the first came from:\n\(origins.prefix(4000))")
    }
}
