internal import Glibc
internal import LinuxSystem
internal import SystemPackage

/// The index of a store: what lists show of each report, a line of text for each.
///
/// It lies in the folder of the reports: whoever can put a report there can take a wrong index away. It is only a cache. Anybody may
/// remove it at any time. `Documentation/ReportStore.md` describes its form.
enum IndexFile {
    static let name = ".index"
    static let temporaryName = ".index.tmp"
    /// A larger file is not read: some millions of reports.
    static let maximumSize: Int64 = 1 << 30
    /// A report with more text than this is read whenever it is listed.
    static let maximumTextBytes = 1 << 16
    /// The first line.
    ///
    /// The number is raised whenever this form changes, and whenever the same report would make another line.
    static let header = Array("holdfast index 3\n".utf8)

    /// Reads the index; one that is missing, somebody else's or unreadable knows nothing.
    static func load(in folder: borrowing FileDirectory) -> LoadedIndex {
        guard let file = try? folder.open(name), let status = try? FileStatus(of: file), isUsable(status),
            let bytes = try? file.contents(Int(status.size))
        else { return LoadedIndex([]) }
        return LoadedIndex(bytes)
    }

    /// Puts another index in the place of the one that is there.
    ///
    /// The folder must be locked. Not synchronized: a cache that a crash of the system damages is made anew.
    static func replace(
        with entries: [IndexEntry],
        tally: StoreTally,
        place: StorePlace,
        in folder: borrowing FileDirectory
    ) throws(Errno) {
        var bytes = header
        for entry in entries where entry.texts.size <= maximumTextBytes { bytes.append(line: entry, place: place) }
        var tally = tally
        tally.lines = entries.count
        bytes.append(line: tally)
        do {
            do { try folder.remove(temporaryName) } catch .noSuchFileOrDirectory {}
            let file = try folder.create(temporaryName)
            try file.writeAll(bytes)
            try folder.rename(temporaryName, to: name)
        } catch {
            try? folder.remove(temporaryName)
            throw error
        }
    }

    static func isUsable(_ status: FileStatus) -> Bool {
        status.kind == .regular && status.owner == geteuid() && status.size <= maximumSize
    }
}

/// How much a store holds, as far as is known without looking: the last line of an index.
struct StoreTally: Hashable, Sendable {
    /// How many lines of reports the index has.
    var lines = 0
    /// How many reports; nil if nobody has counted.
    var reports: Int?
    /// How many bytes they have together.
    var bytes = 0
    /// When somebody looked for reports that are too old.
    var pruned = Timestamp(microsecondsSinceEpoch: 0)

    /// Whether the index has so many lines of former states of reports that it should be made anew.
    var isFragmented: Bool { lines > (reports ?? 0).addingClamped(reports ?? 0).addingClamped(256) }
}

/// Where an index was written, as one number: elsewhere, and after a crash of the system, the numbers of files mean nothing.
struct StorePlace: Equatable, Sendable {
    fileprivate var number: UInt64

    /// What the kernel calls this run of the system; nil if it does not say.
    private static let start: [UInt8]? = {
        guard let file = try? OwnedDescriptor(reading: "/proc/sys/kernel/random/boot_id", followingLinks: false),
            let bytes = try? file.readAll(limit: 64), !bytes.isEmpty
        else { return nil }
        return bytes
    }()

    /// The place of an open folder.
    init(_ folder: borrowing FileDirectory) throws(Errno) {
        let status = try FileStatus(of: folder.descriptor)
        guard let start = Self.start else {
            number = 0
            return
        }
        number = Checksum.of(Array("\(status.device) \(status.inode) ".utf8) + start)
    }

    fileprivate init(number: UInt64) { self.number = number }

    /// Whether numbers of files mean the same here and there.
    func isSame(as other: StorePlace) -> Bool { self == other && number != 0 }
}

// MARK: Reading

/// What an index file says.
struct LoadedIndex {
    /// A report's line, not yet looked at.
    private struct Line {
        var id: PackedID
        /// Where it lies, without its end.
        var range: Range<Int>
    }

    private let bytes: [UInt8]
    /// Sorted by identifier, and the lines of one report as they were written.
    private let lines: [Line]
    /// The last tally.
    let tally: StoreTally?
    /// Whether there is something that is no line of an index.
    private let hasWaste: Bool
    /// Texts by their checksum, and where they lie: most reports have those of an earlier one.
    private var known: [UInt64: (place: Range<Int>, texts: ReportTexts)] = [:]

