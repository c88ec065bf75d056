import CCrashCapture
import Glibc
import SystemPackage
import Testing

@testable import CrashCapture

/// The table of what is kept across restarts, written and read.
@Suite struct KeptTableTests {
    private static func bytes(of table: KeptTable) -> [UInt8] {
        var status = stat()
        fstat(table.descriptor, &status)
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        #expect(pread(table.descriptor, &bytes, bytes.count, 0) == bytes.count)
        return bytes
    }

    private static func entry(_ state: [UInt8]) -> KeptEntry { KeptEntry(descriptor: STDOUT_FILENO, state: state) }

    @Test func `An empty table says so`() throws {
        let table = try KeptTable()
        #expect(KeptTable.records(in: .init(Self.bytes(of: table))) == [:])
    }

    @Test func `What was kept last under each name is there`() throws {
        var generator = SystemRandomNumberGenerator()
        let table = try KeptTable()
        var expected: [String: [UInt8]] = [:]
        for _ in 0..<5000 {
            let name = "name \(Int.random(in: 0..<50, using: &generator))"
            let state = [UInt8](repeating: .random(in: 0...255), count: Int.random(in: 0..<2000))
            switch Int.random(in: 0..<4) {
            case 0:
                try table.remove(name)
                expected[name] = nil
            case 1:
                #expect(try table.setState(state, of: name) == (expected[name] != nil))
                if expected[name] != nil { expected[name] = state }
            default:
                try table.keep(Self.entry(state), as: name)
                expected[name] = state
            }
        }
        let records = try #require(KeptTable.records(in: .init(Self.bytes(of: table))))
        #expect(records.mapValues(\.state) == expected)
        #expect(Set(table.names) == Set(expected.keys))
        // Space is used again: names and their largest states, doubled, and as much for what is free.
        #expect(Self.bytes(of: table).count < 4096 + 65536 * 8 + 50 * 4096 * 6)
    }

    @Test func `What is beyond a limit is refused, and leaves what was there`() throws {
        let table = try KeptTable()
        try table.keep(Self.entry([1]), as: "a")
        #expect(throws: Errno.badFileDescriptor) { try table.keep(KeptEntry(descriptor: 9999, state: []), as: "a") }
        let large = [UInt8](repeating: 0, count: KeptTable.stateSizeLimit + 1)
        #expect(throws: Errno.invalidArgument) { try table.keep(Self.entry(large), as: "a") }
        let name = String(repeating: "n", count: KeptTable.nameSizeLimit + 1)
        #expect(throws: Errno.invalidArgument) { try table.keep(Self.entry([]), as: name) }
        try table.keep(Self.entry(large.dropLast()), as: "b")
        let records = try #require(KeptTable.records(in: .init(Self.bytes(of: table))))
        #expect(records["a"]?.state == [1])
        #expect(records["b"]?.state.count == KeptTable.stateSizeLimit)
        #expect(KeptTable.takeOver(-1) == nil)
        #expect(KeptTable.takeOver(.max) == nil)
    }

    @Test func `There are names for every connection of a large server, and no more`() throws {
        let table = try KeptTable()
        for number in 0..<KeptTable.nameLimit { try table.keep(Self.entry([]), as: "\(number)") }
        #expect(throws: Errno.noSpace) { try table.keep(Self.entry([]), as: "one more") }
        try table.remove("7")
        try table.keep(Self.entry([2]), as: "one more")
        #expect(KeptTable.records(in: .init(Self.bytes(of: table)))?["one more"]?.state == [2])
    }

    @Test func `A table that a failed restart has frozen is changed further, under its number`() throws {
        let table = try KeptTable()
        for number in 0..<100 {
            try table.keep(Self.entry([UInt8](repeating: 1, count: number * 100)), as: "\(number)")
        }
        let before = try #require(KeptTable.records(in: .init(Self.bytes(of: table))))
        let frozen = fcntl(table.descriptor, F_DUPFD_CLOEXEC, 0)
        table.freeze()
        hf_async_keep_descriptors(table.descriptor, true)
        hf_async_keep_descriptors(table.descriptor, false)
        var byte: UInt8 = 0
        #expect(pwrite(table.descriptor, &byte, 1, 0) == -1 && errno == EPERM)

        #expect(try table.setState([2], of: "99"))
        try table.remove("98")
        try table.keep(Self.entry([3]), as: "new")
        var expected = before.mapValues(\.state)
        expected["99"] = [2]
        expected["98"] = nil
        expected["new"] = [3]
        #expect(KeptTable.records(in: .init(Self.bytes(of: table)))?.mapValues(\.state) == expected)
        #expect(fcntl(table.descriptor, F_GETFD) == FD_CLOEXEC)
        // What a successor would have been given is as it was.
        let successor = try #require(KeptTable.takeOver(frozen))
        #expect(successor.entries.mapValues(\.state) == before.mapValues(\.state))
        #expect(fcntl(STDOUT_FILENO, F_GETFD) == 0)
    }

    @Test func `Another process's table is none`() throws {
        let table = try KeptTable()
        let bytes = Self.bytes(of: table)
        #expect(KeptTable.records(in: .init(bytes), pid: getpid() + 1) == nil)
        #expect(KeptTable.records(in: .init(bytes), startTime: ProcessImage.startTime + 1) == nil)
        #expect(KeptTable.records(in: .init(Array(bytes.dropLast()))) == nil)
        #expect(KeptTable.records(in: .init([])) == nil)
    }

    @Test func `Damage is found or does no harm`() throws {
        let table = try KeptTable()
        for number in 0..<20 {
            try table.keep(Self.entry([UInt8](repeating: 1, count: number * 10)), as: "name \(number)")
        }
        let bytes = Self.bytes(of: table)
        // The header, the slots that are used, and the records.
        let places = Array(0..<32) + Array(4096..<(4096 + 160)) + Array((4096 + 65536 * 8)..<bytes.count)
        for _ in 0..<300 {
            var damaged = bytes
            for _ in 0..<Int.random(in: 1...3) { damaged[places.randomElement() ?? 0] = .random(in: 0...255) }
            if Bool.random() { damaged.removeLast(Int.random(in: 0...damaged.count)) }
            for record in KeptTable.records(in: .init(damaged))?.values ?? [:].values {
                #expect(record.state.count <= KeptTable.stateSizeLimit)
            }
        }
    }
}
