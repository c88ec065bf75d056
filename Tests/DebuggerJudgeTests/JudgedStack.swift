import CrashReports
import Foundation
import TestSupport

/// What gdb says of the stack of one fault.
struct JudgedStack: Decodable {
    struct Frame: Decodable, Hashable {
        var address: UInt64
        /// The name for linkers, or the symbol's.
        var function: String?
        /// Whether it comes from debug information, rather than from a symbol before the address.
        var hasSymbol: Bool
        var file: String?
        var line: Int
        var inlined: Bool
        /// Whether it is not on the stack any more: it ended by calling the one before, and gdb concludes that it was there.
        var isTailCall: Bool
        var isSignalFrame: Bool
    }

    var `case`: String
    var pid: Int
    var frames: [Frame]
    /// The functions that await the one that faulted, in its task, as gdb finds them in the task's contexts.
    var awaits: [String]
    var error: String?

    /// Lets gdb run the cases of a program, which leaves their records in a store.
    ///
    /// - Parameters:
    ///   - program: A frame probe.
    ///   - cases: Their names.
    ///   - store: A store that is not there yet.
    ///   - debugFolders: Where gdb looks for debug files.
    /// - Returns: A stack for each case.
    /// - Throws: `HarnessError` when gdb fails.
    static func judge(
        _ program: String,
        cases: [String],
        store: String,
        debugFolders: [String]
    ) throws -> [JudgedStack] {
        let folder = try TemporaryFolder()
        let script = BuiltProduct.package + "/Tests/DebuggerJudgeTests/gdb_frames.py"
        let output = folder.path + "/stacks"
        let gdb = try ProgramRun.run(
            "/usr/bin/env",
            ["gdb", "-batch", "-nx", "-x", script],
            environment: [
                "JUDGE_PROGRAM": program, "JUDGE_CASES": cases.joined(separator: ":"), "JUDGE_STORE": store,
                "JUDGE_OUTPUT": output,
                "JUDGE_DEBUG": debugFolders.joined(separator: ":"),
            ],
            within: .seconds(800)
        )
        guard gdb.end == .exited(0) else { throw HarnessError("gdb: \(gdb.end) \(gdb.errors.suffix(2000))") }
        let lines = try String(contentsOfFile: output, encoding: .utf8).split(separator: "\n")
        return try lines.map { try JSONDecoder().decode(JudgedStack.self, from: Data($0.utf8)) }
    }
}
