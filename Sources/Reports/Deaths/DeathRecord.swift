internal import FoundationEssentials
internal import LinuxSystem
internal import Symbolication
internal import SystemPackage

/// What `holdfast run` writes of a death into the spool (`Sources/Supervisor/Deaths/DeathRecord.swift`): hostile input, as every record.
struct DeathRecord: Decodable {
    let version: Int
    let name: String
    let arguments: [String]
    let executable: String
    let pid: Int
    let supervisor: Int
    /// In nanoseconds since 1970.
    let began: Int64
    let ended: Int64
    let restarts: Int
    let status: Int?
    let signalName: String?
    let signal: Int?
    let dumpedCore: Bool?
    let cause: String
    let confidence: String
    let scope: String?
    let sentence: String
    let next: [String]
    let evidence: [String]
    let userSeconds: Double
    let systemSeconds: Double
    let peakBytes: Int
    let wasReady: Bool
    let statusText: String?
    let action: String
    let lastOutput: String?
    let host: Host
    let holdfast: String

    /// The machine.
    struct Host: Decodable {
        let name: String
        let kernel: String
        let os: String
        let architecture: String
        let processors: Int
    }

    /// A record that is none.
    struct Malformed: Error {}

    /// The longest one: 64 KiB of output, of arguments and of evidence, each byte of which may take six.
    static let maximumSize = 2 << 20

    /// Reads one.
    init(json: [UInt8]) throws {
        guard json.count <= Self.maximumSize, let record = try? JSONDecoder().decode(Self.self, from: Data(json)),
            record.version == 1
        else { throw Malformed() }
        self = record
    }

    /// When it ended.
    var time: Timestamp { Timestamp(microsecondsSinceEpoch: ended / 1000) }
    /// When it was started.
    var startTime: Timestamp { Timestamp(microsecondsSinceEpoch: began / 1000) }

    /// Whether a spool file, which is called after its process and when that started, is of the process that has ended.
    func mayBeOfProcess(ofSpool name: String) -> Bool {
        guard let spool = SpoolName(name), spool.pid == pid else { return false }
        let start = Int64(clamping: spool.start)
        return start >= began.subtractingReportingOverflow(1_000_000_000).partialValue && start <= ended
    }

    /// Whether a report is that of the fault that ended the process.
    ///
    /// A process that has restarted in place lives on: what ends it later is another story.
    func isEnd(of report: CrashReport) -> Bool {
        let isItsFault = report.kind == .fault && report.process.pid == pid
        guard isItsFault, startTime.adding(seconds: -1) <= report.process.startTime, report.process.startTime <= time
        else {
            return false
        }
        return switch report.verdict.decision {
        case .resume: false
        case .restart: report.timestamp >= time.adding(seconds: -2)
        default: true
        }
    }

    /// Whether it is the record of a death that a report tells of.
    func isOf(_ death: CrashReport.Death) -> Bool {
        var own = self.death(TextRedaction())
        // Another redaction may have left less of them.
        (own.evidence, own.statusText, own.lastOutput) = (death.evidence, death.statusText, death.lastOutput)
        return own == death
    }

    /// What is said of it in a report, without secrets.
    func death(_ redaction: TextRedaction) -> CrashReport.Death {
        CrashReport.Death(
            program: name,
            cause: .init(rawValue: cause),
            confidence: .init(rawValue: confidence),
            scope: scope,
            sentence: sentence,
            next: next,
            evidence: evidence.map { redaction.redact(Self.demangled($0)) },
            status: status,
            signal: signalName ?? signal.map { "signal \($0)" },
            dumpedCore: dumpedCore ?? false,
            supervisor: supervisor,
            action: action,
            wasReady: wasReady,
            statusText: statusText.map(redaction.redact),
            userSeconds: userSeconds,
            systemSeconds: systemSeconds,
            peakResident: peakBytes,
            lastOutput: lastOutput.map(redaction.redact)
        )
    }

    /// A line of evidence; that of a stack's frame, `  3 NAME in IMAGE+0x12`, with the name as the program's source has it.
    ///
    /// The supervisor has no demangler: names are what the program that has died says.
    private static func demangled(_ line: String) -> String {
        let words = line.split(separator: " ", maxSplits: 2)
        guard line.hasPrefix("  "), words.count == 3, Int(words[0]) != nil, words[2].hasPrefix("in ") else {
            return line
        }
        return "  \(words[0]) \(Demangler.brief(String(words[1]))) \(words[2])"
    }

    /// A report of it alone.
    func report(_ redaction: TextRedaction = TextRedaction()) -> CrashReport {
        let death = death(redaction)
        // The same for the same death, so that a report that is made twice is one file.
        var generator = RecordGenerator(seed: UInt64(bitPattern: ended) ^ UInt64(truncatingIfNeeded: pid) << 40)
        var report = CrashReport(
            id: ReportID(time: time, using: &generator),
            subject: .death,
            reason: death.reason,
            timestamp: time,
            // Made of the whole report, below.
            fingerprint: Fingerprint(rawValue: ""),
            occurrences: CrashReport.Occurrences(count: 1, first: time, last: time),
            process: CrashReport.Process(
                name: name,
                pid: pid,
                parentPid: supervisor,
                executable: executable,
                arguments: arguments.prefix(1)
                    + redaction.redactValues(of: arguments.dropFirst().map { Array($0.utf8) }[...])
                    .map { String(decoding: $0, as: UTF8.self) },
                startTime: startTime,
                uptimeSeconds: max(0, Double(ended) - Double(began)) / 1e9,
                restarts: restarts
            ),
            host: CrashReport.Host(
                name: host.name,
                kernel: host.kernel,
                os: host.os,
                architecture: host.architecture,
                processors: host.processors
            ),
            runtime: CrashReport.Runtime(holdfast: holdfast),
            // Nobody was there to look.
            thread: CrashReport.Thread(id: pid, isMain: true, frames: []),
            images: [],
            verdict: CrashReport.Verdict(decision: .terminate, reason: action),
            death: death
        )
        report.explain()
        return report
    }
}
