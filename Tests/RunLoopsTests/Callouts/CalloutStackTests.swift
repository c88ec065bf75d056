import Glibc
import RecoveryTestSupport
import RunLoops
import Testing

@Suite("The stacks of abandoned callouts", .serialized, .timeLimit(.minutes(10)))
struct CalloutStackTests {
    /// Abandons callouts of one loop and returns the bounds of their stacks and what each keeps.
    private static func abandon(_ count: Int, deepest: Int = 0) throws -> [(low: UInt, high: UInt, kept: UInt)] {
        try onNewThread { loop in
            let stacks = Cell<[[UInt]]>([])
            loop.setAbandonHandler { callout in
                stacks.value.append([callout.stack.low, callout.stack.high, UInt(callout.stack.bury())])
            }
            for _ in 0..<count {
                loop.performWithoutWaking { hf_test_abandon_callout() }
                loop.run(in: .default, for: .zero)
            }
            return stacks.value
        }.map { ($0[0], $0[1], $0[2]) }
    }

    /// In a process of its own: another test's thread may take the place that the last stack left.
    @Test("From the second on, each stack begins where the pages end that the last one keeps")
    func adjacent() async {
        await #expect(processExitsWith: .success) {
            let stacks = try Self.abandon(40)
            let adjacent = zip(stacks, stacks.dropFirst()).count { last, next in next.high == last.high - last.kept }
            #expect(adjacent >= 38)
            #expect(Set(stacks.map(\.low)).count == stacks.count)
            #expect(stacks.allSatisfy { $0.kept > 0 && $0.kept <= 64 << 10 })
        }
    }

    /// In a process of its own, as above.
    @Test("What they keep is one mapping, with no access below the stack that is in use")
    func mappings() async {
        await #expect(processExitsWith: .success) { try Self.expectFewMappings() }
    }

    private static func expectFewMappings() throws {
        let stacks = try abandon(200)
        let mappings = try String(decoding: Array(contentsOfFile: "/proc/self/maps"), as: UTF8.self)
            .split(separator: "\n").map { line -> (low: UInt, high: UInt, access: Substring) in
                let fields = line.split(separator: " ", maxSplits: 2)
                let bounds = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
                return (bounds[0], bounds[1], fields[1])
            }
        let keeping = stacks.compactMap { stack in
            mappings.firstIndex { $0.low <= stack.high - stack.kept && stack.high <= $0.high && $0.access == "rw-p" }
        }
        #expect(keeping.count == stacks.count)
        #expect(Set(keeping).count <= 2, "\(Set(keeping).count) mappings for \(stacks.count) abandoned callouts")
    }

    @Test("Below every stack there is a guard of 64 KiB", arguments: [false, true])
    func guards(afterFault: Bool) throws {
        if afterFault { _ = try Self.abandon(3) }
        let text = try onNewThread { loop in
            let text = Cell("")
            loop.performWithoutWaking {
                let low = hf_test_current_callout_stack()
                let mappings = (try? [UInt8](contentsOfFile: "/proc/self/maps")) ?? []
                let line = String(decoding: mappings, as: UTF8.self).split(separator: "\n").first { line in
                    let bounds = line.prefix { $0 != " " }.split(separator: "-").compactMap { UInt($0, radix: 16) }
                    return bounds[1] == low && bounds[1] - bounds[0] >= 64 << 10
                }
                text.value = String(line ?? "nothing below \(low)")
            }
            loop.run(in: .default, for: .zero)
            return text.value
        }
        #expect(text.contains(" ---p "), "\(text)")
    }
}

extension [UInt8] {
    /// Reads a file whose size is not known.
    fileprivate init(contentsOfFile path: String) throws {
        let descriptor = open(path, O_RDONLY)
        precondition(descriptor >= 0, "no \(path)")
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            precondition(count >= 0, "\(path) cannot be read")
            if count == 0 { break }
            bytes += buffer[..<count]
        }
        self = bytes
    }
}
