import CrashReports
import Foundation
import Glibc
import TestSupport
import Testing

/// What a program keeps moves to the process that takes over: `holdfast upgrade`.
@Suite(.timeLimit(.minutes(3))) struct UpgradeHandOverTests {
    private static func agent(
        _ port: UInt16,
        _ options: [String] = [],
        below: [String] = []
    ) throws -> Supervised {
        let store = try StoreReader()
        return try Supervised(
            ["--ready", "notify", "--listen", "tcp:127.0.0.1:\(port)"] + below,
            [BuiltProduct.path(of: "holdfast-agent"), "--port", "\(port)", "--store", store.path] + options,
            store: store
        )
    }

    @Test func `Connections go on in the next process, with the half line that has come`() throws {
        let port = try Loopback.freePort()
        let supervised = try Self.agent(port)
        var pid = try supervised.nextPid()
        let clients = try (0..<300).map { _ in try LineClient(port: port) }
        for client in clients {
            #expect(try client.ask("PING") == "PONG")
            try client.send("STA")
        }
        for _ in 0..<3 {
            let upgrade = try supervised.order("upgrade")
            #expect(upgrade.output == "upgraded\n", "\(upgrade.errors)")
            let next = try supervised.nextPid()
            #expect(next != pid)
            // The one before hands over, and ends by itself.
            let deadline = Deadline()
            while kill(pid, 0) == 0 { try #require(!deadline.hasPassed, "\(supervised.process.errors.suffix(2000))") }
            for client in clients {
                try client.send("TS\n")
                let stats = try #require(try client.line())
                #expect(agentPid(stats) == next)
                try client.send("STA")
            }
            pid = next
        }
        #expect(try supervised.order("stop").end == .exited(0))
        #expect(!supervised.process.errors.contains("never quiet"), "\(supervised.process.errors.suffix(2000))")
        let ends = try supervised.reports().compactMap(\.death)
        #expect(ends.map(\.cause) == Array(repeating: "stopped", count: 4))
        #expect(ends.filter { $0.sentence.contains("has taken over") }.count == 3, "\(ends.map(\.sentence))")
    }

    @Test func `What is on its way to a process is not lost when that one is replaced, too`() throws {
        let port = try Loopback.freePort()
        let supervised = try Self.agent(port)
        _ = try supervised.nextPid()
        let clients = try Self.begin(100, at: port)
        // Each while the one before may still hand over.
        var last: CInt = 0
        for _ in 0..<5 {
            #expect(try supervised.order("upgrade").output == "upgraded\n")
            last = try supervised.nextPid()
        }
        for client in clients { #expect(try client.ask("PING") == "PONG") }
        let deadline = Deadline()
        for client in clients {
            while agentPid(try client.ask("STATS")) != last { try #require(!deadline.hasPassed) }
        }
    }

    /// Waits until the first thread of a process sleeps in clock_nanosleep(2).
    private static func waitUntilAsleep(_ pid: CInt) throws {
        let deadline = Deadline()
        while try String(contentsOfFile: "/proc/\(pid)/syscall", encoding: .utf8).hasPrefix("230 ") == false {
            try #require(!deadline.hasPassed)
        }
    }

    /// The process before hands over while the next one sleeps, which then faults.
    @Test(arguments: [false, true])
    func `What is on its way to a process is not lost when that one faults`(hasStandby: Bool) throws {
        let port = try Loopback.freePort()
        let below = hasStandby ? Self.standingBy : []
        let supervised = try Self.agent(port, ["--after-fault", "restart"], below: below)
        let pid = try supervised.nextPid()
        if hasStandby { _ = try supervised.nextPid() }
        let clients = try Self.begin(100, at: port)
        if hasStandby { try supervised.waitForStandby() }
        kill(pid, SIGSTOP)
        #expect(try supervised.order("upgrade").output == "upgraded\n")
        var next = try supervised.nextPid()
        let faulty = try LineClient(port: port)
        #expect(agentPid(try faulty.ask("STATS")) == next)
        let standby = hasStandby ? try supervised.nextPid() : next
        if hasStandby { try supervised.waitForStandby() }
        try faulty.send("STALL sleep 500\nFAULT nil-unwrap\n")
        try Self.waitUntilAsleep(next)
        kill(pid, SIGCONT)
        try Self.waitForEnd(of: pid, supervised)
        while try faulty.line() != nil {}
        next = standby
        try Self.expect(clients, from: next, supervised)
    }

    /// It stands still for longer than the supervisor waits for one that keeps nothing, and faults then.
    @Test func `A process that has something to hand over is not told to end while it restarts in place`() throws {
        let port = try Loopback.freePort()
        let supervised = try Self.agent(port, ["--after-fault", "restart"])
        let pid = try supervised.nextPid()
        let clients = try Self.begin(50, at: port)
        let faulty = try LineClient(port: port)
        try faulty.send("STALL sleep 1500\nFAULT nil-unwrap\n")
        try Self.waitUntilAsleep(pid)
        #expect(try supervised.order("upgrade").output == "upgraded\n")
        let next = try supervised.nextPid()
        while try faulty.line() != nil {}
        try Self.waitForEnd(of: pid, supervised)
        try Self.expect(clients, from: next, supervised)
        // By a signal that comes while it restarts, it would end with all that it keeps.
        #expect(!supervised.process.errors.contains("signal=15"), "\(supervised.process.errors.suffix(4000))")
    }

    /// An agent with clients that has faulted, and hands over to a process that stands by and is stopped.
    private static func handingOverToStopped() throws -> (
        supervised: Supervised, pid: CInt, standby: CInt, clients: [LineClient]
    ) {
        let port = try Loopback.freePort()
        let supervised = try agent(port, ["--after-fault", "restart"], below: standingBy)
        let (pid, standby) = (try supervised.nextPid(), try supervised.nextPid())
        let clients = try begin(50, at: port)
        try supervised.waitForStandby()
        kill(standby, SIGSTOP)
        let faulty = try LineClient(port: port)
        #expect(try faulty.ask("PING") == "PONG")
        try faulty.send("FAULT nil-unwrap\n")
        return (supervised, pid, standby, clients)
    }

    private static let standingBy = ["--standby", "--restart", "always", "--healthy-after", "1ms"]

    private static func begin(_ count: Int, at port: UInt16) throws -> [LineClient] {
        let clients = try (0..<count).map { _ in try LineClient(port: port) }
        for client in clients { #expect(try client.ask("PING") == "PONG") }
        return clients
    }

    private static func waitForEnd(of pid: CInt, _ supervised: Supervised) throws {
        let deadline = Deadline()
        while kill(pid, 0) == 0 { try #require(!deadline.hasPassed, "\(supervised.process.errors.suffix(2000))") }
    }

    /// Checks that each client is answered by a process.
    private static func expect(_ clients: [LineClient], from pid: CInt, _ supervised: Supervised) throws {
        for client in clients {
            #expect(agentPid(try client.ask("STATS")) == pid, "\(supervised.process.errors.suffix(4000))")
        }
    }

    /// It has told the standby to serve, which is stopped, when the process of the upgrade is ready.
    @Test func `A process that faults during an upgrade loses nothing that it hands to its standby`() throws {
        let (supervised, _, standby, clients) = try Self.handingOverToStopped()
        // Over when the one that faulted has ended, which does not wait for the standby for ever.
        #expect(try supervised.order("upgrade").output == "upgraded\n")
        let next = try supervised.nextPid()
        kill(standby, SIGCONT)
        try Self.waitForEnd(of: standby, supervised)
        try Self.expect(clients, from: next, supervised)
    }

    /// The process before goes on then, with all that it keeps, and hands over as ever.
    @Test func `An upgrade goes on if the standby ends before it has taken anything`() throws {
        let (supervised, pid, standby, clients) = try Self.handingOverToStopped()
        let order = try ChildProcess(
            BuiltProduct.path(of: "holdfast"),
            ["upgrade", "--store", supervised.store.path]
        )
        let next = try supervised.nextPid()
        kill(standby, SIGKILL)
        #expect(try order.wait() == .exited(0))
        try Self.waitForEnd(of: pid, supervised)
        try Self.expect(clients, from: next, supervised)
    }

    /// The same of a program with an async `main`: the process that faults keeps nothing yet.
    @Test(arguments: [false, true])
    func `What comes for a process that has faulted, and kept nothing, is not lost`(hasStandby: Bool) throws {
        let port = try Loopback.freePort()
        let store = try StoreReader()
        let supervised = try Supervised(
            ["--ready", "notify", "--listen", "tcp:127.0.0.1:\(port)", "--restart", "always", "--healthy-after", "1ms"]
                + (hasStandby ? ["--standby"] : []),
            [BuiltProduct.path(of: "heir-server"), "\(port)", store.path, "200"],
            store: store
        )
        let pid = try supervised.nextPid()
        _ = try supervised.status(once: "ready")
        if hasStandby { try supervised.waitForStandby() }
        kill(pid, SIGSTOP)
        #expect(try supervised.order("upgrade").output == "upgraded\n")
        let next = try supervised.nextPid()
        if hasStandby { try supervised.waitForStandby() }
        kill(next, SIGUSR1)
        try Self.waitUntilAsleep(next)
        kill(pid, SIGCONT)
        let deadline = Deadline()
        while kill(pid, 0) == 0 { try #require(!deadline.hasPassed, "\(supervised.process.errors.suffix(2000))") }
        let heir = try supervised.nextPid()
        #expect((heir == next) == !hasStandby)
        // As soon as it has taken all of them.
        repeat {
            try #require(!deadline.hasPassed, "\(supervised.process.errors.suffix(4000))")
            kill(heir, SIGUSR2)
        } while try supervised.line() != "keeps 200"
    }

    @Test func `No request of clients that go on asking is lost`() throws {
        let port = try Loopback.freePort()
        let supervised = try Self.agent(port)
        _ = try supervised.nextPid()
        let isDone = Flag()
        let askers = try (0..<4).map { _ in try Asker(port: port, until: isDone) }
        for _ in 0..<5 {
            #expect(try supervised.order("upgrade").output == "upgraded\n")
            _ = try supervised.nextPid()
        }
        isDone.set()
        for asker in askers {
            let (answers, failure) = asker.wait()
            #expect(failure == nil && answers > 0, "\(answers) answers, then \(failure ?? "")")
        }
    }

    @Test func `The file of a Unix socket that the supervisor holds stays when the program closes it`() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/socket"
        let program = [try BuiltProduct.path(of: "io-probe"), "close", path]
        let supervised = try Supervised(["--ready", "notify", "--listen", "unix:" + path], program)
        _ = try supervised.line()
        #expect(try supervised.order("restart").output == "restarted\n")
        _ = try supervised.line()
        #expect(FileManager.default.fileExists(atPath: path))
    }
}

/// A client that asks, and asks again when it has the answer.
private final class Asker: @unchecked Sendable {
    private let thread: Thread
    private let isOver = DispatchSemaphore(value: 0)
    /// Written by the thread, and read when it is over.
    private var answers = 0
    private var failure: String?

    init(port: UInt16, until isDone: Flag) throws {
        let client = try LineClient(port: port)
        let box = Box()
        thread = Thread { box.asker?.ask(client, until: isDone) }
        box.asker = self
        thread.start()
    }

    private final class Box: @unchecked Sendable { weak var asker: Asker? }

    private func ask(_ client: LineClient, until isDone: Flag) {
        do {
            while !isDone.isSet {
                guard try client.ask("PING") == "PONG" else { throw HarnessError("a wrong answer") }
                answers += 1
            }
        } catch {
            failure = "\(error)"
        }
        isOver.signal()
    }

    /// Waits until it has ended; returns how many answers came, and why it ended before its time.
    func wait() -> (Int, String?) {
        isOver.wait()
        return (answers, failure)
    }
}