    /// - Parameter bytes: A whole index file; any bytes.
    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        guard bytes.starts(with: IndexFile.header) else {
            (lines, tally, hasWaste) = ([], nil, !bytes.isEmpty)
            return
        }
        var (lines, tally, hasWaste): ([Line], StoreTally?, Bool) = ([], nil, false)
        unsafe bytes.withUnsafeBytes { file in
            var start = IndexFile.header.count
            while start < file.count {
                let end = unsafe file.end(ofLineAt: start) ?? file.count
                let body = start + IndexLine.sumDigits + 1
                if body < end, unsafe file[body] == IndexLine.tallyMark {
                    if let last = unsafe IndexLine.tally(file, start..<end) { tally = last } else { hasWaste = true }
                } else if body + ReportID.length <= end,
                    let id = unsafe PackedID(digits: file[body..<(body + ReportID.length)])
                {
                    lines.append(Line(id: id, range: start..<end))
                } else {
                    hasWaste = true
                }
                start = end + 1
            }
        }
        // Most of the file is sorted already, which the sort of the standard library makes use of.
        lines.sort { ($0.id, $0.range.lowerBound) < ($1.id, $1.range.lowerBound) }
        (self.lines, self.tally, self.hasWaste) = (lines, tally, hasWaste)
    }

    /// Whether any byte of it is not as it was written.
    var isDamaged: Bool {
        guard !hasWaste else { return true }
        return unsafe bytes.withUnsafeBytes { file in
            lines.contains { unsafe !IndexLine.isSound(file, $0.range) }
        }
    }

    /// What it says of a report, and where that was written; nil if it does not know the report.
    mutating func entry(of id: PackedID) -> (entry: IndexEntry, place: StorePlace)? {
        var (low, high) = (0, lines.count)
        while low < high {
            let middle = (low + high) / 2
            if lines[middle].id <= id { low = middle + 1 } else { high = middle }
        }
        guard low > 0, lines[low - 1].id == id else { return nil }
        let range = lines[low - 1].range
        return unsafe bytes.withUnsafeBytes { file in
            guard unsafe IndexLine.isSound(file, range) else { return nil }
            return unsafe IndexLine.report(file, range) { place in
                let bytes = unsafe UnsafeRawBufferPointer(rebasing: file[place])
                let sum = unsafe Checksum.of(bytes)
                if let same = known[sum], unsafe bytes.isEqual(to: file[same.place]) { return same.texts }
                let texts = unsafe IndexLine.texts(bytes)
                known[sum] = texts.map { (place, $0) }
                return texts
            }
        }
    }
}

// MARK: Writing

/// An index that is open for one more line.
///
/// The folder must be locked as long as there is one.
struct IndexAppender: ~Copyable {
    private let file: OwnedDescriptor
    private let isEmpty: Bool
    /// What the last writer knew of the store.
    let tally: StoreTally

    /// Opens the index, and makes one that knows nothing if there is none, or none that can be used.
    init(in folder: borrowing FileDirectory) throws(Errno) {
        if let opened = try? Self.open(folder), let tally = Self.tally(of: opened) {
            self.tally = tally
            isEmpty = false
            file = opened
            return
        }
        do { try folder.remove(IndexFile.name) } catch .noSuchFileOrDirectory {}
        file = try Self.open(folder)
        isEmpty = true
        tally = StoreTally()
    }

    private static func open(_ folder: borrowing FileDirectory) throws(Errno) -> OwnedDescriptor {
        try folder.openForAppending(IndexFile.name, creating: true)
    }

    /// The last line, without reading what lies before it; nil if the file is none that can go on.
    private static func tally(of file: borrowing OwnedDescriptor) -> StoreTally? {
        guard let status = try? FileStatus(of: file), IndexFile.isUsable(status),
            let header = try? file.contents(IndexFile.header.count), header == IndexFile.header,
            let end = try? file.contents(
                IndexLine.longestTally,
                at: max(0, status.size - Int64(IndexLine.longestTally))
            ),
            end.last == IndexLine.end
        else { return nil }
        let line = end.dropLast()
        let start = line.lastIndex(of: IndexLine.end).map { $0 + 1 } ?? line.startIndex
        return unsafe end.withUnsafeBytes { unsafe IndexLine.tally($0, start..<line.endIndex) }
    }

    /// Adds an entry, and what the store will hold.
    ///
    /// An index that is not told of a report must not stay: it could take the new file for the old one, if that has the number of a
    /// file that was removed.
    ///
    /// - Returns: The tally, with the line counted.
    consuming func append(
        _ entry: IndexEntry,
        tally: StoreTally,
        place: StorePlace,
        in folder: borrowing FileDirectory
    ) -> StoreTally {
        var tally = tally
        tally.lines = tally.lines.addingClamped(1)
        var bytes = isEmpty ? IndexFile.header : []
        bytes.append(line: entry, place: place)
        bytes.append(line: tally)
        do {
            try file.writeAll(bytes)
        } catch {
            try? folder.remove(IndexFile.name)
        }
        return tally
    }
}

