import CrashReports
import Glibc
import LinuxSystem
import SystemPackage

/// Says something at once: the process may be killed in a moment.
func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = bytes.withUnsafeBytes { Glibc.write(1, $0.baseAddress, $0.count) }
}

/// Writes reports of one group.
struct ProbeWriter {
    let path: FilePath
    let group: String

    init(_ path: FilePath, group: String) {
        self.path = path
        self.group = group
    }

    private func report() throws -> CrashReport {
        let time = Timestamp.now
        let json = """
            {"schemaVersion": 1, "id": "\(ReportID(time: time))", "kind": "fault", "reason": "\(group)", "timestamp": "\(time)",
            "fingerprint": "", "occurrences": {"count": 1, "first": "\(time)", "last": "\(time)"}, "images": [], "notes": [],
            "process": {"name": "probe", "pid": \(getpid()), "parentPid": 1, "executable": "/bin/probe", "arguments": ["probe"],
            "startTime": "\(time)", "uptimeSeconds": 1, "restarts": 0}, "runtime": {"holdfast": "\(HoldfastVersion.current)"},
            "host": {"name": "host", "kernel": "6.1", "os": "Linux", "architecture": "x86_64", "processors": 2},
            "fault": {"number": 1, "signal": {"number": 6, "name": "SIGABRT"}, "code": {"number": -6, "name": "SI_TKILL"},
            "access": "none"}, "verdict": {"decision": "terminate", "reason": "an abort"},
            "threads": [{"id": 12, "isMain": true, "framesOmitted": 0, "framesTruncated": false, "registers": {},
            "frames": [{"index": 0, "address": "0x1000", "kind": "programCounter", "function": "function of \(group)",
            "inlined": false, "isUserCode": true}]}]}
            """
        var report = try CrashReport(json: Array(json.utf8))
        report.explain()
        return report
    }

    /// Writes reports, and says the identifier of each.
    func write(count: Int, limit: Int?) throws {
        let store = ReportStore(path: path, limits: limit.map { .init(reports: $0) })
        for _ in 0..<count {
            let report = try report()
            try store.write(report)
            say("wrote \(report.id)")
        }
    }

    /// Counts in one report for ever, and says the count.
    func count(_ id: ReportID?) throws {
        guard let id else { return }
        let store = ReportStore(path: path)
        while true { say("counted \(try store.update(id) { $0.occurrences.count += 1 }.occurrences.count)") }
    }

    /// Adds one report, as a process that crashes does.
    func add() throws {
        say("added \(try ReportStore(path: path).add(try report()))")
    }

    /// Lists, writes and verifies, each whatever came of the others.
    func attempt() throws {
        let store = ReportStore(path: path)
        do {
            say("listed \(try store.summaries().summaries.count)")
        } catch {
            say("error \(error)")
        }
        do {
            try store.write(try report())
            say("wrote")
        } catch {
            say("error \(error)")
        }
        say("found \(store.verify().findings.map(\.kind.rawValue).joined(separator: " "))")
    }

    /// Writes until there is an error.
    func fill() throws {
        let store = ReportStore(path: path)
        for _ in 0..<100_000 {
            let report = try report()
            do {
                try store.write(report)
            } catch {
                say("error \(error)")
                break
            }
            say("wrote \(report.id)")
        }
        let listing = try store.summaries()
        say("listed \(listing.summaries.count) \(listing.problems.count)")
        say("found \(store.verify().findings.map(\.kind.rawValue).joined(separator: " "))")
        // Room again: the store goes on.
        say("removed \(try store.prune(.init(reports: 2)).removed.count)")
        let report = try report()
        try store.write(report)
        say("wrote \(report.id)")
    }
}
