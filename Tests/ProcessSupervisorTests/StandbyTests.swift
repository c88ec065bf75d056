import CrashReports
import Glibc
import TestSupport
import Testing

/// A process that has started, and serves when the one before it ends.
@Suite(.timeLimit(.minutes(5))) struct StandbyTests {
    @Test(arguments: ["fault", "kill", "restart"])
    func `A process that stands by serves when the one before it ends`(order: String) throws {
        let (supervised, port) = try Supervised.standbyServer()
        let first = try supervised.nextPid()
        var standby = try supervised.nextPid()
        #expect(try LineClient(port: port).ask("who") == "\(first)")
        for _ in 0..<3 {
            try supervised.waitForStandby()
            let victim = try LineClient(port: port)
            try victim.send("\(order)\n")
            // Whom the old process has accepted is lost with it.
            _ = try? victim.line()
            // The one that stood by serves, and nobody was refused.
            #expect(try LineClient(port: port).ask("who") == "\(standby)")
            standby = try supervised.nextPid()
        }
        let ends = try supervised.deaths(once: 3)
        #expect(
            ends.count == 3
                && ends.allSatisfy { order == "kill" ? $0.signal == "SIGKILL" : $0.status == 75 },
            "\(ends.map(\.sentence))"
        )
        #expect(try supervised.status()["lastEnd"] as? String == ends.last?.sentence)
    }

    @Test func `One that stands by and restarts in place stands by again, and nothing happens to the one that serves`()
        throws
    {
        let (supervised, port) = try Supervised.standbyServer()
        let first = try supervised.nextPid()
        let standby = try supervised.nextPid()
        for _ in 0..<3 {
            try supervised.waitForStandby()
            kill(standby, SIGUSR1)
            #expect(try supervised.nextPid() == standby)
            #expect(try LineClient(port: port).ask("who") == "\(first)")
        }
        try supervised.waitForStandby()
        let victim = try LineClient(port: port)
        try victim.send("fault\n")
        _ = try? victim.line()
        #expect(try LineClient(port: port).ask("who") == "\(standby)")
        #expect(try supervised.deaths(once: 1).map(\.status) == [75], "\(supervised.process.errors)")
    }

    @Test func `A program that cannot stand by is told, and goes on without`() throws {
        let supervised = try Supervised(
            ["--standby", "--restart", "always", "--start-timeout", "50ms", "--name", "w"],
            waiter
        )
        let pid = try supervised.nextPid()
        let deadline = Deadline()
        while !supervised.process.errors.contains("no process stands by: --standby needs Holdfast inside") {
            try #require(!deadline.hasPassed)
        }
        #expect(try supervised.order("stop").end == .exited(0))
        // It was not started a second time: its work would have been done twice.
        #expect(try supervised.process.output.next() == nil)
        #expect(try supervised.reports().map(\.process.pid) == [Int(pid)])
    }

    @Test(arguments: ["fault", "kill"])
    func `One with an async main stands by where it would take its socket`(order: String) throws {
        let (supervised, port, _) = try Self.startAsyncServer(Supervised.standingBy)
        // It has begun, and is not up: it waits in bind(2).
        var standby = try Self.pid(in: supervised.line(), after: "began")
        // Until when each has stood by, at least.
        var ends: [CInt: Timestamp] = [:]
        for _ in 0..<3 {
            try supervised.waitForStandby()
            ends[standby] = .now
            let victim = try LineClient(port: port)
            try victim.send("\(order)\n")
            _ = try? victim.line()
            #expect(try supervised.line() == "up \(standby)")
            #expect(try LineClient(port: port).ask("who") == "\(standby)")
            standby = try Self.pid(in: supervised.line(), after: "began")
        }
        let ended = try supervised.deaths(once: 3)
        #expect(ended.allSatisfy { $0.cause != "stopped" }, "\(ended.map(\.sentence))")
        supervised.process.kill(SIGTERM)
        _ = try supervised.process.wait()
        // A server that waits on purpose is no stall. One on a busy machine may be.
        let reports = try supervised.reports()
        let waits = reports.filter { report in
            guard let stall = report.stall, let end = ends[CInt(report.process.pid)] else { return false }
            return stall.begin.microsecondsSinceEpoch < end.microsecondsSinceEpoch
        }
        #expect(waits.isEmpty, "\(supervised.process.errors)")
    }

    @Test
    func `Requests under way in fault boundaries are answered before a process ends that another one has succeeded`()
        throws
    {
        let start = try Self.startAsyncServer(Supervised.standingBy)
        let (supervised, port) = (start.supervised, start.port)
        var serving = start.pid
        for _ in 0..<3 {
            let standby = try Self.pid(in: supervised.line(), after: "began")
            try supervised.waitForStandby()
            let clients = try (0..<8).map { _ in try LineClient(port: port) }
            for client in clients { #expect(try client.ask("task") == "begun") }
            try LineClient(port: port).send("fault\n")
            for client in clients { #expect(try client.line() == "\(serving)") }
            #expect(try supervised.line() == "up \(standby)")
            serving = standby
        }
        supervised.process.kill(SIGTERM)
        _ = try supervised.process.wait()
    }

    @Test func `Who was accepted for an event loop that has faulted is told while the process before still drains`()
        throws
    {
        // Its drain never ends.
        let start = try Self.startAsyncServer { Supervised.standingBy($0) + ["--env", "HOLD=1"] }
        let (supervised, port) = (start.supervised, start.port)
        _ = try supervised.line()
        try supervised.waitForStandby()
        // A request under way keeps it, and is answered.
        let busy = try LineClient(port: port)
        #expect(try busy.ask("task") == "begun")
        #expect(try LineClient(port: port).ask("leave next") == "\(start.pid)")
        let accepted = try LineClient(port: port)
        try accepted.send("who\n")
        // The loop accepts one after the other, so that one was accepted.
        #expect(try LineClient(port: port).ask("who") == "\(start.pid)")
        try LineClient(port: port).send("fault\n")
        #expect(try accepted.line() == nil)
        #expect(try busy.line() == "\(start.pid)")
        #expect(kill(start.pid, 0) == 0)
        supervised.process.kill(SIGKILL)
        _ = try supervised.process.wait()
    }

    @Test func `A process that does not end after another one has succeeded it is killed, and told of`() throws {
        // Its drain never ends.
        let start = try Self.startAsyncServer {
            Supervised.standingBy($0) + ["--env", "HOLD=1", "--stop-timeout", "200ms"]
        }
        let (supervised, port) = (start.supervised, start.port)
        _ = try supervised.line()
        try supervised.waitForStandby()
        try LineClient(port: port).send("fault\n")
        let death = try supervised.deaths(once: 1)[0]
        #expect(death.cause == "stopped" && death.signal == "SIGKILL")
        #expect(death.sentence.hasSuffix(" has taken over), did not end in time, and was killed."), "\(death.sentence)")
        #expect(supervised.process.errors.contains("(pid \(start.pid)): It was stopped (process "))
    }

    @Test func `The status says that none stands by because those that were to have ended`() throws {
        let store = try StoreReader()
        let port = try Loopback.freePort()
        let server = try BuiltProduct.path(of: "async-server")
        // The first one serves, and the others end.
        let script =
            "[ -e \(store.path)/began ] && exit 3; touch \(store.path)/began; exec \(server) tcp:\(port) \(store.path)"
        let supervised = try Supervised(Supervised.standingBy(port), ["sh", "-c", script], store: store)
        _ = try supervised.line()
        let deadline = Deadline()
        // Each that has lived for --healthy-after begins the count anew.
        while try supervised.status()["standbyEnds"] as? Int == nil { try #require(!deadline.hasPassed) }
        #expect(try supervised.order("status").output.contains(" in a row have ended that were to stand by"))
        supervised.process.kill(SIGTERM)
        _ = try supervised.process.wait()
    }

    @Test func `One that stands by where it would take its socket ends when it is told to`() throws {
        // The signal ends a process that serves, and no other.
        let (supervised, _, _) = try Self.startAsyncServer {
            Supervised.standingBy($0) + ["--stop-signal", "USR1", "--stop-timeout", "1000s"]
        }
        _ = try supervised.line()
        try supervised.waitForStandby()
        #expect(try supervised.order("stop").output == "stopped\n")
        let ends = try supervised.reports().compactMap(\.death)
        #expect(ends.allSatisfy { $0.cause == "stopped" && $0.status == 0 }, "\(ends.map(\.sentence))")
    }

    @Test func `A process knows whether another one serves while it starts`() throws {
        let port = try Loopback.freePort()
        let store = try StoreReader()
        let options = [
            "--ready", "notify", "--restart", "always", "--backoff", "1ms", "--listen", "tcp:127.0.0.1:\(port)",
        ]
        let program = try ["env", "BESIDE=1", BuiltProduct.path(of: "async-server"), "tcp:\(port)", store.path]
        let supervised = try Supervised(options, program, store: store)
        func start() throws -> [String] { try (0..<3).map { _ in try supervised.line() } }
        #expect(try start().first == "alone")
        // It says so after its last line; what is not ready is restarted by an upgrade.
        _ = try supervised.status(once: "ready")
        #expect(try supervised.order("upgrade").output == "upgraded\n")
        let lines = try start()
        #expect(lines.first == "beside another")
        // Nobody serves while one starts that is started again.
        kill(try #require(lines.last?.split(separator: " ").last.flatMap { CInt($0) }), SIGKILL)
        #expect(try start().first == "alone")
        supervised.process.kill(SIGTERM)
        _ = try supervised.process.wait()
    }

    @Test func `Whoever is accepted before an upgrade is answered by the process before`() throws {
        let start = try Self.startAsyncServer { ["--ready", "notify", "--listen", "tcp:127.0.0.1:\($0)"] }
        let (supervised, port) = (start.supervised, start.port)
        var pid = start.pid
        for _ in 0..<5 {
            let upgrade = try ChildProcess(
                BuiltProduct.path(of: "holdfast"),
                ["upgrade", "--store", supervised.store.path]
            )
            // It dies of SIGTERM at once, with whatever it has accepted.
            var answers: [String?] = []
            let deadline = Deadline()
            while kill(pid, 0) == 0 {
                answers.append(try? LineClient(port: port).ask("who"))
                try #require(!deadline.hasPassed)
            }
            #expect(try upgrade.output.next() == "upgraded")
            let next = try Self.pid(in: supervised.line(), after: "began")
            #expect(try supervised.line() == "up \(next)")
            #expect(answers.allSatisfy { $0 == "\(pid)" || $0 == "\(next)" }, "\(answers)")
            pid = next
        }
    }

    @Test(arguments: ["fault", "restart"])
    func `A process that a thread of it has restarted in place still dies with its supervisor`(order: String) throws {
        let (supervised, port, pid) = try Self.startAsyncServer { ["--listen", "tcp:127.0.0.1:\($0)"] }
        try LineClient(port: port).send("\(order)\n")
        #expect(try supervised.line() == "began \(pid)")
        #expect(try supervised.line() == "up \(pid)")
        supervised.process.kill(SIGKILL)
        _ = try supervised.process.wait()
        // Its standard output ends with it.
        #expect(try supervised.process.output.next() == nil)
    }

    /// Starts the server with an async `main` below a supervisor, and waits until it is up.
    private static func startAsyncServer(
        _ options: (UInt16) -> [String]
    ) throws -> (supervised: Supervised, port: UInt16, pid: CInt) {
        let port = try Loopback.freePort()
        let store = try StoreReader()
        let server = [try BuiltProduct.path(of: "async-server"), "tcp:\(port)", store.path]
        let supervised = try Supervised(options(port), server, store: store)
        let pid = try pid(in: supervised.line(), after: "began")
        #expect(try supervised.line() == "up \(pid)")
        return (supervised, port, pid)
    }

    private static func pid(in line: String, after word: String) throws -> CInt {
        let words = line.split(separator: " ")
        return try #require(words.first == word[...] ? words.last.flatMap { CInt($0) } : nil, "\(line)")
    }
}
