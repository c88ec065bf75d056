internal import LinuxSystem

/// What the store knows of a report without reading it: one line of the index.
@dynamicMemberLookup
struct IndexEntry: Equatable, Sendable {
    var id: PackedID
    /// The file that it was read from.
    var file: FileMark
    var timestamp: Timestamp
    var first: Timestamp
    var last: Timestamp
    /// When the process started.
    var started: Timestamp
    var count: Int
    var pid: Int
    var isQuarantined: Bool
    /// How long the stall took that it is about, in microseconds; nil for a fault.
    var longest: Int?
    var texts: ReportTexts

    subscript<Text>(dynamicMember text: KeyPath<ReportTexts, Text>) -> Text { texts[keyPath: text] }
}

/// The texts of an entry: an object, because most reports have those of another, and entries are copied much.
final class ReportTexts: Equatable, Sendable {
    let kind: String
    let process: String
    let host: String
    let signal: String
    /// Without how often.
    let reason: String
    let location: String
    let verdict: String
    let fingerprint: String
    let holdfast: String
    let buildID: String?
    let tags: [String: String]

    /// Takes those of a report.
    init(_ report: CrashReport) {
        kind = report.kind.rawValue
        process = report.process.name
        host = report.host.name
        signal = report.fault?.signal.name ?? report.death?.subject ?? ReportSummary.noSignal
        reason = report.reason
        location = report.location
        verdict = report.verdict.decision.rawValue
        fingerprint = report.fingerprint.rawValue
        holdfast = report.runtime.holdfast
        buildID = report.process.buildID
        tags = report.context?.tags ?? [:]
    }

    /// Takes fields of a line; nil for those of none.
    init?(fields: [String]) {
        guard fields.count >= 10, fields.count % 2 == 0 else { return nil }
        (kind, process, host, signal) = (fields[0], fields[1], fields[2], fields[3])
        (reason, location, verdict) = (fields[4], fields[5], fields[6])
        (fingerprint, holdfast) = (fields[7], fields[8])
        buildID = fields[9].isEmpty ? nil : String(fields[9].dropFirst())
        var tags: [String: String] = [:]
        for key in stride(from: 10, to: fields.count, by: 2) { tags[fields[key]] = fields[key + 1] }
        self.tags = tags
    }

    /// The fields of a line: an identifier of a build that is there has a sign before it, and keys and values of tags come last.
    var fields: [String] {
        [kind, process, host, signal, reason, location, verdict, fingerprint, holdfast, buildID.map { "=" + $0 } ?? ""]
            + tags.sorted { $0.key < $1.key }.flatMap { [$0.key, $0.value] }
    }

    /// The bytes of the fields.
    var size: Int {
        // Texts of reports have at most 16 MiB each.
        fields.reduce(0) { $0 + $1.utf8.count + 1 }
    }

    static func == (left: ReportTexts, right: ReportTexts) -> Bool { left === right || left.fields == right.fields }
}

extension IndexEntry {
    init(_ report: CrashReport, file: FileMark) {
        self.init(
            id: PackedID(report.id),
            file: file,
            timestamp: report.timestamp,
            first: report.occurrences.first,
            last: report.occurrences.last,
            started: report.process.startTime,
            count: report.occurrences.count,
            pid: report.process.pid,
            isQuarantined: report.recovery?.quarantined == true,
            longest: report.stall.map { Self.microseconds($0.length) },
            texts: ReportTexts(report)
        )
    }

    /// What is longer than any clock counts, and what is no number, is cut.
    static func microseconds(_ seconds: Double) -> Int {
        seconds > 0 ? Int(min(seconds * 1e6, 1e17).rounded()) : 0
    }
}

/// What tells one state of a file from another: `update` replaces the file of a report by another of the same name.
struct FileMark: Hashable, Sendable {
    var inode: UInt64
    /// Nanoseconds since 1970.
    var modified: Int64
    var size: Int64

    /// The size, such that the sizes of millions of files have a sum.
    var bytes: Int { Int(min(max(0, size), 1 << 36)) }

    /// That of no file.
    static let none = FileMark(inode: 0, modified: 0, size: 0)
}

extension FileMark {
    init(_ status: FileStatus) {
        self.init(inode: status.inode, modified: status.modified, size: status.size)
    }
}

/// The 32 digits of a report's identifier as two numbers: a fifth of its memory, and compared in a nanosecond.
struct PackedID: Hashable, Comparable, Sendable {
    var high: UInt64
    var low: UInt64

    init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    init(_ id: ReportID) {
        // An identifier has 32 digits and nothing else.
        self = PackedID(digits: id.rawValue.utf8) ?? PackedID(high: 0, low: 0)
    }

    /// Takes 32 lowercase hexadecimal digits; nil for anything else.
    init?(digits: some Collection<UInt8>) {
        guard digits.count == ReportID.length, let high = Self.half(of: digits.prefix(16)),
            let low = Self.half(of: digits.dropFirst(16))
        else { return nil }
        self.init(high: high, low: low)
    }

    /// The number that 16 lowercase hexadecimal digits say; nil for anything else.
    static func half(of digits: some Collection<UInt8>) -> UInt64? {
        guard digits.count == 16 else { return nil }
        var number: UInt64 = 0
        // No digit has one of the upper bits: one look at all of them together.
        var all: UInt8 = 0
        for digit in digits {
            let value = values[Int(digit)]
            all |= value
            number = number << 4 | UInt64(value & 0xf)
        }
        return all & 0xf0 == 0 ? number : nil
    }

    /// What each byte is worth as a digit; 255 for a byte that is not a digit.
    private static let values: [UInt8] = (0...255).map { byte in
        switch byte {
        case 48...57: UInt8(byte - 48)
        case 97...102: UInt8(byte - 87)
        default: 255
        }
    }

    /// The smallest identifier of a time, to the millisecond.
    init(time: Timestamp) {
        high = UInt64(time.microsecondsSinceEpoch / 1000) << 16
        low = 0
    }

    /// The time that the first 12 digits say.
    var time: Timestamp { Timestamp(microsecondsSinceEpoch: Int64(high >> 16) * 1000) }

    /// All identifiers that begin with some digits; nil if none can, and for no digits at all.
    static func range(prefix: String) -> ClosedRange<PackedID>? {
        let digits = Array(prefix.utf8)
        guard !digits.isEmpty, digits.count <= ReportID.length else { return nil }
        let missing = ReportID.length - digits.count
        guard let lowest = PackedID(digits: digits + [UInt8](repeating: UInt8(ascii: "0"), count: missing)),
            let highest = PackedID(digits: digits + [UInt8](repeating: UInt8(ascii: "f"), count: missing))
        else { return nil }
        return lowest...highest
    }

    /// The identifier.
    var reportID: ReportID {
        let text = unsafe String(unsafeUninitializedCapacity: ReportID.length) { buffer in
            for index in 0..<16 {
                let shift = UInt64(60 - 4 * index)
                unsafe buffer[index] = Self.digit(high >> shift)
                unsafe buffer[index + 16] = Self.digit(low >> shift)
            }
            return ReportID.length
        }
        return ReportID(digits: text)
    }

    private static func digit(_ value: UInt64) -> UInt8 {
        let value = UInt8(truncatingIfNeeded: value & 0xf)
        return value < 10 ? UInt8(ascii: "0") &+ value : UInt8(ascii: "a") &+ value &- 10
    }

    static func < (left: PackedID, right: PackedID) -> Bool {
        left.high != right.high ? left.high < right.high : left.low < right.low
    }
}
