import Symbolication
import Testing

@testable import CrashReports

/// What a report says of a verdict that did not come.
@Suite struct VerdictWordsTests {
    private static let start = "no verdict came within the deadline"

    @Test(arguments: [
        (FaultRecord.CrashThread(state: "S", systemCall: 202), ": a lock that the crash thread needs was held"),
        (FaultRecord.CrashThread(state: "S", systemCall: 34), ": the crash thread waited in the system call pause"),
        (FaultRecord.CrashThread(state: "S", systemCall: 9999), ": the crash thread waited in the system call 9999"),
        (FaultRecord.CrashThread(state: "S"), ""),
        (FaultRecord.CrashThread(state: "R"), ": the crash thread was at work all the time, or waited for a processor"),
        (
            FaultRecord.CrashThread(state: "D", systemCall: 0),
            ": the crash thread waited for a disk, or for memory that is on one"
        ),
        (FaultRecord.CrashThread(state: "t"), ": the crash thread was stopped"),
        (FaultRecord.CrashThread(), ""),
    ])
    func `The reason names what was in the way, and no more than is known`(
        crashThread: FaultRecord.CrashThread,
        obstacle: String
    ) throws {
        var process = try SpoolContents(bytes: SpoolBytes().bytes).process
        process.host.architecture = "x86_64"
        var fault = try #require(FaultRecord(bytes: SpoolBytes.record(number: 1)))
        fault.facts.insert(.deadline)
        fault.verdict = .restart
        fault.crashThread = crashThread
        let report = ReportBuilder(process: process, namesFunctions: false).report(of: fault, images: [])
        #expect(report.verdict == .init(decision: .restart, reason: Self.start + obstacle))
    }
}
