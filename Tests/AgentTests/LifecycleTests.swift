import CrashReports
import FaultInjection
import Glibc
import TestSupport
import Testing

/// How the agent starts and ends.
@Suite(.timeLimit(.minutes(10))) struct LifecycleTests {
    @Test(arguments: [SIGTERM, SIGINT])
    func `SIGTERM and SIGINT end the agent in order`(signal: CInt) throws {
        let agent = try AgentProcess()
        let client = try agent.connect()
        #expect(try client.ask("PING") == "PONG")
        agent.process.kill(signal)
        #expect(try agent.process.wait() == .exited(0))
        #expect(try client.line() == nil)
        #expect(try agent.store.list().isEmpty)
    }

    @Test func `A signal during a run of requests loses none that was answered`() throws {
        let agent = try AgentProcess()
        let client = try agent.connect()
        try client.send(String(repeating: "PING\n", count: 1000))
        #expect(try client.line() == "PONG")
        agent.process.kill(SIGTERM)
        #expect(try agent.process.wait() == .exited(0))
        while let line = try client.line() { #expect(line == "PONG") }
    }

    @Test func `The process after one that was killed says so, once`() throws {
        let arguments = ["--after-fault", "keep-going"]
        let first = try AgentProcess(arguments)
        #expect(try first.connect().ask("PING") == "PONG")
        first.process.kill(SIGKILL)
        #expect(try first.process.wait() == .signalled(SIGKILL))
        let words = "the process before ended without a word"
        for isNext in [true, false] {
            let agent = try AgentProcess(arguments, store: first.store)
            // What it finds is in the log before the report of a fault that it makes itself.
            let client = try agent.connect()
            try client.send("FAULT nil-unwrap\n")
            #expect(try client.line() == nil)
            #expect(try agent.stop() == .exited(0))
            let lines = agent.process.errors.split(separator: "\n").filter { $0.contains(words) }
            #expect(lines.count == (isNext ? 1 : 0))
            #expect(lines.allSatisfy { $0.contains("pid=\(first.pid)") && $0.contains("lastActive=") })
        }
    }

    @Test func `SIGHUP reads the values again and keeps those that are only in memory`() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("colour blue\nsize 10 m\nnothing\n", to: "values")
        let agent = try AgentProcess(["--values", file])
        let client = try agent.connect()
        #expect(try client.ask("GET colour") == "VALUE blue")
        #expect(try client.ask("GET size") == "VALUE 10 m")
        #expect(try client.ask("SET own kept") == "OK")
        try folder.write("colour green\n", to: "values")
        try reload(agent, times: 2)
        #expect(try client.ask("GET colour") == "VALUE green")
        #expect(try client.ask("GET own") == "VALUE kept")
        #expect(try client.ask("GET size") == "VALUE 10 m")
    }

    /// Sends SIGHUP and waits until the agent has said so often that it loaded its values.
    private func reload(_ agent: AgentProcess, times: Int) throws {
        agent.process.kill(SIGHUP)
        try FolderWatch.wait(at: agent.process.errorPath, for: "the values to be loaded") {
            agent.process.errors.ranges(of: "loaded values").count >= times ? () : nil
        }
    }

    @Test func `Values that cannot be read leave the agent as it is`() throws {
        let agent = try AgentProcess(["--values", "/nonexistent/values"])
        #expect(try agent.connect().ask("GET colour") == "NONE")
        #expect(agent.process.errors.contains("cannot load values"))
        #expect(try agent.stop() == .exited(0))
    }

    @Test func `--duration ends the agent in order`() throws {
        let clock = ContinuousClock()
        let start = clock.now
        let agent = try AgentProcess(["--duration", "0.5"])
        #expect(try agent.process.wait() == .exited(0))
        #expect(start.duration(to: clock.now) >= .milliseconds(500))
    }

    @Test func `--list-faults lists all faults by name, and nothing else`() throws {
        let names = [
            "nil-unwrap", "index-out-of-range", "overflow", "precondition", "fatal-error", "try-bang", "as-bang",
            "duplicate-key", "exclusivity", "null-read", "null-write", "wild-pointer", "non-canonical",
            "read-only-write", "null-call", "data-jump", "divide-by-zero", "ud2", "int3", "abort", "assert",
            "bus-past-eof", "stack-overflow", "double-free", "heap-smash", "cxx-exception", "raise-segv",
        ]
        let run = try ProgramRun.run(BuiltProduct.path(of: "holdfast-agent"), ["--list-faults"])
        #expect(run.end == .exited(0))
        let lines = run.output.split(separator: "\n").map { $0.split(separator: " ", maxSplits: 1) }
        #expect(lines.map { String($0[0]) } == names)
        #expect(lines.allSatisfy { $0.count == 2 }, "each with what it does")
        #expect(Fault.allCases.map(\.rawValue) == names)
    }

    @Test(
        arguments: [
            ["--no-such-option"], ["--port", "65536"], ["--port", "-1"], ["--port", "http"], ["extra"],
            ["--inject", "no-such@timer"], ["--inject", "nil-unwrap"], ["--inject", "nil-unwrap@nowhere"],
            ["--inject", "nil-unwrap@timer:0"], ["--inject", "nil-unwrap@timer:x"], ["--after-fault", "explode"],
            ["--crash-loop-after", "0"], ["--crash-loop-after", "always"], ["--exit-status", "256"],
            ["--duration", "0"], ["--duration", "-1"], ["--duration", "nan"], ["--duration"],
        ]
    )
    func `Options that are wrong are refused as a usage error`(options: [String]) throws {
        let store = try StoreReader()
        let run = try ProgramRun.run(BuiltProduct.path(of: "holdfast-agent"), ["--store", store.path] + options)
        #expect(run.end == .exited(64))
        #expect(run.output.isEmpty)
        #expect(run.errors.contains("Error: "))
    }

    @Test func `A port that is taken is an error that names it`() throws {
        let first = try AgentProcess()
        let store = try StoreReader()
        let run = try ProgramRun.run(
            BuiltProduct.path(of: "holdfast-agent"),
            ["--store", store.path, "--port", "\(first.port)"]
        )
        #expect(run.end == .exited(1))
        #expect(run.output.isEmpty)
        #expect(run.errors.contains("127.0.0.1:\(first.port)"))
        #expect(run.errors.contains("Address already in use"))
        #expect(try first.connect().ask("PING") == "PONG")
    }

    @Test func `A store that cannot be made keeps nobody from being served, and the log names it`() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("", to: "file")
        // The last one counts.
        let agent = try AgentProcess(["--store", file])
        #expect(try agent.connect().ask("PING") == "PONG")
        #expect(try agent.stop() == .exited(0))
        #expect(agent.process.errors.contains("reports cannot be stored"))
        #expect(agent.process.errors.contains(file))
    }

    @Test func `An agent that ends in order leaves no raw record behind`() throws {
        let agent = try AgentProcess()
        let victim = try agent.connect()
        try victim.send("FAULT nil-unwrap\n")
        #expect(try victim.line() == nil)
        #expect(try agent.stop() == .exited(0))
        #expect(try agent.store.spoolNames().isEmpty)
        #expect(try agent.store.list().count == 1)
    }
}
