import CrashReports
import Foundation
import Symbolication
import TestSupport
import Testing

/// gdb follows the contexts of a task in the process that has just followed them by itself.
///
/// It goes by the names of functions, which a stripped process does not know; that one goes by where functions begin.
@Suite(.serialized, .timeLimit(.minutes(10))) struct AwaitChainJudgeTests {
    /// The cases of `AwaitShape`, and the functions that must await, innermost first: those of the program that have a name.
    private static let cases: [(name: String, functions: [String], parents: [String])] = [
        ("await-plain", ["loadUser", "showUser"], []),
        ("await-group", [], ["queryInGroup", "loadUser", "showUser"]),
        ("await-let", [], ["queryBeside", "loadUser", "showUser"]),
        ("await-actor", ["loadUser", "showUser"], []),
        ("await-stream", ["loadUser", "showUser"], []),
        ("await-through-c", ["loadUser", "showUser"], []),
        ("await-continuation", ["loadUser", "showUser"], []),
    ]

    private static let otherProbe = ProcessInfo.processInfo.environment["HOLDFAST_FRAME_PROBE"]

    @Test(arguments: JudgedProgram.Form.allCases)
    func `The await chain is gdb's, and the one that the source has`(form: JudgedProgram.Form) throws {
        try Self.judge(JudgedProgram(form))
    }

    @Test(.enabled(if: otherProbe != nil), arguments: JudgedProgram.Form.allCases)
    func `So it is without frame pointers, in the build that 'Tools/test --all' makes`(form: JudgedProgram.Form) throws
    {
        try Self.judge(JudgedProgram(form, other: Self.otherProbe))
    }

    private static func judge(_ program: JudgedProgram) throws {
        let stacks = try JudgedStack.judge(
            program.path,
            cases: cases.map(\.name),
            store: program.store,
            debugFolders: program.debugFolders
        )
        #expect(stacks.map(\.case) == cases.map(\.name))
        let reports = Dictionary(try program.reports().map { ($0.process.pid, $0) }, uniquingKeysWith: { $1 })
        let symbolicator = ReportSymbolicator(search: DebugFileSearch(directories: program.debugFolders))
        for (stack, expected) in zip(stacks, cases) {
            #expect(stack.error == nil, "\(stack.case)")
            let report = symbolicator.symbolicate(try #require(reports[stack.pid], "no report of \(stack.case)")).report
            let frames = report.thread.frames.filter { !$0.inlined }
            let own = frames.filter { $0.asyncRole == "awaits" }
            let parents = frames.filter { $0.asyncRole == "parent task awaits" }
            #expect(own.map { $0.rawName ?? "" } == stack.awaits, "\(stack.case)")
            #expect(!stack.awaits.isEmpty || expected.functions.isEmpty, "\(stack.case)")
            #expect(named(own, of: expected.functions) == expected.functions, "\(stack.case)")
            #expect(named(parents, of: expected.parents) == expected.parents, "\(stack.case)")
            #expect(expected.parents.isEmpty == parents.isEmpty, "\(stack.case)")
        }
    }

    /// Which of the functions frames are of, in their order.
    private static func named(_ frames: [CrashReport.Frame], of functions: [String]) -> [String] {
        let names = frames.compactMap { frame in
            functions.first { frame.rawName?.contains("\($0.utf8.count)\($0)") == true }
        }
        // An async function may have more than one part in the chain.
        return names.enumerated().filter { $0.offset == 0 || names[$0.offset - 1] != $0.element }.map(\.element)
    }
}
