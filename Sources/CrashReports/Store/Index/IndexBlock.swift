/// A part of the index file: entries, and the texts that they refer to by number.
///
/// All numbers are little-endian. A block is a header of 96 bytes, the sizes of the texts (4 bytes each), the texts in UTF-8, the
/// entries (144 bytes each), and its size and checksum once more, each part padded with zeros to 8 bytes:
///
/// | at | bytes | what |
/// | --- | --- | --- |
/// | 0 | 8 | `HFINDEX` and the version of this form |
/// | 8 | 8 | the size of the block |
/// | 16 | 8 | the checksum of what follows, up to the size at the end |
/// | 24 | 4, 4 | how many texts, how many entries |
/// | 32 | 8, 8, 8 | the tally: reports, bytes, when it was pruned last |
/// | 56 | 8, 8, 16 | the place: device, inode of the folder, identifier of the system's start |
/// | 88 | 8 | bytes of the texts together |
struct IndexBlock {
    /// Raised whenever this form changes, and whenever the same report would make another entry.
    static let version: UInt8 = 2
    static let magic = UInt64(littleEndianBytes: Array("HFINDEX".utf8) + [version])
    static let headerSize = 96
    static let entrySize = 144
    static let footerSize = 16
    /// Stands for a text that is not there.
    static let noText = UInt32.max
    /// A report with more text than this is no part of an index.
    static let maximumTextBytes = 1 << 16

    var entries: [IndexEntry]
    var tally: StoreTally
    var place: StorePlace

    /// The bytes of the block; entries with too much text are left out.
    func bytes() -> [UInt8] {
        var texts = TextTable()
        var body: [UInt8] = []
        body.reserveCapacity(entries.count * Self.entrySize)
        var count = 0
        for entry in entries where entry.textBytes <= Self.maximumTextBytes {
            entry.append(to: &body, &texts)
            count += 1
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.headerSize + texts.bytes.count + 4 * texts.sizes.count + body.count + 32)
        bytes.append(Self.magic)
        bytes.append(UInt64(0))
        bytes.append(UInt64(0))
        bytes.append(UInt32(texts.sizes.count))
        bytes.append(UInt32(count))
        bytes.append(UInt64(bitPattern: Int64(tally.reports ?? -1)))
        bytes.append(UInt64(bitPattern: Int64(tally.bytes)))
        bytes.append(UInt64(bitPattern: tally.pruned.microsecondsSinceEpoch))
        for number in [place.device, place.inode, place.start.0, place.start.1] { bytes.append(number) }
        bytes.append(UInt64(texts.bytes.count))
        for size in texts.sizes { bytes.append(size) }
        bytes.padToWord()
        bytes += texts.bytes
        bytes.padToWord()
        bytes += body
        let size = UInt64(bytes.count + Self.footerSize)
        bytes.replace(at: 8, with: size)
        let sum = Checksum.of(bytes, from: 24, to: bytes.count)
        bytes.replace(at: 16, with: sum)
        bytes.append(size)
        bytes.append(sum)
        return bytes
    }
}

/// How much a store holds, as far as is known without looking.
struct StoreTally: Hashable, Sendable {
    /// How many reports; nil if nobody has counted.
    var reports: Int?
    /// How many bytes they have together.
    var bytes = 0
    /// When somebody looked for reports that are too old.
    var pruned = Timestamp(microsecondsSinceEpoch: 0)
}

/// Where an index was written: elsewhere, and after a crash of the system, the numbers of files mean nothing.
struct StorePlace: Equatable, Sendable {
    var device: UInt64
    var inode: UInt64
    /// What the kernel calls this run of the system; zeros if it does not say.
    var start: (UInt64, UInt64)

    /// Whether numbers of files mean the same here and there.
    func isSame(as other: StorePlace) -> Bool { self == other && start != (0, 0) }

    static func == (left: StorePlace, right: StorePlace) -> Bool {
        left.device == right.device && left.inode == right.inode && left.start == right.start
    }
}

extension IndexEntry {
    /// The bytes of its texts.
    var textBytes: Int {
        // Texts of reports have at most 16 MiB each.
        let fixed = [kind, process, host, signal, reason, location, verdict, fingerprint, holdfast, buildID ?? ""]
        let size = fixed.reduce(0) { $0 + $1.utf8.count }
        return tags.reduce(size) { $0 + $1.key.utf8.count + $1.value.utf8.count + 8 }
    }

    fileprivate func append(to bytes: inout [UInt8], _ texts: inout TextTable) {
        for number in [id.high, id.low, file.inode] { bytes.append(number) }
        let numbers = [
            file.modified, file.size, timestamp.microsecondsSinceEpoch, first.microsecondsSinceEpoch,
            last.microsecondsSinceEpoch, Int64(count), Int64(pid),
        ]
        for number in numbers { bytes.append(UInt64(bitPattern: number)) }
        for text in [kind, process, signal, reason, location, verdict, fingerprint, holdfast] {
            bytes.append(texts.number(of: text))
        }
        bytes.append(buildID.map { texts.number(of: $0) } ?? IndexBlock.noText)
        bytes.append(tags.isEmpty ? IndexBlock.noText : texts.number(of: TagText.joined(tags)))
        let length = longest.map { UInt64(clamping: $0) + 1 } ?? 0
        bytes.append(length << 1 | (isQuarantined ? 1 : 0))
        // Half of a word is left.
        bytes.append(texts.number(of: host))
        bytes.append(UInt32(0))
        bytes.append(UInt64(bitPattern: started.microsecondsSinceEpoch))
    }
}

/// Texts by number, each once.
private struct TextTable {
    var sizes: [UInt32] = []
    var bytes: [UInt8] = []
    private var numbers: [String: (number: UInt32, text: String)] = [:]

    mutating func number(of text: String) -> UInt32 {
        // Texts are equal for Swift if they look alike; a file has bytes.
        let known = numbers[text]
        if let known, known.text.utf8.elementsEqual(text.utf8) { return known.number }
        let number = UInt32(sizes.count)
        if known == nil { numbers[text] = (number, text) }
        sizes.append(UInt32(text.utf8.count))
        bytes += text.utf8
        return number
    }
}

/// Tags as one text: a key, a value, and so on, each after its size.
enum TagText {
    static func joined(_ tags: [String: String]) -> String {
        tags.sorted { $0.key < $1.key }.flatMap { [$0.key, $0.value] }.map { "\($0.utf8.count):\($0)" }.joined()
    }

    /// Nil for what is no such text.
    static func split(_ text: String) -> [String: String]? {
        var rest = text.utf8[...]
        var tags: [String: String] = [:]
        while !rest.isEmpty {
            guard let key = next(&rest), let value = next(&rest) else { return nil }
            tags[key] = value
        }
        return tags
    }

    private static func next(_ rest: inout Substring.UTF8View) -> String? {
        guard let colon = rest.firstIndex(of: UInt8(ascii: ":")), let digits = String(rest[..<colon]),
            let size = Int(digits), size >= 0
        else { return nil }
        let start = rest.index(after: colon)
        guard let end = rest.index(start, offsetBy: size, limitedBy: rest.endIndex),
            let text = String(rest[start..<end])
        else { return nil }
        rest = rest[end...]
        return text
    }
}
