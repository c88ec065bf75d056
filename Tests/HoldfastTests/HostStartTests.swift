import CrashReports
import Foundation
import Glibc
import TestSupport
import Testing

@testable import Holdfast

/// Hosts that cannot be made, that are made and never run, and that have no store.
@Suite(.timeLimit(.minutes(10))) struct HostStartTests {
    @Test func `A host that cannot be made leaves no handler, thread, descriptor or spool file`() throws {
        let run = try HostRun("failed-start")
        #expect(try run.lines() == ["made, another left 0"])
        #expect(try run.process.wait() == .exited(0))
    }

    @Test func `A host leaves the limits of its store to whoever finishes its records`() throws {
        let run = try HostRun("unserved", "never")
        #expect(try run.line() == "ready")
        let name = try #require(run.store.spoolNames().first)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(run.store.path)/spool/\(name)"))
        #expect(try SpoolContents(bytes: Array(bytes)).limits == .default)
    }

    @Test func `A host whose last thread is refused leaves nothing of itself`() throws {
        let history = "HOLDFAST_PID=$$ HOLDFAST_RESTARTS=5 HOLDFAST_EARLY_RESTARTS=5 HOLDFAST_LAST_PHASE=running"
        let shell = #"export \#(history); exec "$@""#
        let run = try HostRun("refused-writer", shell: shell)
        let gone = ["handler of 11 false", "handler of 13 false", "spool []", "threads 0"]
        #expect(try run.lines() == gone)
        #expect(try run.process.wait() == .exited(0))
    }

    @Test func `Hosts whose last thread is refused leave no descriptors, however many there are`() throws {
        let run = try HostRun("refused-writers")
        let lines = try run.lines()
        #expect(lines == Array(repeating: "refused true left []", count: 4))
    }

    @Test func `A signal that nobody will serve keeps its effect, also where it came before`() throws {
        let run = try HostRun("unserved", "never")
        #expect(try run.line() == "ready")
        run.process.kill(SIGTERM)
        #expect(try run.lines() == [])
        #expect(try run.process.wait() == .signalled(SIGTERM))
        #expect(run.process.errors.contains("call host.run()"))
    }

    @Test func `Who finishes the spool of a process that was killed says that it was, also to a program`() throws {
        let run = try HostRun("unserved", "never")
        #expect(try run.line() == "ready")
        run.process.kill(SIGKILL)
        #expect(try run.process.wait() == .signalled(SIGKILL))
        let list = try run.store.crashreport(["list"])
        #expect(list.errors.contains("the process \(run.process.pid) of recovery-probe ended without a word at "))
        #expect(try !run.store.crashreport(["list"]).errors.contains("without a word"), "once")
    }

    @Test func `Signals are delivered once the loop runs after all`() throws {
        let run = try HostRun("unserved", "late")
        #expect(try run.lines() == ["told to end"])
        #expect(try run.process.wait() == .exited(0))
    }

    @Test func `What stands against resuming is said at the start, with what to do`() {
        var configuration = EventHost.Configuration.conservative
        func obstacle(_ text: String?, _ walksStacks: Bool = true) -> String? {
            EventHost.obstacle(configuration, text, walksStacks: walksStacks)
        }
        #expect(obstacle(nil) == nil)
        #expect(obstacle("static")?.contains("static; build with a toolchain that") == true)
        #expect(obstacle(nil, false)?.contains("install libunwind8") == true)
        configuration.recoveryPolicy = .never
        #expect(obstacle("static") == nil)
    }

    // MARK: Without a store

    /// Makes the store's path something else.
    private static func spoil(_ path: String, _ kind: String) throws {
        switch kind {
        case "a file": try Data("no store".utf8).write(to: URL(fileURLWithPath: path))
        default: #expect(symlink("/proc/nowhere", path) == 0)
        }
    }

    @Test(arguments: ["a file", "a link to nowhere"])
    func `An agent whose store cannot be made serves without one, and says so`(kind: String) throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/spoiled"
        try Self.spoil(path, kind)
        let shell = #"probe=$1; shift 3; exec "$probe" store '\#(path)' resume"#
        let run = try HostRun("store", shell: shell)
        #expect(try run.lines() == ["resumed 1 unusable"])
        #expect(try run.process.wait() == .exited(0))
        #expect(run.process.errors.contains("critical"), "\(run.process.errors)")
        #expect(run.process.errors.contains("reports cannot be stored"))
    }

    @Test func `Without a store the next process has the line of a fault that was not resumed`() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/spoiled"
        try Self.spoil(path, "a file")
        let run = try HostRun("store", shell: #"probe=$1; shift 3; exec "$probe" store '\#(path)' hard"#)
        #expect(try run.lines() == ["spools in memory 1", "restarted 1 unusable"])
        #expect(try run.process.wait() == .exited(0))
        let told = run.process.errors.split(separator: "\n").filter { $0.contains("restarted the process: ") }
        let line = try #require(told.first, "\(run.process.errors)")
        #expect(line.contains(" in faultWildPointer at memory_faults.c:"), "\(line)")
        #expect(line.contains(#"item "greeter" (timer), because "#) && line.hasSuffix("no report"), "\(line)")
    }

    @Test(arguments: ["both", "told"])
    func `Without a store each fault has one line, whichever process writes it`(scenario: String) throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/spoiled"
        try Self.spoil(path, "a file")
        let run = try HostRun("store", shell: #"probe=$1; shift 3; exec "$probe" store '\#(path)' \#(scenario)"#)
        #expect(try run.lines() == ["restarted 1 unusable"])
        #expect(try run.process.wait() == .exited(0))
        let lines = run.process.errors.split(separator: "\n")
        for function in ["faultNilUnwrap()", "faultWildPointer"] {
            #expect(lines.count { $0.contains(" in \(function)") } == 1, "\(run.process.errors)")
        }
    }

    @Test func `The fault that restarts a process has a line of its own, however many equal ones were resumed`() throws
    {
        let folder = try TemporaryFolder()
        let path = folder.path + "/spoiled"
        try Self.spoil(path, "a file")
        let run = try HostRun("store", shell: #"probe=$1; shift 3; exec "$probe" store '\#(path)' budget"#)
        #expect(try run.lines() == ["restarted 1 unusable"])
        #expect(try run.process.wait() == .exited(0))
        let ends = run.process.errors.split(separator: "\n").filter { $0.contains("fault 4 restarted the process: ") }
        #expect(ends.count == 1, "\(run.process.errors)")
        #expect(ends.allSatisfy { $0.contains(", because the budget of faults is spent") }, "\(ends)")
    }

    @Test func `Standard descriptors that are closed are opened on nothing`() throws {
        let run = try HostRun("without-standard", shell: #"exec "$@" 0<&- 1>&- 2>&-"#)
        #expect(try run.process.wait() == .exited(0))
    }

    @Test func `An agent without a home serves without a store`() throws {
        let names = "HOME HOLDFAST_STORE STATE_DIRECTORY XDG_STATE_HOME"
        let shell = #"unset \#(names); probe=$1; shift 3; exec "$probe" store - resume"#
        let run = try HostRun("store", shell: shell)
        #expect(try run.lines() == ["resumed 1 unusable"])
        #expect(try run.process.wait() == .exited(0))
        #expect(run.process.errors.contains("set HOLDFAST_STORE or HOME"))
        // Nobody has named that path.
        #expect(!run.process.errors.contains("/dev/null"), "\(run.process.errors)")
    }

    @Test func `Who asks for a store does not start without one`() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/spoiled"
        try Self.spoil(path, "a file")
        let run = try HostRun("store", shell: #"probe=$1; shift 3; exec "$probe" store '\#(path)' required"#)
        #expect(try run.lines() == ["no host"])
    }

    @Test func `Reports go to a store that can be used again`() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/spoiled"
        try Self.spoil(path, "a file")
        let run = try HostRun("store", shell: #"probe=$1; shift 3; exec "$probe" store '\#(path)' mended"#)
        #expect(try run.line() == "unusable")
        #expect(unlink(path) == 0)
        run.process.kill(SIGUSR1)
        #expect(try run.lines() == ["resumed 2 usable"])
        #expect(try run.process.wait() == .exited(0))
        let reports = try FileManager.default.contentsOfDirectory(atPath: path + "/reports")
        #expect(reports.filter { $0.hasSuffix(".json") }.count == 2)
    }

    @Test(.enabled(if: geteuid() == 0))
    func `A process that is another user's after a restart serves without a store`() throws {
        let run = try HostRun("store", "setuid")
        #expect(try run.lines() == ["restarted 1 unusable"])
        #expect(try run.process.wait() == .exited(0))
    }
}
