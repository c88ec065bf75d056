import CrashReports
import Foundation
import Glibc
import SystemPackage
import TestSupport
import Testing

@testable import Symbolication

/// Processes that end themselves, threads that block signals, and a process without a free descriptor.
@Suite(.timeLimit(.minutes(10))) struct EndingTests {
    @Test(arguments: ["exit", "quick-exit", "exit-on-thread", "exit-from-main"])
    func `A process that has called exit ends by a fault of its exit handlers`(scenario: String) throws {
        let run = try HostRun("ending", scenario)
        #expect(try run.lines() == [])
        #expect(try run.process.wait() == .signalled(SIGILL))
        let report = try run.store.onlyReport()
        #expect(report.verdict.decision == .terminate)
        #expect(report.verdict.reason.contains("exit"), "\(report.verdict.reason)")
    }

    @Test func `That a forked child calls exit does not end its parent`() throws {
        let run = try HostRun("ending", "exit-in-child")
        #expect(try run.lines() == ["child exited 5", "restarted"])
        #expect(try run.process.wait() == .exited(0))
    }

    @Test(arguments: [
        ("masked-main", "resumed 1"), ("masked-thread", "restarted"), ("masked-worker", "restarted"),
        ("masked-task", "restarted"), ("masked-of-old", "restarted"), ("masked-timer", "restarted"),
    ])
    func `A thread that blocks all signals has a report of its fault`(scenario: String, last: String) throws {
        let run = try HostRun("ending", scenario)
        #expect(try run.line() == "blocked false")
        #expect(try run.lines() == [last])
        #expect(try run.process.wait() == .exited(0))
        #expect(try run.store.onlyReport().fault?.signal.name == "SIGSEGV")
    }

    @Test func `So has a loop's thread`() throws {
        let run = try HostRun("ending", "masked-loop")
        #expect(try run.lines() == ["blocked false", "resumed 1"])
        #expect(try run.process.wait() == .exited(0))
        #expect(try run.store.onlyReport().fault?.signal.name == "SIGSEGV")
    }

    @Test(arguments: ["masked-handler", "masked-wait", "masked-epoll", "masked-before-host"])
    func `So has what runs with a mask of the kernel's making`(scenario: String) throws {
        let run = try HostRun("ending", scenario)
        #expect(try run.lines() == ["restarted"])
        #expect(try run.process.wait() == .exited(0))
        #expect(try run.store.onlyReport().fault?.signal.name == "SIGSEGV")
    }

    @Test(arguments: ["deep-timer", "deep-standard"])
    func `A stack overflow of a thread that the C library makes by itself is captured`(scenario: String) throws {
        let run = try HostRun("ending", scenario)
        #expect(try run.lines() == ["restarted"])
        #expect(try run.process.wait() == .exited(0))
        #expect(try run.store.onlyReport().fault?.signal.name == "SIGSEGV")
    }

    @Test(.enabled(if: SentFaultTests.hasNamespaces))
    func `A child that has the pid of its parent, process 1, ends by its fault`() throws {
        let run = try HostRun("ending", "child-namespace", prefix: SentFaultTests.unshare + ["--mount-proc"])
        #expect(try run.lines() == ["child is 1", "parent is 1, child ended by 139", "resumed 0"])
        #expect(try run.process.wait() == .exited(0))
        #expect(try run.store.onlyReport().verdict.reason.contains("a forked child"))
    }

    @Test func `A handler of a restart that faults does not keep the restart from coming`() throws {
        let run = try HostRun("ending", "restart-handler")
        #expect(try run.lines() == ["first", "second", "restarted"])
        #expect(try run.process.wait() == .exited(0))
    }

    @Test func `A limit of the size of files takes the store, and not the agent`() throws {
        let run = try HostRun("ending", "file-size", shell: "ulimit -f 64; exec \"$@\"")
        #expect(try run.lines() == ["all kept false", "resumed 1"])
        #expect(try run.process.wait() == .exited(0))
        #expect(run.process.errors.contains("no room for the spool file"), "\(run.process.errors)")
    }

    @Test func `A mask that the process began with is no obstacle on any thread`() throws {
        let run = try HostRun("ending", "masked-by-parent")
        #expect(try run.lines() == ["blocked false", "restarted"])
        #expect(try run.process.wait() == .exited(0))
    }

    @Test func `A fault is resumed where no descriptor is left`() throws {
        let run = try HostRun("ending", "descriptor-limit", shell: "ulimit -n 64; exec \"$@\"")
        #expect(try run.lines() == ["no descriptor is left: true", "the loop goes on", "resumed 2"])
        #expect(try run.process.wait() == .exited(0))
    }

    /// The second process takes over what the first one has read: so it believes what we change in it.
    @Test func `What was read of a program is read once`() throws {
        let first = try HostRun("ending", "masked-main")
        #expect(try first.lines().last == "resumed 1")
        let folder = FilePath(first.store.path).appending("code").string
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        let name = try #require(names.first, "nothing was kept")
        #expect(names.count == 1)
        let path = folder + "/" + name
        let file = Array(try #require(FileManager.default.contents(atPath: path)))
        let parts = try #require(KeptCode.parts(of: file))
        var read = Array(parts.read)
        let count = Int(read[40..<48].reversed().reduce(0) { $0 << 8 | UInt64($1) })
        let unknown = repeatElement(FunctionOrigin.unknown.rawValue, count: count)
        read.replaceSubrange((read.count - count)..., with: unknown)
        let changed = KeptCode.file(key: Array(parts.key), read: read, locks: Array(parts.locks))
        #expect(FileManager.default.createFile(atPath: path, contents: Data(changed)))
        #expect(chmod(path, 0o600) == 0)
        let second = try HostRun("ending", "masked-main", store: first.store)
        #expect(try second.lines().last == "restarted")
        // What is damaged is read again.
        #expect(FileManager.default.createFile(atPath: path, contents: Data(changed.dropLast())))
        let third = try HostRun("ending", "masked-main", store: first.store)
        #expect(try third.lines().last == "resumed 1")
        #expect(try third.process.wait() == .exited(0))
        #expect(FileManager.default.contents(atPath: path).map { Array($0) } == file)
    }

    /// What the crash thread does once allocates, and it may not have done it yet.
    @Test func `A fault in malloc right after the start has a report with its stack`() throws {
        let run = try HostRun("ending", "early-lock")
        #expect(try run.lines() == ["restarted"])
        #expect(try run.process.wait() == .exited(0))
        let report = try run.store.onlyReport()
        let functions = report.thread.frames.compactMap(\.function)
        // Its stack is one by frame pointers, if the thread had to wait for the heap: then a frame without one is missing.
        #expect(functions.contains { $0.contains("Hazard.commit") }, "\(functions)")
    }

    @Test(.enabled(if: SentFaultTests.hasNamespaces, "needs user namespaces"))
    func `A fault is resumed in another root, which has no libdw`() throws {
        let run = try HostRun("ending", "another-root", prefix: SentFaultTests.unshare)
        #expect(try run.lines() == ["changed true", "resumed 1"])
    }
}