extension [UInt8] {
    /// Adds a line about a report; one with too much text has its identifier, and nothing else.
    fileprivate mutating func append(line entry: IndexEntry, place: StorePlace) {
        var line = Array(entry.id.reportID.rawValue.utf8)
        defer { append(sealed: line) }
        guard entry.texts.size <= IndexFile.maximumTextBytes else { return }
        let length = entry.longest.map { $0.addingClamped(1) } ?? 0
        let numbers: [Int64] = [
            Int64(bitPattern: place.number), Int64(bitPattern: entry.file.inode), entry.file.modified, entry.file.size,
            entry.timestamp.microsecondsSinceEpoch, entry.first.microsecondsSinceEpoch,
            entry.last.microsecondsSinceEpoch, entry.started.microsecondsSinceEpoch, Int64(entry.count),
            Int64(entry.pid), Int64(length), entry.isQuarantined ? 1 : 0,
        ]
        for number in numbers { line.append(field: String(number)) }
        for text in entry.texts.fields { line.append(field: text) }
    }

    fileprivate mutating func append(line tally: StoreTally) {
        var line = [IndexLine.tallyMark]
        for number in [tally.lines, tally.reports ?? -1, tally.bytes, Int(tally.pruned.microsecondsSinceEpoch)] {
            line.append(field: String(number))
        }
        append(sealed: line)
    }

    /// Adds a line after its checksum, in as many digits as it has at most.
    private mutating func append(sealed line: [UInt8]) {
        let sum = String(Checksum.of(line), radix: 16)
        append(contentsOf: repeatElement(UInt8(ascii: "0"), count: IndexLine.sumDigits - sum.utf8.count))
        append(contentsOf: sum.utf8)
        append(IndexLine.separator)
        append(contentsOf: line)
        append(IndexLine.end)
    }

    /// Adds a text after a separator, neither of which may be in it.
    private mutating func append(field text: String) {
        append(IndexLine.separator)
        for byte in text.utf8 {
            switch byte {
            case IndexLine.separator: append(contentsOf: [IndexLine.escape, UInt8(ascii: "t")])
            case IndexLine.end: append(contentsOf: [IndexLine.escape, UInt8(ascii: "n")])
            case IndexLine.escape: append(contentsOf: [IndexLine.escape, IndexLine.escape])
            default: append(byte)
            }
        }
    }
}

// MARK: Lines

/// A line: its checksum, and what it says, separated by tabs.
private enum IndexLine {
    static let separator = UInt8(ascii: "\t")
    static let end = UInt8(ascii: "\n")
    static let escape = UInt8(ascii: "\\")
    /// Begins a tally, where other lines have an identifier.
    static let tallyMark = UInt8(ascii: "=")
    static let sumDigits = 16
    /// A checksum and four numbers.
    static let longestTally = 128

    /// Whether a line is as it was written.
    static func isSound(_ file: UnsafeRawBufferPointer, _ line: Range<Int>) -> Bool {
        let body = line.lowerBound + sumDigits + 1
        guard body <= line.upperBound, unsafe file[body - 1] == separator,
            let sum = unsafe PackedID.half(of: file[line.lowerBound..<(body - 1)])
        else { return false }
        return unsafe Checksum.of(UnsafeRawBufferPointer(rebasing: file[body..<line.upperBound])) == sum
    }

    /// Reads a tally; nil for any other line.
    static func tally(_ file: UnsafeRawBufferPointer, _ line: Range<Int>) -> StoreTally? {
        guard unsafe isSound(file, line) else { return nil }
        var rest = (line.lowerBound + sumDigits + 2)..<line.upperBound
        guard let lines = unsafe number(file, &rest), let reports = unsafe number(file, &rest),
            let bytes = unsafe number(file, &rest), let pruned = unsafe number(file, &rest), rest.isEmpty
        else { return nil }
        return StoreTally(
            lines: max(0, Int(lines)),
            reports: reports < 0 ? nil : Int(reports),
            bytes: max(0, Int(bytes)),
            pruned: Timestamp(microsecondsSinceEpoch: pruned)
        )
    }

    /// Reads a separator and a number; one that is too large becomes any other.
    static func number(_ file: UnsafeRawBufferPointer, _ rest: inout Range<Int>) -> Int64? {
        var place = rest.lowerBound
        guard unsafe place < rest.upperBound && file[place] == separator else { return nil }
        place += 1
        let isNegative = unsafe place < rest.upperBound && file[place] == UInt8(ascii: "-")
        if isNegative { place += 1 }
        let first = place
        var value: Int64 = 0
        while place < rest.upperBound {
            let digit = unsafe file[place] &- UInt8(ascii: "0")
            guard digit < 10 else { break }
            value = value &* 10 &+ Int64(digit)
            place += 1
        }
        guard place > first else { return nil }
        rest = place..<rest.upperBound
        return isNegative ? 0 &- value : value
    }

