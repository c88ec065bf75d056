/// What a spool file holds: a process, its images, and the records that have no report yet.
///
/// The layout is that of `Documentation/CrashRecordFormat.md`. Takes any bytes: they come from a crashed process.
public struct SpoolContents: Sendable {
    /// Why bytes are no spool file.
    public struct Malformed: Error, Sendable, CustomStringConvertible {
        /// What is wrong with them.
        public let description: String

        fileprivate static let damaged = Malformed(description: "the spool file is cut off or damaged")
    }

    /// The version of the layout that this reads.
    private static let version: UInt32 = 1
    /// Bytes of its header, to which a later Holdfast may add.
    private static let headerSize: UInt32 = 3264

    /// How the process ended, as far as it said.
    public enum End: UInt32, Sendable {
        /// It did not say: it runs, or it was killed, or a fault that has a record ended it.
        case none = 0
        /// It closed its host.
        case closed = 1
        /// A fresh process took its place.
        case restarted = 2
        /// It called `exit`, and had not closed its host.
        case exit = 3
    }

    /// Where the header keeps the number of attempts to finish its records, 4 bytes.
    public static let attemptsOffset = 92

    /// Where it says how the process ended, 4 bytes.
    private static let endOffset = 3220

    /// More than any spool file has.
    public static let maximumSize = 16 * 1024 * 1024

    /// The process.
    public var process: SpoolProcess
    /// How often a process began to finish the records and did not get to the end.
    public var attempts: Int
    /// How it ended.
    public var end: End
    /// When one of its loops did something last, or else when it started.
    public var lastActivity: Timestamp
    /// How much its store may hold; nil where it did not say.
    public var limits: ReportStore.Limits?
    /// Its images.
    public var images: [CrashReport.Image]
    /// The records, in the order of the faults.
    public var records: [FaultRecord]

    /// Decodes a spool file.
    ///
    /// - Parameter bytes: The whole file.
    /// - Throws: `Malformed` if they are not a spool file of a version that is known.
    public init(bytes: [UInt8]) throws(Malformed) {
        let file = RecordBytes(bytes[...])
        guard file.text(0, 8) == "HFSPOOL" else {
            throw Malformed(description: "not a spool file, or one whose process died before it was ready")
        }
        let version = file.integer(8, as: UInt32.self)
        guard version == Self.version else {
            throw Malformed(
                description: "the spool file has version \(version), but this program reads version \(Self.version): "
                    + "use the crashreport of the Holdfast that wrote it"
            )
        }
        guard file.integer(12, as: UInt32.self) >= Self.headerSize else { throw .damaged }
        process = SpoolProcess(file)
        attempts = Int(file.integer(Self.attemptsOffset, as: UInt32.self))
        end = End(rawValue: file.integer(Self.endOffset, as: UInt32.self)) ?? .none
        let active = ContextSection(file)?.lastActivity ?? 0
        let (lived, overflow) = active.subtractingReportingOverflow(process.startMonotonicNanoseconds)
        lastActivity = process.startTime.adding(seconds: overflow ? 0 : max(0, Double(lived) / 1e9))
        limits = Self.limits(file)
        images = Self.images(file)
        let offset = Int(file.integer(32, as: UInt32.self))
        let size = Int(file.integer(36, as: UInt32.self))
        let count = Int(file.integer(40, as: UInt32.self))
        guard size >= FaultRecord.size, size <= 65536, count <= 4096, offset <= file.count,
            count * size <= file.count - offset
        else { throw .damaged }
        let architecture = process.host.architecture
        var records = (0..<count).compactMap {
            FaultRecord(file.slice(offset + $0 * size, size), architecture: architecture)
        }
        let faults = Int(file.integer(44, as: UInt32.self))
        // As long as every fault has a slot, none was used twice.
        if faults > records.count {
            for index in records.indices where records[index].stage == .incomplete {
                records[index].dropLeftovers(hasOwnStart: records[index].number == faults)
            }
        }
        let sections = SpoolSections(file)
        sections.attach(to: &records)
        if let section = ContextSection(file) {
            for index in records.indices {
                records[index].context = section.context(
                    of: records[index],
                    startedAt: process.startMonotonicNanoseconds
                )
            }
        }
        self.records = records.sorted { $0.number < $1.number }
    }

    /// The images of the bytes of a spool file that is being written: for the process itself.
    static func images(_ file: RecordBytes) -> [CrashReport.Image] {
        let offset = Int(file.integer(16, as: UInt32.self))
        let size = Int(file.integer(20, as: UInt32.self))
        let count = min(Int(file.integer(28, as: UInt32.self)), Int(file.integer(24, as: UInt32.self)), 4096)
        guard size >= 312, size <= 65536 else { return [] }
        return (0..<count).compactMap { index in
            let entry = file.slice(offset + index * size, size)
            guard entry.count == size else { return nil }
            let path = entry.text(56, 256)
            let length = min(Int(entry.integer(16, as: UInt32.self)), 32)
            return CrashReport.Image(
                name: path.split(separator: "/").last.map(String.init) ?? path,
                path: path,
                base: HexAddress(entry.integer(0, as: UInt64.self)),
                end: HexAddress(entry.integer(8, as: UInt64.self)),
                buildID: length > 0 ? entry.hexadecimal(24, length) : nil
            )
        }
    }
}
