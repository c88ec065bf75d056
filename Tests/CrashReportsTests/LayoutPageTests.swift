import CRecordLayout
import Foundation
import TestSupport
import Testing

/// The tables of the documentation, against the headers that writer and reader share.
@Suite struct LayoutPageTests {
    /// A structure, and the line that its table follows.
    private struct Table: CustomTestStringConvertible, Sendable {
        let page: String
        let title: String
        let fields: [Field]
        let size: Int

        var testDescription: String { title }

        init(_ value: some Any, _ page: String, _ title: String) {
            self.page = page
            self.title = title
            fields = Field.all(of: value)
            size = LayoutPageTests.layout(of: value).size
        }
    }

    /// A field as the header has it.
    private struct Field: Sendable {
        let name: String
        let offset: Int
        /// What the page may say of its type.
        let types: [String]

        /// In their order, each where C puts it: at the next multiple of its alignment.
        static func all(of value: Any) -> [Field] {
            var offset = 0
            return Mirror(reflecting: value).children.map { child in
                let (size, alignment) = LayoutPageTests.layout(of: child.value)
                let start = (offset + alignment - 1) / alignment * alignment
                offset = start + size
                return Field(name: child.label ?? "", offset: start, types: types(of: child.value, size))
            }
        }

        private static func types(of value: Any, _ size: Int) -> [String] {
            if let name = scalar(value) { return [name] }
            // Arrays of C are tuples; those of two dimensions are tuples of tuples.
            var first = value
            while Mirror(reflecting: first).displayStyle == .tuple, let next = Mirror(reflecting: first).children.first
            {
                first = next.value
            }
            let count = size / LayoutPageTests.layout(of: first).size
            switch scalar(first) {
            case "i8": return ["text, \(size)", "texts, \(size)"]
            case "u8": return ["bytes, \(size)", "u8 × \(size)"]
            case let name?: return ["\(name) × \(count)"]
            case nil: return [count == 1 ? word(of: first) : "\(word(of: first)) × \(count)"]
            }
        }

        private static func scalar(_ value: Any) -> String? {
            guard let number = value as? any FixedWidthInteger else { return nil }
            let type = type(of: number)
            return (type.isSigned ? "i" : "u") + "\(type.bitWidth)"
        }

        private static func word(of value: Any) -> String {
            switch value {
            case is HFMapping: "mapping"
            case is HFThreadEntry: "thread"
            case is HFMemoryPiece: "piece"
            case is HFLoopEvent: "event"
            case is HFNote: "note"
            case is HFValue: "value"
            case is HFSystemState: "state"
            default: "unknown"
            }
        }
    }

    private static func layout(of value: Any) -> (size: Int, alignment: Int) {
        func measure<T>(_: T) -> (size: Int, alignment: Int) { (MemoryLayout<T>.size, MemoryLayout<T>.alignment) }
        return _openExistential(value, do: measure)
    }

    private static let tables = [
        Table(HFSpoolHeader(), "CrashRecordFormat", "### Header"), Table(HFImage(), "CrashRecordFormat", "### Image"),
        Table(HFRecord(), "CrashRecordFormat", "### Slot"), Table(HFMapping(), "CrashRecordFormat", "A mapping"),
        Table(HFThreadSnapshot(), "CrashRecordFormat", "### Snapshot"),
        Table(HFThreadEntry(), "CrashRecordFormat", "A thread"),
        Table(HFMemoryArea(), "CrashRecordFormat", "### Memory area"),
        Table(HFMemoryPiece(), "CrashRecordFormat", "A piece"), Table(HFContextArea(), "CrashContext", "### Head"),
        Table(HFEventRing(), "CrashContext", "### Ring"), Table(HFLoopEvent(), "CrashContext", "An event"),
        Table(HFNote(), "CrashContext", "### Note"), Table(HFValue(), "CrashContext", "### Value"),
        Table(HFSnapshot(), "CrashContext", "### Snapshot"), Table(HFSystemState(), "CrashContext", "A state"),
    ]

    @Test(arguments: tables) private func `A table of the page is what the header declares`(table: Table) throws {
        let url = BuiltProduct.file("Documentation/\(table.page).md")
        let text = try String(contentsOf: url, encoding: .utf8)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let title = try #require(lines.firstIndex { $0.hasPrefix(table.title + ", ") })
        let size = lines[title].dropFirst(table.title.count + 2).replacing(",", with: "").prefix { $0.isNumber }
        #expect(Int(size) == table.size)
        let rows = lines[title...].drop { !$0.hasPrefix("| offset") }.dropFirst(2).prefix { $0.hasPrefix("| ") }.map {
            $0.split(separator: "|").prefix(3).map { $0.trimmingCharacters(in: .whitespaces) }
        }
        #expect(rows.count == table.fields.count)
        for (row, field) in zip(rows, table.fields) {
            #expect(row[0] == "\(field.offset)" && row[2] == "`\(field.name)`", "\(field.name)")
            #expect(field.types.contains(row[1]), "\(field.name) is \(field.types), not \(row[1])")
        }
    }

    @Test func `The page says the version of the header`() throws {
        let url = BuiltProduct.file("Documentation/CrashRecordFormat.md")
        let text = try String(contentsOf: url, encoding: .utf8)
        #expect(text.contains("This page describes version \(HF_SPOOL_VERSION)."))
        #expect(text.contains("| 8 | u32 | `version` | \(HF_SPOOL_VERSION) |"))
    }
}
