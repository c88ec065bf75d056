internal import LinuxSystem

/// What the store knows of a report without reading it: one line of the index.
struct IndexEntry: Hashable, Sendable {
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
    var kind = ""
    var process = ""
    var host = ""
    var signal = ""
    /// Without how often.
    var reason = ""
    var location = ""
    var verdict = ""
    var fingerprint = ""
    var holdfast = ""
    var buildID: String?
    var tags: [String: String] = [:]
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
            kind: report.kind.rawValue,
            process: report.process.name,
            host: report.host.name,
            signal: report.fault.signal.name,
            reason: report.fault.reason,
            location: report.location,
            verdict: report.verdict.decision.rawValue,
            fingerprint: report.fingerprint.rawValue,
            holdfast: report.runtime.holdfast,
            buildID: report.process.buildID,
            tags: report.context?.tags ?? [:]
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

    init(inode: UInt64, modified: Int64, size: Int64) {
        self.inode = inode
        self.modified = modified
        self.size = size
    }

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

    /// What each byte is worth as a digit; 255 for what is none.
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
