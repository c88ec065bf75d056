import Glibc
import TestSupport
import Testing

@testable import Holdfast

/// When a process that has resumed a fault is quiet enough to be replaced.
@Suite(.timeLimit(.minutes(10))) struct QuietTests {
    private static func connect(_ run: HostRun) throws -> UInt16 {
        try #require(try run.line()?.split(separator: " ").last.flatMap { UInt16($0) })
    }

    /// Has a fault on a connection of its own.
    private static func fault(_ port: UInt16) throws {
        let victim = try LineClient(port: port)
        try victim.send("FAULT\n")
        #expect(try victim.line() == nil)
    }

    @Test func `By default fifty of fifty connections stay, and the process restarts when they are gone`() throws {
        let run = try HostRun("quiet", "none")
        let port = try Self.connect(run)
        var clients = try (0..<50).map { _ in try LineClient(port: port) }
        for client in clients { #expect(try client.ask("before") == "before") }
        try Self.fault(port)
        #expect(try run.line() == "clean")
        for round in 0..<3 {
            for client in clients { #expect(try client.ask("\(round)") == "\(round)") }
        }
        clients = []
        #expect(try run.lines() == ["restarted 1"])
        #expect(try run.process.wait() == .exited(0))
    }

    @Test func `A hold keeps the process until it is released`() throws {
        let run = try HostRun("quiet", "hold")
        let port = try Self.connect(run)
        try Self.fault(port)
        #expect(try run.line() == "clean")
        #expect(try LineClient(port: port).ask("still") == "still")
        run.process.kill(SIGUSR1)
        #expect(try run.lines() == ["restarted 1"])
        #expect(try run.process.wait() == .exited(0))
    }

    @Test func `At the limit the process restarts all the same, and says so`() throws {
        let run = try HostRun("quiet", "limit")
        let port = try Self.connect(run)
        let client = try LineClient(port: port)
        #expect(try client.ask("before") == "before")
        try Self.fault(port)
        let lines = try run.lines().filter { $0 != "clean" }
        #expect(lines == ["never quiet", "restarted 1"])
        #expect(try client.line() == nil)
        #expect(try run.process.wait() == .exited(0))
    }

    @Test func `Connections are sockets with a peer, and nothing else is`() throws {
        func expect(_ isOne: Bool, _ descriptors: [CInt], _ comment: Comment) {
            #expect(OpenConnection.isOne(descriptors[0]) == isOne, comment)
            for descriptor in descriptors { close(descriptor) }
        }
        func pair(_ type: UInt32) -> [CInt] {
            var ends: [CInt] = [-1, -1]
            #expect(socketpair(AF_UNIX, CInt(type | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
            return ends
        }
        expect(true, pair(SOCK_STREAM.rawValue), "stream")
        expect(true, pair(SOCK_SEQPACKET.rawValue), "packets in order")
        expect(false, pair(SOCK_DGRAM.rawValue), "datagrams")
        var ends: [CInt] = [-1, -1]
        #expect(pipe(&ends) == 0)
        expect(false, ends, "pipe")
        expect(false, [open("/dev/null", O_RDONLY | O_CLOEXEC)], "device")
        let listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        #expect(listen(listener, 1) == 0)
        expect(false, [listener], "listening socket")
        #expect(!OpenConnection.isOne(-1))
    }
}
