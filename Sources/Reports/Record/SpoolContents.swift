internal import CRecordLayout
internal import LinuxSystem

/// What a spool file holds: a process, its images, and the records that have no report yet.
///
/// The layout is that of `Documentation/CrashRecordFormat.md`. Takes any bytes: they come from a crashed process.
package struct SpoolContents: Sendable {
    /// Why bytes are no spool file.
    package struct Malformed: Error, Sendable, CustomStringConvertible {
        /// What is wrong with them.
        package let description: String

        fileprivate static let damaged = Malformed(description: "the spool file is cut off or damaged")
    }

    /// How the process ended, as far as it said.
    package enum End: UInt32, Sendable {
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
    package static let attemptsOffset = RecordView<HFSpoolHeader>.offset(of: \.attempts)

    /// More than any spool file has.
    package static let maximumSize = 16 * 1024 * 1024
    static let maximumEntries = 4096
    static let maximumEntrySize = 65536

    /// The process.
    package var process: SpoolProcess
    /// How often a process began to finish the records and did not get to the end.
    package var attempts: Int
    /// How it ended.
    package var end: End
    /// When one of its loops did something last, or else when it started.
    package var lastActivity: Timestamp
    /// How much its store may hold; nil where it did not say.
    package var limits: ReportStore.Limits?
    /// Its images.
    package var images: [CrashReport.Image]
    /// The records, in the order of the faults.
    package var records: [FaultRecord]

    /// Decodes a spool file.
    ///
    /// - Parameter bytes: The whole file.
    /// - Throws: `Malformed` if they are not a spool file of a version that is known.
    package init(bytes: [UInt8]) throws(Malformed) {
        let file = RecordBytes(bytes[...])
        let header = try Self.header(file)
        process = SpoolProcess(header)
        attempts = Int(header.attempts)
        end = End(rawValue: header.end) ?? .none
        let section = ContextSection(file)
        let (lived, overflow) = (section?.lastActivity ?? 0)
            .subtractingReportingOverflow(process.startMonotonicNanoseconds)
        lastActivity = process.startTime.adding(seconds: overflow ? 0 : max(0, Double(lived) / 1e9))
        limits = Self.limits(header)
        images = Self.images(file, header)
        let (offset, size, count) = (Int(header.slot_offset), Int(header.slot_size), Int(header.slot_count))
        guard size >= FaultRecord.size, size <= Self.maximumEntrySize, count <= Self.maximumEntries,
            offset <= file.count, count * size <= file.count - offset
        else { throw .damaged }
        var records = (0..<count).compactMap {
            FaultRecord(file.slice(offset + $0 * size, size))
        }
        let faults = Int(header.fault_count)
        // As long as every fault has a slot, none was used twice.
        if faults > records.count {
            for index in records.indices where records[index].stage == .incomplete {
                records[index].dropLeftovers(hasOwnStart: records[index].number == faults)
            }
        }
        let sections = SpoolSections(file)
        sections.attach(to: &records)
        if let section {
            for index in records.indices {
                records[index].context = section.context(
                    of: records[index],
                    startedAt: process.startMonotonicNanoseconds
                )
            }
        }
        self.records = records.sorted { $0.number < $1.number }
    }

    /// The process that the header of a spool file describes; its records are not looked at.
    ///
    /// - Parameter bytes: The file, or its beginning.
    /// - Returns: The process.
    /// - Throws: `Malformed` if that is no header of a version that is known.
    package static func process(bytes: [UInt8]) throws(Malformed) -> SpoolProcess {
        SpoolProcess(try header(RecordBytes(bytes[...])))
    }

    static func header(_ file: RecordBytes) throws(Malformed) -> RecordView<HFSpoolHeader> {
        let header = RecordView<HFSpoolHeader>(file)
        guard header.text(\.magic) == HF_SPOOL_MAGIC else {
            throw Malformed(description: "not a spool file, or one whose process died before it was ready")
        }
        guard header.version == HF_SPOOL_VERSION else {
            throw Malformed(
                description:
                    "the spool file has version \(header.version), but this program reads version \(HF_SPOOL_VERSION): "
                    + "use the crashreport of the Holdfast that wrote it"
            )
        }
        guard header.header_size >= RecordView<HFSpoolHeader>.size else { throw .damaged }
        return header
    }

    /// The images of a spool file, which may be being written; its records are not looked at.
    ///
    /// - Parameter bytes: The file.
    /// - Returns: The images that are wholly there.
    /// - Throws: `Malformed` if it has no header of a version that is known.
    package static func images(bytes: [UInt8]) throws(Malformed) -> [CrashReport.Image] {
        let file = RecordBytes(bytes[...])
        return images(file, try header(file))
    }

    private static func images(_ file: RecordBytes, _ header: RecordView<HFSpoolHeader>) -> [CrashReport.Image] {
        let (offset, size) = (Int(header.image_offset), Int(header.image_size))
        let count = min(header.clamped(\.image_count), header.clamped(\.image_capacity, atMost: maximumEntries))
        guard size >= RecordView<HFImage>.size, size <= maximumEntrySize else { return [] }
        return (0..<count).compactMap { index in
            let image = RecordView<HFImage>(file.slice(offset + index * size, size))
            guard image.isWhole else { return nil }
            let path = image.text(\.path)
            let buildID = image.bytes(\.build_id, first: image.build_id_length)
            return CrashReport.Image(
                name: path.split(separator: "/").last.map(String.init) ?? path,
                path: path,
                base: HexAddress(image.base),
                end: HexAddress(image.end),
                buildID: buildID.isEmpty ? nil : HexDigits.text(buildID)
            )
        }
    }

    /// How much the store of the process may hold; nil where the header says nothing of it, or nothing that can be believed.
    private static func limits(_ header: RecordView<HFSpoolHeader>) -> ReportStore.Limits? {
        let words = [header.limit_reports, header.limit_bytes, header.limit_age_seconds]
        guard !words.contains(0), header.limit_check == words.reduce(UInt64(HF_LIMIT_CHECK), ^) else { return nil }
        let limits = words.map { $0 == .max ? nil : Int(clamping: $0 - 1) }
        return ReportStore.Limits(reports: limits[0], bytes: limits[1], age: limits[2].map { .seconds($0) })
    }

    /// What the process is doing and has told of itself, of which no handler kept a copy: for a stall.
    ///
    /// - Parameters:
    ///   - thread: The thread.
    ///   - uptimeNanoseconds: How long the process had run then: what came later is left out.
    ///   - bytes: The spool file of this process.
    /// - Returns: Nil if there is nothing to tell.
    package func liveContext(ofThread thread: Int, uptimeNanoseconds: Int64, in bytes: [UInt8]) -> FaultContext? {
        let end = process.startMonotonicNanoseconds.addingReportingOverflow(uptimeNanoseconds)
        return ContextSection(RecordBytes(bytes[...]))?.liveContext(ofThread: thread, before: end)
    }
}

/// The process that a spool file belongs to.
package struct SpoolProcess: Sendable, Hashable {
    /// Its pid.
    package var pid: Int
    /// Its parent's pid.
    package var parentPid: Int
    /// How often it had been restarted in place.
    package var restarts: Int
    /// When it started.
    package var startTime: Timestamp
    /// The path of the executable.
    package var executable: String
    /// The last component of that.
    package var name: String
    /// The command line; those that did not fit are left out.
    package var arguments: [String]
    /// The machine.
    package var host: CrashReport.Host
    /// What it ran on.
    package var runtime: CrashReport.Runtime
    /// Faults for which there was no slot, so that they have no report.
    package var faultsLost: Int
    /// When it started, on the clock that no administrator sets, in nanoseconds.
    package var startMonotonicNanoseconds: Int64
    /// What was around it.
    package var surroundings: ProcessSurroundings

    init(_ header: RecordView<HFSpoolHeader>) {
        pid = Int(header.pid)
        parentPid = Int(header.parent_pid)
        restarts = Int(header.restarts)
        startTime = Timestamp(microsecondsSinceEpoch: header.start_unix_nanoseconds / 1000)
        executable = header.text(\.executable)
        name = header.text(\.name)
        arguments = header.texts(\.arguments, length: header.arguments_length)
        host = CrashReport.Host(
            name: header.text(\.host),
            kernel: header.text(\.kernel),
            os: header.text(\.operating_system),
            architecture: header.text(\.architecture),
            processors: Int(header.processors)
        )
        runtime = CrashReport.Runtime(
            holdfast: header.text(\.holdfast),
            swift: header.nonEmptyText(\.swift),
            libc: header.nonEmptyText(\.libc)
        )
        faultsLost = Int(header.faults_lost)
        startMonotonicNanoseconds = header.start_monotonic_nanoseconds
        surroundings = ProcessSurroundings(ContextSection(header.storage))
    }
}
