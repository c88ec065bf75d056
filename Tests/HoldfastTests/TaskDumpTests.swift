import CrashReports
import Foundation
import Glibc
import TestSupport
import Testing

/// What `crashreport tasks` says of a program whose tasks wait, run, and keep each of its threads.
@Suite(.timeLimit(.minutes(5))) struct TaskDumpTests {
    /// A scenario of `boundary-probe` that goes on until the test is over.
    private struct Running {
        let process: ChildProcess
        let store: StoreReader

        init(_ scenario: String) throws {
            store = try StoreReader()
            process = try ChildProcess(try BuiltProduct.path(of: "boundary-probe"), [scenario, store.path])
            #expect(try process.output.next() == "ready")
        }

        func dump() throws -> TaskDump {
            let run = try store.crashreport(["tasks", "\(process.pid)", "--json"])
            #expect(run.end == .exited(0), "\(run.errors)")
            return try TaskDump(json: Array(run.output.utf8))
        }
    }

    /// The functions of the program, innermost first, without their arguments.
    private static func functions(_ group: TaskDump.Group) -> [String] {
        group.frames.filter(\.isApplicationCode).compactMap(\.function).map { String($0.prefix { $0 != "(" }) }
    }

    private static func group(_ dump: TaskDump, _ label: String, children: Bool = false) throws -> TaskDump.Group {
        let groups = dump.groups.filter { $0.label == label && $0.areChildren == children }
        #expect(groups.count == 1)
        return try #require(groups.first)
    }

    @Test func `Each task is told, where it waits, and who awaits it`() throws {
        let running = try Running("tasks")
        let dump = try running.dump()
        #expect(dump.pid == Int(running.process.pid) && !dump.isPartial)
        #expect(dump.boundaries == 9 && dump.tasks == 14)

        let sleeping = try Self.group(dump, "GET /sleep")
        #expect(sleeping.state == "waiting" && sleeping.count == 3 && Set(sleeping.tasks.map(\.id)).count == 3)
        #expect(Self.functions(sleeping).prefix(3) == ["innermost", "middle", "outermost"])
        #expect(sleeping.frames.allSatisfy { $0.asyncRole == "awaits" })

        #expect(try Self.group(dump, "GET /group").count == 1)
        let children = try Self.group(dump, "GET /group", children: true)
        #expect(children.state == "waiting" && children.count == 4)
        #expect(Self.functions(children).first == "groupChild")

        let child = try Self.group(dump, "GET /let", children: true)
        #expect(child.count == 1 && Self.functions(child).first == "letChild")

        let continuation = try Self.group(dump, "GET /continuation")
        #expect(Self.functions(continuation).first == "neverResumed" && continuation.haveCallers)
        #expect(continuation.tasks.allSatisfy { !$0.isCancelled })
        let late = try Self.group(dump, "GET /late")
        #expect(!late.haveCallers && late.tasks.allSatisfy(\.isCancelled))
    }

    @Test func `One that runs is told with its thread and its calls, also on an actor`() throws {
        let running = try Running("tasks")
        let dump = try running.dump()
        for (label, function) in [("GET /busy", "spin"), ("GET /actor", "Blocker.block")] {
            let group = try Self.group(dump, label)
            #expect(group.state == "running" && group.count == 1)
            let thread = try #require(group.tasks.first?.thread)
            #expect(FileManager.default.fileExists(atPath: "/proc/\(running.process.pid)/task/\(thread)"))
            // An optimiser may put the loop into its caller.
            let isCaller = !BuiltProduct.isDebug && label == "GET /busy" && Self.functions(group).contains("busy")
            #expect(Self.functions(group).contains(function) || isCaller, "\(Self.functions(group))")
        }
    }

    @Test func `The only process of a store needs no pid, and the text has a paragraph for each group`() throws {
        let running = try Running("tasks")
        let run = try running.store.crashreport(["tasks"])
        #expect(run.end == .exited(0))
        let lines = run.output.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.first?.contains("14 tasks in 9 fault boundaries") == true)
        #expect(lines.contains { $0.hasPrefix("GET /sleep: 3 tasks waiting, ") })
        #expect(lines.contains { $0.hasPrefix("GET /late: 1 task waiting, cancelled, given up by the caller, ") })
        #expect(lines.contains { $0.hasPrefix("    awaits middle() (TaskScenarios.swift:") })
        // The answer was taken away.
        #expect(try running.store.spoolNames().allSatisfy { $0.hasSuffix(".spool") })
    }

    @Test func `Only a process of the store is asked, and only one that takes the question`() throws {
        let running = try Running("tasks-unseen")
        // It would end by the signal.
        let refused = try running.store.crashreport(["tasks", "\(running.process.pid)"])
        #expect(refused.end == .exited(1) && refused.errors.contains("capturesThreads is off"))
        let other = try running.store.crashreport(["tasks", "\(getpid())"])
        #expect(other.end == .exited(1))
        #expect(
            other.errors.contains("does not have the store")
                && other.errors.contains("\(running.process.pid) (boundary-probe)")
        )
        #expect(kill(running.process.pid, 0) == 0)
        let empty = try StoreReader().crashreport(["tasks"])
        #expect(empty.end == .exited(1) && empty.errors.contains("there is no store at"))
        #expect(try running.store.crashreport(["tasks", "0"]).end == .exited(64))
        #expect(try running.store.crashreport(["tasks", "--timeout", "-1"]).end == .exited(64))
    }

    @Test func `A stopped process does not answer, and the command says so in time`() throws {
        let running = try Running("tasks")
        running.process.kill(SIGSTOP)
        running.process.waitUntilStopped()
        let run = try running.store.crashreport(["tasks", "--timeout", "0.2"])
        #expect(run.end == .exited(1) && run.errors.contains("has not answered within 0.2 s"))
        // Its answer comes when it goes on: nobody takes it, and the next question has one of its own.
        running.process.kill(SIGCONT)
        #expect(try running.dump().tasks == 14)
    }

    @Test func `A signal of the program's choice has them logged`() throws {
        let running = try Running("tasks-signal")
        running.process.kill(SIGQUIT)
        try FolderWatch.wait(at: running.process.errorPath, for: "the tasks in the log") {
            running.process.errors.contains("neverResumed()") ? () : nil
        }
        #expect(running.process.errors.contains("1 task in 1 fault boundary"))
        #expect(running.process.errors.contains("GET /continuation: 1 task waiting"))
    }
}
