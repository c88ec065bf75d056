import Glibc
import TestSupport
import Testing

/// A server of HoldfastIO, in a process of its own.
struct ProbeServer {
    let process: ChildProcess
    let store: StoreReader
    let endpoint: String

    init(_ mode: String, at place: String = "127.0.0.1") throws {
        store = try StoreReader()
        process = try ChildProcess(
            BuiltProduct.path(of: "io-probe"),
            [mode, place],
            environment: ["HOLDFAST_STORE": store.path]
        )
        let line = try #require(try process.output.next(), "\(process.errors)")
        endpoint = String(line.dropFirst("listening ".count))
    }

    func connect(receiveBuffer: Int? = nil) throws -> LineClient {
        let port = try #require(endpoint.split(separator: ":").last.flatMap { UInt16($0) })
        return try LineClient(port: port, receiveBuffer: receiveBuffer)
    }

    func stop() throws -> ChildProcess.End {
        process.kill(SIGTERM)
        return try process.wait()
    }
}

/// What a connection does with lines, bytes and its end.
@Suite(.timeLimit(.minutes(5))) struct ConnectionTests {
    @Test(arguments: ["plain", "lines", "bytes", "tasks"])
    func `What is sent comes back, in order`(mode: String) throws {
        let server = try ProbeServer(mode)
        let clients = try (0..<20).map { _ in try server.connect() }
        for (index, client) in clients.enumerated() {
            try client.send((0..<100).map { "line \(index) \($0)\n" }.joined())
        }
        for (index, client) in clients.enumerated() {
            for number in 0..<100 { #expect(try client.line() == "line \(index) \(number)") }
        }
        #expect(try server.stop() == .exited(0), "\(server.process.errors)")
    }

    @Test func `A line ends with LF, or CR and LF, which do not count`() throws {
        let server = try ProbeServer("lines")
        let client = try server.connect()
        let longest = String(repeating: "x", count: 8192)
        for end in ["\n", "\r\n"] {
            try client.send(longest + end)
            #expect(try client.line() == longest)
        }
        // In pieces: the end may come later.
        try client.send(longest + "\r")
        try server.connect().send("a\n")
        try client.send("\n")
        #expect(try client.line() == longest)
    }

    @Test(arguments: ["lines", "tasks"]) func `Lines before one that is too long have their answers`(
        mode: String
    ) throws {
        let server = try ProbeServer(mode)
        let client = try server.connect()
        try client.send("a\nb\n" + String(repeating: "x", count: 10_000))
        #expect(try client.line() == "a")
        #expect(try client.line() == "b")
    }

    @Test func `A connection whose both ends have sent everything is closed`() throws {
        let server = try ProbeServer("end")
        let client = try server.connect()
        try client.send("over\n")
        #expect(try client.line() == nil)
        client.finishSending()
        #expect(try server.process.output.next() == "closed probe 1: closed")
    }

    @Test func `A task that is cancelled waits no more, and another one goes on where it was`() throws {
        let server = try ProbeServer("tasks")
        let first = try server.connect()
        for round in 0..<20 {
            #expect(try first.ask("a \(round)") == "a \(round)")
            server.process.kill(SIGUSR1)
            let told = try [server.process.output.next(), server.process.output.next()]
            #expect(Set(told) == ["no more connections", "end of probe 1"])
            try first.send("half a ")
            try first.send("line\nand\n")
            server.process.kill(SIGUSR2)
            #expect(try first.line() == "half a line")
            #expect(try first.line() == "and")
        }
        server.process.kill(SIGUSR1)
        let second = try server.connect()
        try second.send("b\n")
        server.process.kill(SIGUSR2)
        #expect(try second.line() == "b")
        #expect(try server.stop() == .exited(0), "\(server.process.errors)")
    }

    @Test func `A line in pieces is one line, and one without an end is none`() throws {
        let server = try ProbeServer("end")
        let client = try server.connect()
        try client.send("he")
        try client.send("llo\r\nhalf")
        #expect(try client.line() == "hello")
        client.finishSending()
        #expect(try client.line() == "end")
        #expect(try client.line() == nil)
        #expect(try server.process.output.next() == "closed probe 1: closed")
    }

    @Test func `A line beyond the limit closes the connection, and no other`() throws {
        let server = try ProbeServer("lines")
        let other = try server.connect()
        #expect(try other.ask("a") == "a")
        let client = try server.connect()
        try client.send(String(repeating: "x", count: 9000))
        #expect(try client.line() == nil)
        #expect(try server.process.output.next() == "closed probe 2: lineTooLong")
        #expect(try other.ask("b") == "b")
    }

    @Test func `A task is told of a line beyond the limit, and of the end`() throws {
        let server = try ProbeServer("tasks")
        let client = try server.connect()
        #expect(try client.ask("a") == "a")
        try client.send(String(repeating: "x", count: 9000))
        #expect(try client.line() == nil)
        #expect(try server.process.output.next() == "probe 1 threw lineTooLong")
        let next = try server.connect()
        #expect(try next.ask("b") == "b")
        try next.send("c\n")
        next.finishSending()
        #expect(try next.line() == "c")
        #expect(try next.line() == nil)
        #expect(try server.process.output.next() == "end of probe 2")
    }

    @Test func `It is closed when everything was sent, however slow the peer is`() throws {
        let server = try ProbeServer("lines")
        let client = try server.connect(receiveBuffer: 4096)
        try client.send("big 1000000\nbye\nlost\n")
        #expect(try client.line()?.utf8.count == 1_000_000)
        #expect(try client.line() == "bye")
        #expect(try client.line() == nil)
    }

    @Test func `Nothing is read while too much waits to be sent, and all of it comes in the end`() throws {
        let server = try ProbeServer("room")
        let client = try server.connect(receiveBuffer: 4096)
        try client.send(String(repeating: "big 8000\n", count: 1000))
        for _ in 0..<1000 { #expect(try client.line()?.utf8.count == 8000) }
        #expect(try client.ask("end") == "end")
        let line = try #require(try server.process.output.next())
        #expect(line.hasPrefix("room "))
        #expect(try #require(Int(line.dropFirst(5))) <= 16 * 1024)
    }

    @Test func `A connection that would have too much to send is closed`() throws {
        let server = try ProbeServer("unsent")
        let client = try server.connect()
        try client.send("big 2000000\n")
        #expect(try client.line() == nil)
        #expect(try server.process.output.next() == "closed probe 1: tooMuchUnsent")
    }

    @Test func `A connection that says nothing is closed`() throws {
        let server = try ProbeServer("idle")
        let client = try server.connect()
        #expect(try client.ask("a") == "a")
        #expect(try client.line() == nil)
        #expect(try server.process.output.next() == "closed probe 1: idle")
    }

    @Test(arguments: ["127.0.0.1", "::1"])
    func `It knows where it listens`(host: String) throws {
        let server = try ProbeServer("lines", at: host)
        #expect(server.endpoint.hasPrefix(host == "::1" ? "[::1]:" : "127.0.0.1:"))
        guard host == "127.0.0.1" else { return }
        #expect(try server.connect().ask("peer").hasPrefix("127.0.0.1:"))
    }

    @Test func `The file of a dead Unix socket is replaced, that of a live one is not`() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/socket"
        let first = try ProbeServer("plain", at: path)
        let refused = try ChildProcess(
            BuiltProduct.path(of: "io-probe"),
            ["plain", path],
            environment: ["HOLDFAST_STORE": first.store.path]
        )
        #expect(try refused.wait() != .exited(0))
        #expect(refused.errors.contains("listen at \(path)"), "\(refused.errors)")
        first.process.kill(SIGKILL)
        _ = try first.process.wait()
        let second = try ProbeServer("plain", at: path)
        #expect(second.endpoint == path)
        #expect(try ProbeServer("plain", at: "@holdfast-io-\(getpid())").endpoint == "@holdfast-io-\(getpid())")
    }
}
