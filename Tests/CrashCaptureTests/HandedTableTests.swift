import CCrashCapture
import Glibc
import Testing

@testable import CrashCapture

/// What the process before hands over: its table, and packets of descriptors.
@Suite struct HandedTableTests {
    /// A table with two names, whose slots are 0 and 1.
    private static func table(frozen: Bool = true) throws -> KeptTable {
        let table = try KeptTable()
        try table.keep(KeptEntry(descriptor: STDIN_FILENO, state: [1]), as: "in")
        try table.keep(KeptEntry(descriptor: STDERR_FILENO, state: [2, 3]), as: "error")
        if frozen { table.freeze() }
        return table
    }

    private static func packet(_ slots: [UInt32]) -> [UInt8] {
        HandedTable.slotsMark + slots.flatMap { slot in withUnsafeBytes(of: slot) { Array($0) } }
    }

    @Test func `Descriptors get the names and bytes of their slots, in the order in which they come`() throws {
        let table = try Self.table()
        var handed = try #require(HandedTable(table.descriptor))
        let copies = [dup(STDERR_FILENO), dup(STDIN_FILENO)]
        #expect(handed.take(Self.packet([1, 0]), copies) == [])
        #expect(handed.entries.map(\.name) == ["error", "in"])
        let expected = [KeptEntry(descriptor: copies[0], state: [2, 3]), KeptEntry(descriptor: copies[1], state: [1])]
        #expect(handed.entries.map(\.entry) == expected)
        for copy in copies { close(copy) }
    }

    @Test func `What is not in the table is given back`() throws {
        let table = try Self.table()
        var handed = try #require(HandedTable(table.descriptor))
        let (copy, other) = (dup(STDIN_FILENO), hf_kept_create())
        defer { for number in [copy, other] { close(number) } }
        // Too few numbers, too many, half a one.
        for bytes in [Self.packet([]), Self.packet([0, 1]), Array(Self.packet([0]).dropLast())] {
            #expect(handed.take(bytes, [copy]) == [copy])
        }
        // Slots that were never used, and another file.
        for slot in [2, 65535, UInt32.max] { #expect(handed.take(Self.packet([slot]), [copy]) == [copy]) }
        #expect(handed.take(Self.packet([1]), [other]) == [other])
        #expect(handed.take(Self.packet([0]), [copy]) == [])
        // Each once.
        #expect(handed.take(Self.packet([0]), [other]) == [other])
        #expect(handed.entries.map(\.name) == ["in"])
        #expect(handed.missing.isEmpty)
    }

    @Test func `What does not come is told by its name`() throws {
        let table = try Self.table()
        var handed = try #require(HandedTable(table.descriptor))
        #expect(handed.missing == ["error", "in"])
        let copy = dup(STDIN_FILENO)
        defer { close(copy) }
        #expect(handed.take(Self.packet([0]), [copy]) == [])
        #expect(handed.missing == ["error"])
    }

    @Test func `A table that can still be changed is none, nor is any other file`() throws {
        #expect(HandedTable(try Self.table(frozen: false).descriptor) == nil)
        #expect(HandedTable(STDIN_FILENO) == nil)
        #expect(HandedTable(-1) == nil)
        let empty = hf_kept_create()
        defer { close(empty) }
        hf_async_freeze_kept_table(empty)
        #expect(HandedTable(empty) == nil)
    }
}
