import CrashReports
import FaultInjection
import Glibc
import Holdfast
import Logging

/// Times of `crashreport` over a store of very many reports, and of `grep` over the same files.
struct ReportStoreBenchmark {
    let folder: String
    /// The program that reads it.
    let crashreport: String
    let count: Int
    let rounds: Int

    /// Different faults among the reports.
    private static let groups = 500
    private static let start: Int64 = 1_790_000_000

    func rows(of typical: TypicalReport) throws -> [Row] {
        var rows = [Row("size of a report of a fault", unit: "bytes", Double(typical.json.count))]
        Progress.say("making \(count) reports")
        let identifiers = try fill(with: typical)
        Progress.say("reading all of them once")
        let decoding = Row.Peer(name: "decode every file", value: try time(["list"]))

        rows.append(try row("list the newest 50", [], ["list"]))
        rows.append(try row("list all", [decoding], ["list", "--limit", "0"]))
        Progress.say("grep")
        let text = "reason number 123 "
        let grep = Row.Peer(name: "grep -rlF", value: try grep(text))
        rows.append(try row("list those with a text", [grep, decoding], ["list", "--limit", "0", "--text", text]))
        rows.append(try row("group all", [decoding], ["stats"]))
        rows.append(try row("show one", [], ["show", identifiers[identifiers.count / 2]]))
        return rows
    }

    private func row(_ name: String, _ peers: [Row.Peer], _ command: [String]) throws -> Row {
        Progress.say(name)
        var times: [Double] = []
        for _ in 0..<rounds { times.append(try time(command)) }
        return Row("\(name), of \(count)", Sample(times).median, peers: peers)
    }

    /// How long `crashreport` takes, from its start to its end.
    private func time(_ command: [String]) throws -> Double {
        let begin = now()
        let output = try ChildProcess([crashreport] + command + ["--store", folder]).finish()
        guard !output.isEmpty else { throw MeasurementError("crashreport \(command[0]) found nothing") }
        return now() - begin
    }

    /// Puts reports into the folder without a look at durability, as a copy does.
    ///
    /// - Returns: Their identifiers.
    private func fill(with typical: TypicalReport) throws -> [String] {
        let variants = try (0..<Self.groups).map { group in
            try typical.variant(
                fingerprint: hex(UInt64(group) &* 0x9e37_79b9_7f4a_7c15, 16),
                reason: "reason number \(group) of a fault"
            )
        }
        return try (0..<count).map { number in
            if number % 1000 == 0 { Progress.say("\(number) of \(count) reports") }
            let variant = variants[number % variants.count]
            let milliseconds = UInt64(Self.start + Int64(number)) * 1000
            let id = hex(milliseconds, 12) + hex(UInt64(number) &* 0x2545_f491_4f6c_dd1d, 16) + "0000"
            let bytes = variant.before + Array(id.utf8) + variant.after
            let file = unsafe open("\(folder)/reports/\(id).json", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            let written = unsafe bytes.withUnsafeBytes { unsafe write(file, $0.baseAddress, $0.count) }
            close(file)
            guard written == bytes.count else { throw MeasurementError("cannot write a report: is the disk full?") }
            return id
        }
    }

    private func hex(_ value: UInt64, _ digits: Int) -> String {
        let text = String(value, radix: 16)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }

    private func grep(_ text: String) throws -> Double {
        var times: [Double] = []
        for _ in 0..<3 {
            let begin = now()
            _ = try ChildProcess(["/bin/grep", "-rlF", "--include=*.json", text, "\(folder)/reports"]).finish()
            times.append(now() - begin)
        }
        return Sample(times).median
    }
}

/// The report of a fault of this program, as an agent would have it.
struct TypicalReport {
    /// The bytes of its file.
    let json: [UInt8]
    private let id: String
    private let fingerprint: String
    private let reason: String

    /// Commits a fault and reads its report.
    @MainActor
    init(in folder: String) throws {
        var configuration = EventHost.Configuration.conservative
        // Reports are counted, and a busy machine makes stalls.
        configuration.stallPolicy = nil
        configuration.store = folder
        configuration.afterResume = .keepServing
        configuration.logger.logLevel = .error
        let host = try EventHost(configuration)
        let source = HostRunLoop.Source(label: "a fault", order: 0) { _ in Fault.nilUnwrap.commit() }
        let mode: HostRunLoop.Mode = "benchmark"
        host.loop.add(source, to: mode)
        source.signal()
        _ = host.loop.run(in: mode, for: .zero)
        host.flushReports(within: .seconds(30))
        source.invalidate()
        host.close()
        guard let report = try ReportStore(folder).last() else {
            throw MeasurementError("the fault has no report")
        }
        json = try report.json()
        id = report.id.rawValue
        fingerprint = report.fingerprint.rawValue
        reason = report.reason
    }

    /// A report of another fault.
    ///
    /// - Parameters:
    ///   - digits: The 16 digits of its fingerprint.
    ///   - other: Its reason.
    /// - Returns: Its bytes before its identifier, and behind it.
    /// - Throws: `MeasurementError` if the identifier is not there.
    func variant(fingerprint digits: String, reason other: String) throws -> (before: [UInt8], after: [UInt8]) {
        let text = String(decoding: json, as: UTF8.self)
            .replacing(fingerprint, with: fingerprint.dropLast(16) + digits)
            .replacing("\"\(reason)\"", with: "\"\(other)\"")
        let parts = text.split(separator: "\"\(id)\"", maxSplits: 1)
        guard parts.count == 2 else { throw MeasurementError("a report has no identifier") }
        return (Array("\(parts[0])\"".utf8), Array("\"\(parts[1])".utf8))
    }
}
