import CrashReports
import TestSupport
import Testing

@testable import Symbolication

/// What a look at a thread sees while nothing has faulted.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ThreadLookTests {
    /// What the probe said of one thread.
    private struct Look {
        var name: String
        var state: String
        var systemCall: String
        var isWhole: Bool
        var callout: String
        var frames: [UInt64]

        init?(_ line: String) {
            guard line.hasPrefix("look ") else { return nil }
            let fields = line.dropFirst(5).split(separator: "|", omittingEmptySubsequences: false).map(String.init)
            guard fields.count == 6 else { return nil }
            (name, state, systemCall, callout) = (fields[0], fields[1], fields[2], fields[4])
            isWhole = fields[3] == "whole"
            frames = fields[5].split(separator: ",").compactMap { UInt64($0, radix: 16) }
        }
    }

    @Test func `A look finds name, state, system call, calls and callout, and disturbs neither the thread nor faults`()
        throws
    {
        let run = try HostRun("samples", "looks", "nil-unwrap")
        let lines = try run.lines()
        #expect(try run.process.wait() == .exited(0), "\(run.process.errors.suffix(2000))")
        let looks = Dictionary(lines.compactMap(Look.init).map { ($0.name, $0) }) { first, _ in first }
        let report = try #require(try run.store.reports().first)
        let symbolicator = Symbolicator(
            images: report.images.map {
                SymbolImage(path: $0.path, base: $0.base.rawValue, end: $0.end.rawValue, buildID: $0.buildID)
            }
        )
        let functions = [
            "sample-futex": "wait()", "sample-poll": "poll()", "sample-read": "read()", "sample-sleep": "sleep()",
            "sample-loop": "waitInCallout()",
        ]
        for (name, function) in functions {
            let look = try #require(looks[name], "\(lines)")
            let names = look.frames.flatMap { symbolicator.symbolicate(address: $0, isReturnAddress: true) }
                .compactMap(\.function)
            #expect(names.contains { $0.contains("Crowd.\(function)") }, "\(name): \(names)")
            #expect(look.isWhole && look.state == "S", "\(name)")
        }
        // x86-64: read, poll, futex.
        #expect(looks["sample-read"]?.systemCall == "0" && looks["sample-poll"]?.systemCall == "7")
        #expect(looks["sample-futex"]?.systemCall == "202")
        #expect(looks["sample-futex"]?.callout == "none")
        #expect(looks["sample-loop"]?.callout == "held up/default/1/5")
        #expect(lines.contains("nobody 0") && lines.contains("looked true true"))
        // None went on for being looked at.
        #expect(lines.contains("read 1") && lines.contains("poll 1") && lines.contains("slept"), "\(lines)")
        #expect(lines.contains("resumed 101"))
    }
}
