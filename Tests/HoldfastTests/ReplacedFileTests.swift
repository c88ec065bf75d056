import CrashReports
import Glibc
import TestSupport
import Testing

/// Programs and libraries whose files are others by now.
@Suite(.timeLimit(.minutes(10))) struct ReplacedFileTests {
    @Test(arguments: ["rm", "mv"])
    func `A program whose file was deleted or replaced has names`(kind: String) throws {
        let folder = try TemporaryFolder()
        let store = try StoreReader()
        let program = folder.path + "/server"
        // Not copied here: what was open for writing may be busy still, in a child that another test is about to start.
        func run(_ command: String...) throws { #expect(try ProgramRun.run("/usr/bin/env", command).end == .exited(0)) }
        try run("cp", "-L", BuiltProduct.path(of: "async-server"), program)
        func expectNames(_ count: Int) throws {
            // It also reports that its loop has not answered.
            let deadline = Deadline()
            var faults: [CrashReport] = []
            while faults.count < count {
                faults = try store.reports().filter { $0.kind == .fault }
                try #require(!deadline.hasPassed)
            }
            for report in faults {
                let frames = report.thread.frames
                #expect(frames.contains { $0.file?.hasSuffix("AsyncServer.swift") == true }, "\(report.notes)")
            }
        }
        let port = try Loopback.freePort()
        let process = try ChildProcess(program, ["tcp:\(port)", store.path])
        for word in ["began", "up"] { #expect(try process.output.next() == "\(word) \(process.pid)") }
        if kind == "mv" {
            try run("cp", "/bin/true", folder.path + "/new")
            try run("mv", folder.path + "/new", program)
        } else {
            try run("rm", program)
        }
        #expect(try LineClient(port: port).ask("fault in a boundary") == "begun")
        try expectNames(1)
        // The same file runs again, if it was deleted.
        if kind == "rm" {
            try LineClient(port: port).send("fault in a task\n")
            for word in ["began", "up"] { #expect(try process.output.next() == "\(word) \(process.pid)") }
            try expectNames(2)
        }
        process.kill(SIGKILL)
        _ = try process.wait()
    }

    private static func library(_ name: String, in folder: TemporaryFolder) throws -> String {
        let source = try folder.write(
            "void plugin_fault_\(name)(void) { __builtin_trap(); }\n",
            to: "\(name).c"
        )
        let path = "\(folder.path)/lib\(name).so"
        let run = try ProgramRun.run(
            "/usr/bin/env",
            ["clang", "-shared", "-fPIC", "-Wl,--build-id", "-o", path, source]
        )
        #expect(run.end == .exited(0), "\(run.errors)")
        return path
    }

    @Test func `A library in the place of one that was unloaded is told by its own name`() throws {
        let folder = try TemporaryFolder()
        let one = try Self.library("one", in: folder)
        let two = try Self.library("two", in: folder)
        let run = try ProbeRun("reloaded-library", environment: ["PLUGIN_ONE": one, "PLUGIN_TWO": two])
        #expect(run.lines == ["same place true", "restarted 1"])
        let report = try #require(run.reports.first)
        #expect(report.thread.frames.first?.function == "plugin_fault_two")
        #expect(report.images.contains { $0.path == two })
        #expect(!report.images.contains { $0.path == one })
    }
}
