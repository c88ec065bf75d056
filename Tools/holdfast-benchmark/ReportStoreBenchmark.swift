import CrashReports
import Glibc
import SystemPackage

/// Times of a store with many reports, and of those who read the same files without an index.
struct ReportStoreBenchmark {
    let store: ReportStore
    let count: Int
    let rounds: Int

    /// Different faults among the reports.
    private static let groups = 500
    /// Reports that are written one by one.
    private static let writes = 300
    private static let start: Int64 = 1_790_000_000

    func rows(of typical: CrashReport) throws -> [Row] {
        var rows = [Row("size of a report of a fault", unit: "bytes", Double(try typical.json().count))]
        Progress.say("writing")
        rows += try writing(typical, name: "a store of a few reports")
        Progress.say("making \(count) reports")
        try fill(with: typical)
        Progress.say("reading all of them once")
        let begin = now()
        let all = try store.summaries()
        let reading = now() - begin
        guard all.summaries.count >= count, all.problems.isEmpty else {
            throw MeasurementError("\(all.summaries.count) of \(count) reports are listed")
        }
        let decoding = Row.Peer(name: "decode every file", value: reading)
        let middle = all.summaries[all.summaries.count / 2]

        rows.append(try row("list all", [decoding]) { try store.summaries().summaries.count })
        Progress.say("grep")
        let text = "reason number 123 "
        let grep = Row.Peer(name: "grep -rlF", value: try grep(text))
        rows.append(
            try row("list those with a text", [grep, decoding]) {
                try store.summaries(matching: .init(text: text)).summaries.count
            }
        )
        rows.append(try row("stats: group all", [decoding]) { try store.groups().groups.count })
        rows.append(try row("list the newest 50", []) { try store.summaries(limit: 50).summaries.count })
        rows.append(try row("show one", []) { try store.load(prefix: middle.id.rawValue).images.count })
        Progress.say("writing")
        return rows + (try writing(typical, name: "this store"))
    }

    private func row(_ name: String, _ peers: [Row.Peer], _ body: () throws -> Int) throws -> Row {
        Progress.say(name)
        var times: [Double] = []
        for _ in 0..<rounds {
            let begin = now()
            let found = try body()
            times.append(now() - begin)
            guard found > 0 else { throw MeasurementError("\(name) found nothing") }
        }
        return Row("\(name), of \(count)", Sample(times).median, peers: peers)
    }

    // MARK: Writing

    private func writing(_ typical: CrashReport, name: String) throws -> [Row] {
        let limited = ReportStore(path: store.path, limits: .init(reports: count + 10 * Self.writes))
        var report = typical
        var times: [Double] = []
        for _ in 0..<Self.writes {
            report.id = ReportID(time: .now)
            let begin = now()
            try limited.write(report)
            times.append(now() - begin)
        }
        var updates: [Double] = []
        for _ in 0..<Self.writes {
            let begin = now()
            try limited.update(report.id) { $0.occurrences.count += 1 }
            updates.append(now() - begin)
        }
        let plain = Row.Peer(
            name: "bytes alone, as durable",
            value: try DurableWrite.measure(typical.json(), in: store.path.string, count: Self.writes).median
        )
        return [
            Row("write a report into \(name)", Sample(times).median, peers: [plain]),
            Row("count in a report of \(name)", Sample(updates).median, peers: [plain]),
        ]
    }

    /// Puts reports into the folder without a look at durability, as a copy does.
    private func fill(with typical: CrashReport) throws {
        try store.create()
        var variants: [(before: [UInt8], after: [UInt8])] = []
        // What stands for the identifier and the time in each: they are the only things that differ within a group.
        let mark = try ReportIDMark(typical)
        for group in 0..<Self.groups {
            var report = typical
            report.fingerprint = Fingerprint(rawValue: "v2-" + hex(UInt64(group) &* 0x9e37_79b9_7f4a_7c15, 16))
            report.reason = "reason number \(group) of a fault"
            variants.append(try mark.split(report))
        }
        for number in 0..<count {
            if number % 1000 == 0 { Progress.say("\(number) of \(count) reports") }
            let variant = variants[number % variants.count]
            let milliseconds = UInt64(Self.start + Int64(number)) * 1000
            let id = hex(milliseconds, 12) + hex(UInt64(number) &* 0x2545_f491_4f6c_dd1d, 16) + "0000"
            let bytes = variant.before + Array(id.utf8) + variant.after
            let file = unsafe open(
                store.reportsPath.string + "/\(id).json",
                O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                0o600
            )
            let written = unsafe bytes.withUnsafeBytes { unsafe write(file, $0.baseAddress, $0.count) }
            close(file)
            guard written == bytes.count else { throw MeasurementError("cannot write a report: is the disk full?") }
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
            let child = try ChildProcess(["/bin/grep", "-rlF", "--include=*.json", text, store.reportsPath.string])
            _ = try child.finish()
            times.append(now() - begin)
        }
        return Sample(times).median
    }
}

/// Finds the identifier in the bytes of a report.
private struct ReportIDMark {
    private let id: [UInt8]

    init(_ report: CrashReport) throws {
        id = Array(report.id.rawValue.utf8)
    }

    /// The bytes before the identifier, and those after it.
    func split(_ report: CrashReport) throws -> (before: [UInt8], after: [UInt8]) {
        let bytes = try report.json()
        guard bytes.count > id.count,
            let start = (0...(bytes.count - id.count)).first(where: { bytes[$0..<($0 + id.count)].elementsEqual(id) })
        else { throw MeasurementError("a report has no identifier") }
        return (Array(bytes[..<start]), Array(bytes[(start + id.count)...]))
    }
}
