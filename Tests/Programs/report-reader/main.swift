import CrashReports
import Glibc

// Says what a store has, and of its newest report what is wrong and where: report-reader STORE [PROCESS]
guard let path = CommandLine.arguments.dropFirst().first else {
    print("usage: report-reader STORE [PROCESS]")
    exit(64)
}
let store = ReportStore(path)

var filter = ReportFilter()
filter.process = CommandLine.arguments.dropFirst(2).first
let listing = try store.summaries(matching: filter, order: .newestFirst, limit: 20)
for summary in listing.summaries {
    print("\(summary.timestamp)  \(summary.process)  \(summary.verdict): \(summary.reason)")
}
// A file that cannot be read does not keep the others from being listed.
for problem in listing.problems { print("unreadable: \(problem)") }

if let newest = listing.summaries.first {
    let report = try store.load(newest.id)
    print(report.diagnosis?.summary ?? report.reason)
    for hint in report.diagnosis?.next ?? [] { print("- \(hint)") }
    for frame in report.thread.frames where frame.isUserCode { print("  \(frame.location)") }
}
