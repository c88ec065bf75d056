import CrashReports
import Foundation
import Glibc
import TestSupport
import Testing

/// The profile of a stall in code that is known, beside what a debugger shows of the same process.
@Suite(.timeLimit(.minutes(10))) struct StallProfileTests {
    /// Prints the file and the line of each frame of the first thread, innermost first.
    private static let script = """
        python
        [thread for thread in gdb.selected_inferior().threads() if thread.ptid[0] == thread.ptid[1]][0].switch()
        frame = gdb.newest_frame()
        while frame is not None:
            place = frame.find_sal()
            function = frame.function()
            if place.symtab is not None and place.line > 0 and function is not None:
                print("frame", place.symtab.fullname().split("/")[-1], place.line)
            frame = frame.older()
        end
        """

    @Test func `It names the function and the line of the loop, and the calls that lead there, as gdb does`() throws {
        let run = try HostRun("stalls", "main", "busy", "1000000")
        defer { run.process.kill(SIGKILL) }
        #expect(try run.line() == "lasting main elsewhere")
        let report = try FolderWatch.wait(at: run.store.path + "/reports", for: "a profile") {
            try run.store.reports().first { ($0.stall?.profile?.samples ?? 0) >= 20 }
        }
        let seen = try gdbStack(of: run.process.pid)
        let path = try #require(report.stall?.profile).heaviestPath
        let place = try #require(path.firstIndex { $0.function == "stallBusy(_:)" })
        let call = path[place]
        #expect(report.stall?.profile?.culprit == call)
        // The line where it was longest is one of the loop's.
        let source = try String(contentsOfFile: #require(call.file), encoding: .utf8).components(separatedBy: "\n")
        let line = source[try #require(call.lines.first).line - 1]
        #expect(line.contains("bits") || line.contains("steps"), "\(line)")
        // Up to the recovery point, which has a line and no function.
        let callers = path[..<place].reversed().compactMap(Self.text).prefix { !$0.hasPrefix("recovery_switch") }
        #expect(callers.count >= 3, "\(path.map(\.name))")
        let start = try #require(seen.lastIndex { $0.hasPrefix("InjectedStall.swift") && !callers.contains($0) })
        #expect(seen[(start + 1)...].prefix(callers.count) == callers)
    }

    /// As the script prints it; nil without a line.
    private static func text(_ call: CrashReport.Stall.Call) -> String? {
        guard let file = call.file?.split(separator: "/").last, let line = call.lines.first?.line else { return nil }
        return "\(file) \(line)"
    }

    private func gdbStack(of pid: pid_t) throws -> [String] {
        let folder = try TemporaryFolder()
        let script = folder.path + "/stack.gdb"
        try Self.script.write(toFile: script, atomically: true, encoding: .utf8)
        let gdb = try ProgramRun.run(
            "/usr/bin/env",
            [
                "gdb", "-batch", "-nx", "-iex", "set debuginfod enabled off", "-iex", "set auto-load off", "-p",
                "\(pid)", "-x", script,
            ],
            within: .seconds(200)
        )
        guard gdb.end == .exited(0) else { throw HarnessError("gdb: \(gdb.end) \(gdb.errors.suffix(2000))") }
        return gdb.output.split(separator: "\n").filter { $0.hasPrefix("frame ") }.map { String($0.dropFirst(6)) }
    }
}
