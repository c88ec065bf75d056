import CrashReports
import Glibc
import TestSupport
import Testing

/// What many peers share is not taken from all of them for what one of them sends.
@Suite(.timeLimit(.minutes(10))) struct SharedPortTests {
    @Test(arguments: ["listener", "packets", "datagrams", "messages", "own-messages"])
    func `A port that many share is served on, however often it faults`(kind: String) throws {
        let run = try HostRun("shared-port", kind)
        #expect(try run.lines() == ["served after 7 faults"])
        #expect(try run.process.wait() == .exited(0))
        #expect(try run.store.list().allSatisfy { $0.quarantined != true })
    }

    @Test(arguments: ["connection", "connected-datagrams", "one-peer-messages"])
    func `A port with one peer is taken out, as any other item`(kind: String) throws {
        let run = try HostRun("shared-port", kind)
        #expect(try run.lines() == ["quarantined after 5 faults"])
        #expect(try run.process.wait() == .exited(0))
    }

    @Test func `A datagram that ends every process leaves the socket to the others, also in safe mode`() throws {
        let run = try HostRun("crash-loops", "datagrams")
        let port = try #require(try run.line()?.split(separator: " ").last.flatMap { UInt16($0) })
        let peer = try DatagramPeer(port: port)
        // Six ends of processes that served nothing.
        for restarts in 0..<6 {
            #expect(try run.line() == "ready \(restarts) \(restarts < 5 ? "normal" : "safe")")
            try peer.send("fault")
        }
        #expect(try run.line() == "ready 6 safe")
        let other = try DatagramPeer(port: port)
        #expect(try other.ask("hello") == "hello")
        // With nothing left out, what was served counts.
        try peer.send("fault")
        #expect(try run.line() == "ready 7 normal")
        #expect(try other.ask("hello") == "hello")
        run.process.kill(SIGTERM)
        #expect(try run.lines() == ["told to end"])
        #expect(try run.process.wait() == .exited(0))
        #expect(run.process.errors.contains("serving in safe mode: nothing that faulted can be left out"))
        #expect(!run.process.errors.contains("without="))
    }

    @Test func `A socket is served in safe mode, even if the history names it`() throws {
        let fault = "1.11.sni.1700000000000000..datagrams"
        let shell = CrashLoopProcessTests.shell(earlyRestarts: 5, lastFaults: fault)
        let run = try HostRun("crash-loops", "datagrams", shell: shell)
        let port = try #require(try run.line()?.split(separator: " ").last.flatMap { UInt16($0) })
        #expect(try run.line() == "ready 5 safe")
        #expect(try DatagramPeer(port: port).ask("hello") == "hello")
        run.process.kill(SIGTERM)
        #expect(try run.lines() == ["told to end"])
        #expect(try run.process.wait() == .exited(0))
        let lines = run.process.errors.split(separator: "\n")
        #expect(!lines.contains { $0.contains("serving") && $0.contains("without=") })
        #expect(run.process.errors.contains("serving in safe mode: nothing that faulted can be left out"))
    }
}

/// A client that sends datagrams to a port of 127.0.0.1.
private final class DatagramPeer: Sendable {
    private let descriptor: CInt

    init(port: UInt16) throws {
        descriptor = socket(AF_INET, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        let isConnected = Loopback.connect(descriptor, to: port) == 0
        // An answer that does not come fails the test.
        var patience = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        guard isConnected else { throw HarnessError("connect: error \(errno)") }
    }

    deinit { close(descriptor) }

    func send(_ text: String) throws {
        guard Glibc.send(descriptor, text, text.utf8.count, 0) >= 0 else {
            throw HarnessError("send: error \(errno)")
        }
    }

    /// Sends text, and returns the answer.
    func ask(_ text: String) throws -> String {
        try send(text)
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        guard count >= 0 else { throw HarnessError("recv: error \(errno)") }
        return String(decoding: bytes[..<count], as: UTF8.self)
    }
}
