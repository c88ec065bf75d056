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
    var kind: String
    var process: String
    var host: String
    var signal: String
    /// Without how often.
    var reason: String
    var location: String
    var verdict: String
    var fingerprint: String
    var holdfast: String
    var buildID: String?
    var tags: [String: String]
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