    /// Reads the line of a report, whose texts the caller looks up; nil for any other line.
    static func report(
        _ file: UnsafeRawBufferPointer,
        _ line: Range<Int>,
        texts: (Range<Int>) -> ReportTexts?
    ) -> (entry: IndexEntry, place: StorePlace)? {
        let id = line.lowerBound + sumDigits + 1
        var rest = (id + ReportID.length)..<line.upperBound
        func next() -> Int64? { unsafe number(file, &rest) }
        guard let packed = unsafe PackedID(digits: file[id..<rest.lowerBound]), let place = next(),
            let inode = next(), let modified = next(), let size = next(), let time = next(), let first = next(),
            let last = next(), let started = next(), let count = next(), let pid = next(), let length = next(),
            let isQuarantined = next(), let texts = texts(rest)
        else { return nil }
        let entry = IndexEntry(
            id: packed,
            file: FileMark(inode: UInt64(bitPattern: inode), modified: modified, size: size),
            timestamp: Timestamp(microsecondsSinceEpoch: time),
            first: Timestamp(microsecondsSinceEpoch: first),
            last: Timestamp(microsecondsSinceEpoch: last),
            started: Timestamp(microsecondsSinceEpoch: started),
            count: Int(count),
            pid: Int(pid),
            isQuarantined: isQuarantined != 0,
            longest: length > 0 ? Int(length) - 1 : nil,
            texts: texts
        )
        return (entry, StorePlace(number: UInt64(bitPattern: place)))
    }

    /// Reads texts, each after a separator; nil if a separator is missing or a text is not valid.
    static func texts(_ bytes: UnsafeRawBufferPointer) -> ReportTexts? {
        var fields: [String] = []
        var start = 0
        while start < bytes.count {
            guard unsafe bytes[start] == separator else { return nil }
            let end = unsafe bytes[(start + 1)...].firstIndex(of: separator) ?? bytes.count
            guard let text = unsafe text(bytes[(start + 1)..<end]) else { return nil }
            fields.append(text)
            start = end
        }
        return ReportTexts(fields: fields)
    }

    private static func text(_ field: Slice<UnsafeRawBufferPointer>) -> String? {
        guard unsafe field.contains(escape) else { return unsafe String(validating: field, as: UTF8.self) }
        var bytes: [UInt8] = []
        var isEscaped = false
        for byte in unsafe Array(field) {
            if !isEscaped, byte == escape {
                isEscaped = true
                continue
            }
            switch (isEscaped, byte) {
            case (true, UInt8(ascii: "t")): bytes.append(separator)
            case (true, UInt8(ascii: "n")): bytes.append(end)
            default: bytes.append(byte)
            }
            isEscaped = false
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

extension UnsafeRawBufferPointer {
    /// Where a line ends; nil if it does not.
    fileprivate func end(ofLineAt start: Int) -> Int? {
        guard let base = baseAddress,
            let end = unsafe memchr(base + start, Int32(IndexLine.end), count - start)
        else { return nil }
        return unsafe UnsafeRawPointer(end) - base
    }

    fileprivate func isEqual(to other: Slice<UnsafeRawBufferPointer>) -> Bool {
        let other = unsafe UnsafeRawBufferPointer(rebasing: other)
        guard count == other.count, let left = baseAddress, let right = other.baseAddress else {
            return false
        }
        return unsafe memcmp(left, right, count) == 0
    }
}

/// A checksum against accidents, some gigabytes a second.
///
/// It proves nothing about who wrote the bytes.
private enum Checksum {
    static func of(_ bytes: [UInt8]) -> UInt64 { unsafe bytes.withUnsafeBytes { unsafe of($0) } }

    static func of(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var sum: UInt64 = 0x9e37_79b9_7f4a_7c15
        var offset = 0
        while offset &+ 8 <= bytes.count {
            let word = unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            sum = mix(sum, UInt64(littleEndian: word))
            offset &+= 8
        }
        var rest: UInt64 = 0
        for place in offset..<bytes.count { rest = rest << 8 | UInt64(unsafe bytes[place]) }
        return mix(mix(sum, rest), UInt64(bytes.count))
    }

    private static func mix(_ sum: UInt64, _ word: UInt64) -> UInt64 {
        let product = (sum ^ word) &* 0xff51_afd7_ed55_8ccd
        return product ^ (product >> 32)
    }
}
