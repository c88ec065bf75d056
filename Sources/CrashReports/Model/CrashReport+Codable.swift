extension CrashReport: Codable {
    private enum CodingKeys: String, CodingKey {
        case schemaVersion
        case id
        case kind
        case timestamp
        case fingerprint
        case occurrences
        case process
        case host
        case runtime
        case fault
        case loop
        case threads
        case threadsOmitted
        case context
        case images
        case verdict
        case recovery
        case stall
        case notes
    }

    /// Reads a report.
    ///
    /// - Parameter decoder: Gives the JSON object.
    /// - Throws: `UnsupportedSchemaVersion` for a report of another version, else `DecodingError`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        // First of all: what another version means by the other keys is not known here.
        let version = try container.decode(Int.self, forKey: .schemaVersion)
        guard (1...Self.schemaVersion).contains(version) else { throw UnsupportedSchemaVersion(version: version) }
        id = try container.decode(ReportID.self, forKey: .id)
        kind = try container.decode(Kind.self, forKey: .kind)
        timestamp = try container.decode(Timestamp.self, forKey: .timestamp)
        fingerprint = try container.decode(Fingerprint.self, forKey: .fingerprint)
        occurrences = try container.decode(Occurrences.self, forKey: .occurrences)
        process = try container.decode(Process.self, forKey: .process)
        host = try container.decode(Host.self, forKey: .host)
        runtime = try container.decode(Runtime.self, forKey: .runtime)
        fault = try container.decode(Fault.self, forKey: .fault)
        loop = try container.decodeIfPresent(LoopState.self, forKey: .loop)
        var threads = try container.decode([Thread].self, forKey: .threads)
        guard !threads.isEmpty else {
            throw DecodingError.dataCorruptedError(
                forKey: .threads,
                in: container,
                debugDescription: "the thread that faulted is missing"
            )
        }
        thread = threads.removeFirst()
        otherThreads = threads
        threadsOmitted = try container.decodeIfPresent(Int.self, forKey: .threadsOmitted) ?? 0
        context = try container.decodeIfPresent(Context.self, forKey: .context)
        images = try container.decode([Image].self, forKey: .images)
        verdict = try container.decode(Verdict.self, forKey: .verdict)
        recovery = try container.decodeIfPresent(Recovery.self, forKey: .recovery)
        stall = try container.decodeIfPresent(Stall.self, forKey: .stall)
        notes = try container.decode([String].self, forKey: .notes)
    }

    /// Writes a report, with the version of its form.
    ///
    /// - Parameter encoder: Takes the JSON object.
    /// - Throws: Errors of the encoder, such as for a number that JSON cannot say.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(Self.schemaVersion, forKey: .schemaVersion)
        try container.encode(id, forKey: .id)
        try container.encode(kind, forKey: .kind)
        try container.encode(timestamp, forKey: .timestamp)
        try container.encode(fingerprint, forKey: .fingerprint)
        try container.encode(occurrences, forKey: .occurrences)
        try container.encode(process, forKey: .process)
        try container.encode(host, forKey: .host)
        try container.encode(runtime, forKey: .runtime)
        try container.encode(fault, forKey: .fault)
        try container.encodeIfPresent(loop, forKey: .loop)
        try container.encode([thread] + otherThreads, forKey: .threads)
        if threadsOmitted > 0 { try container.encode(threadsOmitted, forKey: .threadsOmitted) }
        try container.encodeIfPresent(context, forKey: .context)
        try container.encode(images, forKey: .images)
        try container.encode(verdict, forKey: .verdict)
        try container.encodeIfPresent(recovery, forKey: .recovery)
        try container.encodeIfPresent(stall, forKey: .stall)
        try container.encode(notes, forKey: .notes)
    }
}

/// A report is of a version that this library does not read.
public struct UnsupportedSchemaVersion: Error, Sendable, Hashable, CustomStringConvertible {
    /// The version of the report.
    public let version: Int

    /// Says which version it is, and what to do.
    public var description: String {
        "the report has schema version \(version), but this program reads versions up to \(CrashReport.schemaVersion): "
            + "use the crashreport of the Holdfast that wrote it"
    }
}
