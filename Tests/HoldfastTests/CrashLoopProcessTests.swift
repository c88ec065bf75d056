import CrashReports
import Glibc
import TestSupport
import Testing

/// Crash loops and what looks like one, in processes that fault.
@Suite(.timeLimit(.minutes(10))) struct CrashLoopProcessTests {
    /// A history that a shell makes for the process that it becomes.
    static func shell(earlyRestarts count: Int, phase: String = "running", lastFaults: String = "") -> String {
        """
        export HOLDFAST_PID=$$ HOLDFAST_RESTARTS=\(count) HOLDFAST_EARLY_RESTARTS=\(count) \
        HOLDFAST_LAST_PHASE=\(phase) HOLDFAST_LAST_FAULTS='\(lastFaults)'
        exec "$@"
        """
    }

    @Test func `However often a handler of a signal faults, SIGTERM ends the process`() throws {
        let run = try HostRun("crash-loops", "hang-up")
        for restarts in 0..<5 {
            #expect(try run.line() == "ready \(restarts) normal")
            run.process.kill(SIGHUP)
        }
        // Five planned restarts of processes that served nothing.
        #expect(try run.line() == "ready 5 safe")
        run.process.kill(SIGTERM)
        #expect(try run.lines() == ["told to end"])
        #expect(try run.process.wait() == .exited(0))
    }

    @Test func `Eight threads that fault at once are the end of one process`() throws {
        let run = try HostRun("crash-loops", "threads")
        #expect(try run.process.wait() == .exited(42))
        let command = [run.store.path, "threads"]
        let next = try ProgramRun.run(
            BuiltProduct.path(of: "recovery-probe"),
            ["crash-loops"] + command,
            environment: ["PROBE_LOOKS": "1"]
        )
        #expect(next.output == "ready 0 normal\n", "\(next.errors)")
        #expect(next.end == .exited(0))
        #expect(try run.store.list().count >= 8)
    }

    @Test func `Ten processes with one store and the same arguments do not count each other's ends`() throws {
        let store = try StoreReader()
        func start() throws -> ChildProcess {
            try ChildProcess(BuiltProduct.path(of: "recovery-probe"), ["crash-loops", store.path, "hard"])
        }
        let ten = try (0..<10).map { _ in try start() }
        for process in ten {
            #expect(try process.output.next() == "ready 0 normal")
            process.kill(SIGUSR1)
            #expect(try process.output.next() == "ready 1 normal")
        }
        let eleventh = try start()
        #expect(try eleventh.output.next() == "ready 0 normal")
        for process in ten + [eleventh] {
            process.kill(SIGTERM)
            #expect(try process.wait() == .exited(0))
        }
    }

    @Test(arguments: [("exit", ChildProcess.End.exited(42)), ("signal", .signalled(SIGSEGV))])
    func `Ten that ran side by side, and each faulted once, are no row for the next`(
        _ kind: String,
        _ end: ChildProcess.End
    ) throws {
        let store = try StoreReader()
        func start() throws -> ChildProcess {
            try ChildProcess(BuiltProduct.path(of: "recovery-probe"), ["crash-loops", store.path, "told-\(kind)"])
        }
        let ten = try (0..<10).map { _ in try start() }
        for process in ten { #expect(try process.output.next() == "ready 0 normal") }
        for process in ten { process.kill(SIGUSR1) }
        for process in ten { #expect(try process.wait() == end) }
        let eleventh = try start()
        #expect(try eleventh.output.next() == "ready 0 normal", "\(eleventh.errors)")
        eleventh.kill(SIGTERM)
        #expect(try eleventh.wait() == .exited(0))
        #expect(!eleventh.errors.contains("waiting before serving"))
    }

    @Test func `What restarts in place leave in the store is a row for one that somebody else starts`() throws {
        let run = try HostRun("crash-loops", "for-ever")
        #expect(try run.lines().count == 13)
        #expect(try run.process.wait() == .exited(0))
        let next = try ProgramRun.run(
            BuiltProduct.path(of: "recovery-probe"),
            ["crash-loops", run.store.path, "for-ever"],
            environment: ["PROBE_LOOKS": "1"]
        )
        #expect(next.output == "ready 0 safe\n", "\(next.errors)")
        #expect(next.end == .exited(0))
    }

    @Test func `The tasks by which a program starts itself are no service`() throws {
        let run = try HostRun("crash-loops", "overdue")
        #expect(try run.lines() == (0..<5).map { "started \($0) without []" } + ["started 5 without [\"job\"]"])
        #expect(try run.process.wait() == .exited(0))
    }

    @Test func `A process began before it waited`() throws {
        // 400 milliseconds, of which chance takes up to half.
        let run = try HostRun("crash-loops", "late-start", shell: Self.shell(earlyRestarts: 4, phase: "starting"))
        #expect(try run.process.wait() == .exited(42))
        #expect(run.process.errors.contains("waiting before serving"))
        _ = try run.store.list()
        let report = try run.store.onlyReport()
        #expect(report.process.uptimeSeconds >= 0.2)
    }

    @Test func `Safe mode ends although somebody has every process of it restart`() throws {
        let run = try HostRun("crash-loops", "attacked")
        #expect(try run.lines() == (0...5).map { "begun \($0) \($0 == 5)" } + ["served at last"])
        let end = try run.process.wait()
        #expect(end == .exited(0), "\(end): \(run.process.errors.suffix(4000))")
    }

    @Test func `Processes with one store and other arguments do not count each other's ends, also when they are gone`()
        throws
    {
        let store = try StoreReader()
        func start(_ name: String, looks: Bool) throws -> ProgramRun {
            try ProgramRun.run(
                BuiltProduct.path(of: "recovery-probe"),
                ["crash-loops", store.path, "gone", name],
                environment: looks ? ["PROBE_LOOKS": "1"] : [:]
            )
        }
        for _ in 0..<5 { #expect(try start("one", looks: false).end == .exited(42)) }
        #expect(try start("one", looks: true).output == "ready 0 safe\n", "it is counted")
        #expect(try start("two", looks: true).output == "ready 0 normal\n")
    }

    @Test func `One client's faults do not cost the others their connections, whatever those are called`() throws {
        let run = try HostRun("crash-loops", "connections")
        var port: UInt16?
        for _ in 1...6 {
            port = try run.line()?.split(separator: " ").last.flatMap { UInt16($0) }
            let client = try LineClient(port: try #require(port))
            try client.send("fault\n")
            #expect(try client.line() == nil)
        }
        // That of the last restart.
        #expect(try run.line()?.hasPrefix("port ") == true)
        let other = try LineClient(port: try #require(port))
        #expect(try other.ask("hello") == "hello")
        run.process.kill(SIGTERM)
        #expect(try run.process.wait() == .exited(0))
        #expect(!run.process.errors.contains("safe mode"))
    }

    @Test(arguments: ["", "-1", "soon", "\(Int64.max)"])
    func `Safe mode leaves out what can be told apart, and tries it again after a while`(since: String) throws {
        let time = "1700000000000000"
        let faults = ["unique", "shared", "late"].enumerated().map { "\($0 + 1).11.sni.\(time)..\($1)" }
        let variable = "export HOLDFAST_SAFE_MODE_SINCE='\(since)'\n"
        let shell = variable + Self.shell(earlyRestarts: 5, lastFaults: faults.joined(separator: ","))
        let run = try HostRun("crash-loops", "labels", shell: shell)
        var lines: [String] = []
        while lines.last != "unique", let line = try run.line() { lines.append(line) }
        run.process.kill(SIGTERM)
        #expect(try run.lines() == ["told to end", "withheld [] false"])
        #expect(lines.first == "withheld [\"unique\"] true")
        #expect(Set(lines) == ["withheld [\"unique\"] true", "shared 1", "shared 2", "late", "unique"])
        #expect(lines.count == 5)
    }

    @Test func `A safe mode that began long ago is over at the start`() throws {
        let shell = "export HOLDFAST_SAFE_MODE_SINCE=0\n" + Self.shell(earlyRestarts: 5)
        let run = try HostRun("crash-loops", "hang-up", shell: shell)
        #expect(try run.line() == "ready 5 normal")
        run.process.kill(SIGTERM)
        #expect(try run.process.wait() == .exited(0))
        #expect(run.process.errors.contains("safe mode is over"))
    }

    @Test func `What was not alone with its label, or was made later, is no culprit`() throws {
        let faults = "1.11.sn.1700000000000000..unique"
        let shell = Self.shell(earlyRestarts: 5, lastFaults: faults)
        let run = try HostRun("crash-loops", "labels", shell: shell)
        #expect(try run.line() == "withheld [] true")
        run.process.kill(SIGTERM)
        #expect(try run.process.wait() == .exited(0))
    }

    @Test func `A process that waits before it serves has its socket open, and can be told to end`() throws {
        let run = try HostRun("crash-loops", "waiting", shell: Self.shell(earlyRestarts: 3))
        let port = try #require(try run.line()?.split(separator: " ").last.flatMap { UInt16($0) })
        // In the backlog.
        let client = try LineClient(port: port)
        run.process.kill(SIGTERM)
        #expect(try run.lines() == ["told to end"])
        #expect(try run.process.wait() == .exited(0))
        #expect(run.process.errors.contains("waiting before serving"))
        withExtendedLifetime(client) {}
    }

    @Test func `Processes that serve nothing are started again for ever`() throws {
        let run = try HostRun("crash-loops", "for-ever")
        let lines = try run.lines()
        #expect(lines == (0...12).map { "ready \($0) \($0 < 5 ? "normal" : "safe")" })
        #expect(try run.process.wait() == .exited(0))
    }

    @Test func `A process that faults before its host runs is started again`() throws {
        let run = try HostRun("crash-loops", "start")
        #expect(try run.lines() == (0...4).map { "begun \($0)" })
        #expect(try run.process.wait() == .exited(0))
        _ = try run.store.list()
        #expect(try run.store.reports().map(\.process.phase) == Array(repeating: .starting, count: 4))
    }

    /// Starts a process that waits for hours before it serves, has a thread of it fault, and asks until that waits, too.
    private func faultInWait(_ scenario: String) throws -> (run: HostRun, port: UInt16) {
        let run = try HostRun("crash-loops", scenario, shell: Self.shell(earlyRestarts: 3))
        let port = try #require(try run.line()?.split(separator: " ").last.flatMap { UInt16($0) })
        let limit = Deadline()
        // Its handlers are called once the wait has begun.
        run.process.kill(SIGUSR1)
        #expect(try run.line() == "waits false")
        run.process.kill(SIGALRM)
        var line: String? = ""
        while line != "waits true" {
            try #require(!limit.hasPassed)
            run.process.kill(SIGUSR1)
            line = try run.line()
            try #require(line?.hasPrefix("waits") == true, "\(line ?? "the end")")
        }
        return (run, port)
    }

    @Test func `A thread that faults while the process waits restarts it no sooner, and not once it is told to end`()
        throws
    {
        let (run, port) = try faultInWait("waiting-thread")
        // It is queued in the backlog.
        _ = try LineClient(port: port)
        // The thread waits before the main loop has heard of it, and an order may come between the two.
        let limit = Deadline()
        while !run.process.errors.contains("restarts when its wait is over"), !limit.hasPassed { usleep(10_000) }
        run.process.kill(SIGTERM)
        #expect(try run.lines().filter { !$0.hasPrefix("waits") } == ["told to end"])
        #expect(try run.process.wait() == .exited(0))
        #expect(run.process.errors.contains("restarts when its wait is over"), "\(run.process.errors)")
        #expect(try run.store.onlyReport().verdict.decision == .terminate)
    }

    @Test func `A thread that has broken the heap restarts it no sooner, either`() throws {
        let (run, _) = try faultInWait("waiting-heap")
        run.process.kill(SIGTERM)
        #expect(try run.lines().filter { !$0.hasPrefix("waits") } == ["told to end"])
        #expect(try run.process.wait() == .signalled(SIGABRT))
    }

    @Test func `An order to end is heard also where the main thread itself has faulted while it waited`() throws {
        let run = try HostRun("crash-loops", "waiting-handler", shell: Self.shell(earlyRestarts: 3))
        #expect(try run.line()?.hasPrefix("port ") == true)
        run.process.kill(SIGHUP)
        run.process.kill(SIGTERM)
        let lines = try run.lines()
        #expect(lines.filter { !$0.hasPrefix("port ") } == ["told to end"], "\(lines)")
        #expect(try run.process.wait() == .exited(0))
    }

    @Test func `After one that did not come so far the next waits before it does anything else`() throws {
        let run = try HostRun("crash-loops", "waiting", shell: Self.shell(earlyRestarts: 3, phase: "starting"))
        let limit = Deadline()
        while !run.process.errors.contains("waiting before serving") {
            try #require(!limit.hasPassed)
            sched_yield()
        }
        run.process.kill(SIGTERM)
        #expect(try run.lines() == [])
        #expect(try run.process.wait() == .signalled(SIGTERM))
    }
}
