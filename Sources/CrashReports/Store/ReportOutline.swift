internal import FoundationEssentials

/// The few keys of a report that tell whose fault it is and what became of it.
///
/// Most of a report is frames and images, which are not decoded.
struct ReportOutline: Decodable {
    struct Process: Decodable {
        var name: String
        var pid: Int
        var executable: String
        var arguments: [String]
        var startTime: Timestamp
        var isForkedChild: Bool?
        var phase: CrashReport.Process.Phase?
    }

    struct Host: Decodable {
        var name: String
    }

    struct Context: Decodable {
        struct Container: Decodable {
            var controlGroup: String?
        }

        var container: Container?
    }

    struct Fault: Decodable {
        var number: Int
        var signal: CrashReport.Fault.NumberedName
    }

    struct Loop: Decodable {
        var callout: CrashReport.LoopState.Callout?
    }

    struct Recovery: Decodable {
        var quarantined: Bool?
    }

    var schemaVersion: Int
    var kind: CrashReport.Kind
    var timestamp: Timestamp
    var occurrences: CrashReport.Occurrences
    var process: Process
    var host: Host
    var context: Context?
    var fault: Fault
    var loop: Loop?
    var verdict: CrashReport.Verdict
    var recovery: Recovery?

    /// Reads the bytes of a report.
    ///
    /// - Throws: `UnsupportedSchemaVersion`, or `DecodingError`.
    init(json: [UInt8]) throws {
        self = try JSONDecoder().decode(ReportOutline.self, from: Data(json))
        guard (1...CrashReport.schemaVersion).contains(schemaVersion) else {
            throw UnsupportedSchemaVersion(version: schemaVersion)
        }
    }

    var recentFault: RecentFault {
        RecentFault(
            number: fault.number,
            time: timestamp,
            pid: process.pid,
            verdict: verdict.decision,
            signal: fault.signal.number,
            kind: loop?.callout?.kind,
            label: loop?.callout?.label,
            isQuarantined: recovery?.quarantined ?? false,
            isForkedChild: process.isForkedChild ?? false,
            processStart: process.startTime,
            count: occurrences.count,
            instance: ProgramInstance(
                executable: process.executable,
                arguments: process.arguments,
                host: host.name,
                controlGroup: context?.container?.controlGroup
            ),
            phase: process.phase,
            isFromStart: loop?.callout?.isFromStart ?? false
        )
    }
}
