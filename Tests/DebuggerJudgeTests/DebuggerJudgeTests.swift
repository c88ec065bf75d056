import CrashReports
import FaultInjection
import Foundation
import Symbolication
import TestSupport
import Testing

/// gdb walks the stack of a fault while the process that had it is parked and has just walked it by itself.
///
/// Half a minute of work for each form; the limits are those of a machine that is busy with twenty other things.
@Suite(.serialized, .timeLimit(.minutes(30))) struct DebuggerJudgeTests {
    /// The cases of the probe that are no faults of the catalogue; a test sees to it that none is missing.
    private static let shapes = [
        "closure", "escaping-closure", "nested-closures", "local-function", "reabstraction-thunk", "generic",
        "generic-specialized", "parameter-pack", "protocol-witness", "default-implementation", "class-method",
        "initializer", "class-deinit", "getter", "setter-observer", "subscript", "lazy-property", "static-property",
        "key-path", "operator", "autoclosure", "default-argument", "throwing", "rethrowing-map", "inlined-chain",
        "inlined-twice", "recursion", "deep-recursion", "mutual-recursion", "through-c", "through-cxx",
        "through-cxx-sort", "through-qsort", "without-frame-pointers", "signal-handler", "last-call", "thread",
        "async-function", "async-after-suspension", "task-group", "actor-method", "async-sequence",
    ]

    private static let page = BuiltProduct.package + "/Documentation/FramesAgainstGDB.md"

    @Test func `Every shape of the probe is judged`() throws {
        let listed = try ProgramRun.run(BuiltProduct.path(of: "frame-probe"), ["--list"])
        #expect(Set(listed.output.split(separator: "\n").map(String.init)) == Set(Self.shapes))
    }

    @Test(arguments: JudgedProgram.Form.allCases)
    func `Frames are those of gdb`(form: JudgedProgram.Form) throws {
        let program = try JudgedProgram(form)
        let cases = Cause.allCases.map(\.name) + Self.shapes
        let stacks = try JudgedStack.judge(
            program.path,
            cases: cases,
            store: program.store,
            debugFolders: program.debugFolders
        )
        #expect(stacks.map(\.case) == cases)
        // The first fault of a process is the one that gdb stops at; what broke the heap may lead to a second.
        let reports = Dictionary(
            try program.reports().map { ($0.process.pid, $0) },
            uniquingKeysWith: { ($0.fault?.number ?? 0) <= ($1.fault?.number ?? 0) ? $0 : $1 }
        )
        let symbolicator = ReportSymbolicator(search: DebugFileSearch(directories: program.debugFolders))
        var comparisons: [StackComparison] = []
        for stack in stacks {
            #expect(stack.error == nil, "\(stack.case)")
            let bare = try #require(reports[stack.pid], "no report of \(stack.case)")
            var report = bare
            if form == .stripped {
                report = symbolicator.symbolicate(bare).report
                let wrong = Set(bare.thread.frames.compactMap(\.rawName))
                    .subtracting(report.thread.frames.compactMap(\.rawName))
                #expect(wrong.isEmpty, "names in \(stack.case) that the stripped program made up")
            }
            comparisons.append(StackComparison(report, stack))
        }
        let judgement = try Judgement(comparisons, program: BuiltProduct.path(of: "frame-probe"))
        #expect(judgement.share >= 0.99, "\(judgement.equal) of \(judgement.frames) frames are equal")
        #expect(judgement.unexplained.map(\.description) == [])
        try checkPage(judgement, form)
    }

    /// The page has the figures of a run, which `FRAMES_RECORD=1` writes; other toolchains make other frames.
    private func checkPage(_ judgement: Judgement, _ form: JudgedProgram.Form) throws {
        let build = BuiltProduct.isDebug ? "debug" : "release"
        let counts = Judgement.Cause.allCases.map { "\(judgement.explained[$0, default: 0])" }
        let row =
            "| \(build), \(form.rawValue) | \(judgement.frames) | \(judgement.equal) | \(counts.joined(separator: " | ")) "
            + "| \(judgement.unexplained.count) |"
        print(row)
        var lines = try String(contentsOfFile: Self.page, encoding: .utf8).components(separatedBy: "\n")
        let place = lines.firstIndex { $0.hasPrefix("| \(build), \(form.rawValue) |") }
        let index = try #require(place, "\(Self.page) has no row of this build")
        if ProcessInfo.processInfo.environment["FRAMES_RECORD"] != nil {
            lines[index] = row
            try lines.joined(separator: "\n").write(toFile: Self.page, atomically: true, encoding: .utf8)
        }
        // What is seen is explained there, and what is explained is seen.
        for cause in Judgement.Cause.allCases {
            let isListed = lines.contains { $0.lowercased().hasPrefix("- **\(cause.rawValue)**") }
            #expect(isListed, "\(Self.page) does not explain: \(cause.rawValue)")
        }
    }
}
