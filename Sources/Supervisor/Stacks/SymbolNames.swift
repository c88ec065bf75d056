internal import LinuxSystem
internal import SystemPackage

/// The names of functions in the symbol table of a file: hostile input.
enum SymbolNames {
    /// A function that an address is in.
    struct Name: Equatable {
        let text: String
        /// How far the address is from its beginning.
        let offset: UInt64
    }

    private static let entrySize = 24
    /// Reading more would take longer than anybody waits who is about to end a process.
    private static let mostEntries = 4 << 20

    /// Looks addresses up.
    ///
    /// - Parameters:
    ///   - addresses: As the file counts them.
    ///   - path: The file.
    /// - Returns: What is known of them.
    static func find(_ addresses: [UInt64], in path: String) -> [UInt64: Name] {
        guard let file = try? OwnedDescriptor(reading: FilePath(path), followingLinks: true) else { return [:] }
        let wanted = addresses.sorted()
        guard let sections = sections(file) else { return [:] }
        var found: [UInt64: Name] = [:]
        // All functions, and where they were stripped those that are exported: SHT_SYMTAB, SHT_DYNSYM (elf(5)).
        for kind in [UInt32(2), 11] where found.isEmpty {
            guard let table = sections.first(where: { $0.kind == kind }), table.link < sections.count else { continue }
            found = search(table, sections[table.link], file, wanted)
        }
        return found
    }

    private struct Section {
        let kind: UInt32
        let place: UInt64
        let size: UInt64
        let link: Int
    }

    private static func sections(_ file: borrowing OwnedDescriptor) -> [Section]? {
        guard let head = read(file, 0, 64), number(head, 0, 4) == 0x464c_457f, head[4] == 2, head[5] == 1 else {
            return nil
        }
        let (place, size, count) = (number(head, 40, 8), number(head, 58, 2), number(head, 60, 2))
        guard size == 64, count > 0, let bytes = read(file, place, Int(size * count)) else { return nil }
        return (0..<Int(count)).map { index in
            let start = 64 * index
            return Section(
                kind: UInt32(truncatingIfNeeded: number(bytes, start + 4, 4)),
                place: number(bytes, start + 24, 8),
                size: number(bytes, start + 32, 8),
                link: Int(number(bytes, start + 40, 4))
            )
        }
    }

    private static func search(
        _ table: Section,
        _ strings: Section,
        _ file: borrowing OwnedDescriptor,
        _ wanted: [UInt64]
    ) -> [UInt64: Name] {
        var found: [UInt64: Name] = [:]
        let count = Int(min(table.size / UInt64(entrySize), UInt64(mostEntries)))
        let batch = 32_768
        for first in stride(from: 0, to: count, by: batch) {
            let entries = min(batch, count - first)
            let place = table.place &+ UInt64(first * entrySize)
            guard let bytes = read(file, place, entries * entrySize) else { break }
            for start in stride(from: 0, to: entries * entrySize, by: entrySize) {
                // STT_FUNC, STT_GNU_IFUNC
                let kind = bytes[start + 4] & 15
                guard kind == 2 || kind == 10 else { continue }
                let (value, size) = (number(bytes, start + 8, 8), number(bytes, start + 16, 8))
                var index = lowerBound(wanted, value)
                while index < wanted.count, wanted[index] - value < size {
                    let address = wanted[index]
                    index += 1
                    guard found[address] == nil, let text = string(file, strings, number(bytes, start, 4)) else {
                        continue
                    }
                    found[address] = Name(text: text, offset: address - value)
                }
            }
        }
        return found
    }

    /// The first of some sorted numbers that is not less than another one.
    private static func lowerBound(_ numbers: [UInt64], _ least: UInt64) -> Int {
        var (low, high) = (0, numbers.count)
        while low < high {
            let middle = (low + high) / 2
            if numbers[middle] < least { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// A string of a table, which can be shown.
    private static func string(_ file: borrowing OwnedDescriptor, _ table: Section, _ offset: UInt64) -> String? {
        guard offset < table.size,
            let bytes = read(file, table.place &+ offset, Int(min(1024, table.size - offset)))
        else { return nil }
        let text = bytes.prefix { $0 != 0 }
        guard !text.isEmpty, text.allSatisfy({ $0 > 0x20 && $0 != 0x7f }) else { return nil }
        return String(decoding: text, as: UTF8.self)
    }

    private static func number(_ bytes: [UInt8], _ start: Int, _ size: Int) -> UInt64 {
        var number: UInt64 = 0
        for index in 0..<size { number |= UInt64(bytes[start + index]) << UInt64(8 * index) }
        return number
    }

    /// Reads exactly as many bytes as asked for.
    private static func read(_ file: borrowing OwnedDescriptor, _ place: UInt64, _ count: Int) -> [UInt8]? {
        guard let offset = Int(exactly: place) else { return nil }
        let bytes = file.bytes(at: offset, count: count)
        return bytes.count == count && count > 0 ? bytes : nil
    }
}
