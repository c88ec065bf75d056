import CLinuxShims
import CListenerHandover
import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

/// Servers that only open their own sockets get those that listen already.
///
/// Who calls bind(2) in this process calls ours, as in every program with Holdfast.
@Suite(.serialized, .timeLimit(.minutes(5))) struct ListenerHandoverTests {
    // MARK: bind

    @Test(arguments: [false, true])
    func `Who binds an address that was offered gets the socket that listens there, and its backlog`(once: Bool) throws
    {
        let offered = try Listening()
        #expect(hf_listeners_offer(offered.descriptor, once) == 0)
        defer { hf_listeners_withdraw(offered.descriptor) }
        let client = try #require(Socket.connected(to: offered.port))
        let own = Socket(CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue))
        // As NIO does: the socket is watched before it is bound.
        let epoll = Socket(owning: epoll_create1(0))
        var event = epoll_event(events: 0, data: epoll_data(u64: 77))
        #expect(epoll_ctl(epoll.descriptor, EPOLL_CTL_ADD, own.descriptor, &event) == 0)
        #expect(own.bind(offered.port) == 0)
        #expect(listen(own.descriptor, 16) == 0)
        #expect(fcntl(own.descriptor, F_GETFL) & O_NONBLOCK != 0)
        #expect(fcntl(own.descriptor, F_GETFD) == FD_CLOEXEC)
        event.events = EPOLLIN.rawValue
        #expect(epoll_ctl(epoll.descriptor, EPOLL_CTL_MOD, own.descriptor, &event) == 0)
        #expect(epoll_wait(epoll.descriptor, &event, 1, 10_000) == 1)
        #expect(event.data.u64 == 77)
        let accepted = Socket(owning: accept(own.descriptor, nil, nil))
        #expect(accepted.descriptor >= 0)
        // Once, or each time.
        let second = Socket(CInt(SOCK_STREAM.rawValue))
        #expect(second.bind(offered.port) == (once ? -1 : 0))
        withExtendedLifetime(client) {}
    }

    @Test func `Sockets for something else are bound as ever`() throws {
        let offered = try Listening()
        #expect(hf_listeners_offer(offered.descriptor, false) == 0)
        defer { hf_listeners_withdraw(offered.descriptor) }
        let datagrams = Socket(CInt(SOCK_DGRAM.rawValue))
        #expect(datagrams.bind(offered.port) == 0)
        let elsewhere = Socket(CInt(SOCK_STREAM.rawValue))
        #expect(elsewhere.bind(offered.port, host: "127.0.0.2") == 0)
        let anyPort = Socket(CInt(SOCK_STREAM.rawValue))
        #expect(anyPort.bind(0) == 0)
        for own in [datagrams, elsewhere, anyPort] { #expect(!own.listens) }
    }

    @Test func `All addresses of the host are one place for both families`() throws {
        let offered = Socket(CInt(SOCK_STREAM.rawValue), AF_INET6)
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        let size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.bind(offered.descriptor, $0, size) }
        }
        try #require(result == 0 && listen(offered.descriptor, 16) == 0)
        #expect(hf_listeners_offer(offered.descriptor, false) == 0)
        defer { hf_listeners_withdraw(offered.descriptor) }
        let own = Socket(CInt(SOCK_STREAM.rawValue))
        #expect(own.bind(try #require(offered.port), host: "0.0.0.0") == 0)
        #expect(own.listens)
    }

    @Test func `A Unix socket whose file was removed is not given away: nobody would reach it`() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/s"
        let offered = Socket(CInt(SOCK_STREAM.rawValue), AF_UNIX)
        try #require(offered.bind(path: path) == 0 && listen(offered.descriptor, 16) == 0)
        #expect(hf_listeners_offer(offered.descriptor, false) == 0)
        defer { hf_listeners_withdraw(offered.descriptor) }
        let own = Socket(CInt(SOCK_STREAM.rawValue), AF_UNIX)
        #expect(own.bind(path: path) == 0)
        #expect(own.listens)
        unlink(path)
        let new = Socket(CInt(SOCK_STREAM.rawValue), AF_UNIX)
        #expect(new.bind(path: path) == 0)
        #expect(!new.listens)
    }

    @Test func `What does not listen is not offered`() throws {
        let own = Socket(CInt(SOCK_STREAM.rawValue))
        #expect(hf_listeners_offer(own.descriptor, false) == EINVAL)
        #expect(hf_listeners_offer(-1, false) == EBADF)
        #expect(!hf_listeners_withdraw(own.descriptor))
        let offered = try Listening()
        let room = Int(HF_LISTENERS_MOST)
        for _ in 0..<room { #expect(hf_listeners_offer(offered.descriptor, false) == 0) }
        #expect(hf_listeners_offer(offered.descriptor, false) == ENOSPC)
        #expect(hf_listeners_withdraw(offered.descriptor))
        #expect(!hf_listeners_withdraw(offered.descriptor))
    }

    @Test(arguments: [false, true])
    func `The connections of a thread are those of the loop for which it alone waits`(isShared: Bool) throws {
        let listening = try Listening()
        let client = try #require(Socket.connected(to: listening.port))
        let accepted = Socket(owning: accept(listening.descriptor, nil, nil))
        let epoll = Socket(owning: epoll_create1(0))
        var event = epoll_event(events: 0, data: epoll_data(u64: 1))
        for one in [accepted, listening.socket] {
            #expect(epoll_ctl(epoll.descriptor, EPOLL_CTL_ADD, one.descriptor, &event) == 0)
        }
        // Threads that end leave their numbers to others.
        let threads = try (0..<(isShared ? 2 : 1)).map { _ in try EpollThread(epoll.descriptor) }
        defer { for thread in threads { thread.end() } }
        #expect(hf_epoll_end_connections(threads[0].number) == (isShared ? 0 : 1))
        #expect(hf_epoll_end_connections(threads[0].number + 1_000_000) == 0)
        if !isShared { #expect(client.line() == nil) }
        #expect(listening.socket.listens)
    }

    // MARK: Restarts in place

    private static func start(_ place: String, _ environment: [String: String] = [:]) throws -> ChildProcess {
        let store = try StoreReader()
        let process = try ChildProcess(
            BuiltProduct.path(of: "async-server"),
            [place, store.path],
            environment: environment
        )
        return process
    }

    /// What the server says next of itself: "up", after "began".
    private static func awaitServer(_ process: ChildProcess) throws {
        #expect(try process.output.next() == "began \(process.pid)")
        #expect(try process.output.next() == "up \(process.pid)")
    }

    @Test(arguments: ["tcp", "unix"])
    func `What a server with an async main has opened stays open across restarts in place`(kind: String) throws {
        let folder = try TemporaryFolder()
        let port = try Listening().port
        let place = kind == "tcp" ? "tcp:\(port)" : "unix:\(folder.path)/s"
        let process = try Self.start(place)
        try Self.awaitServer(process)
        for _ in 0..<3 {
            #expect(Self.ask(place, "who") == "\(process.pid)")
            let early = try #require(Self.connected(place))
            early.send("fault\n")
            // Nobody is refused meanwhile: whoever comes is in the backlog.
            for _ in 0..<100 { try #require(Self.connected(place) != nil, "refused: \(errno)") }
            try Self.awaitServer(process)
        }
        #expect(Self.ask(place, "who") == "\(process.pid)")
        kill(process.pid, SIGKILL)
        _ = try process.wait()
    }

    @Test(arguments: ["fault", "restart"])
    func `No connection is open in the next process that the one before has accepted on its way out`(
        kind: String
    ) throws {
        let port = try Listening().port
        let process = try Self.start("tcp:\(port)", ["ACCEPTORS": "2"])
        try Self.awaitServer(process)
        for _ in 0..<20 {
            #expect(Self.ask("tcp:\(port)", "who") == "\(process.pid)")
            let order = try #require(Self.connected("tcp:\(port)"))
            order.send("\(kind)\n")
            // Some of them are accepted while the process is replaced; fewer than the backlog has room for.
            let clients = try (0..<100).map { _ in
                let client = try #require(Self.connected("tcp:\(port)"))
                client.send("who\n")
                return client
            }
            try Self.awaitServer(process)
            // Whoever was accepted by the process before is told that it is gone, and whoever was not is answered.
            let open = clients.count { !$0.isAnswered }
            try #require(open == 0, "\(open) connections are open, and nobody serves them")
        }
        kill(process.pid, SIGKILL)
        _ = try process.wait()
    }

    @Test func `A socket that the next process has no use for is closed when it is ready`() throws {
        let ports = [try Listening().port, try Listening().port]
        let process = try Self.start("tcp:\(ports[0])", ["SECOND": "tcp:\(ports[1])"])
        try Self.awaitServer(process)
        _ = Self.ask("tcp:\(ports[0])", "fault")
        try Self.awaitServer(process)
        #expect(Self.ask("tcp:\(ports[1])", "who") == "\(process.pid)")
        let deadline = Deadline()
        while Self.connected("tcp:\(ports[0])") != nil { try #require(!deadline.hasPassed) }
        #expect(process.errors.contains("nobody listens there any more"))
        kill(process.pid, SIGKILL)
        _ = try process.wait()
    }

    @Test func `A socket that the server has closed is not kept`() throws {
        let place = "tcp:\(try Listening().port)"
        let process = try Self.start(place)
        try Self.awaitServer(process)
        let last = try #require(Self.connected(place))
        last.send("close\n")
        #expect(last.line() == "\(process.pid)")
        #expect(Self.connected(place) == nil)
        kill(process.pid, SIGKILL)
        _ = try process.wait()
    }

    @Test func `The clients of an event loop that has faulted are told at once, before the process has drained`() throws
    {
        let place = "tcp:\(try Listening().port)"
        let process = try Self.start(place, ["HOLD": "1"])
        try Self.awaitServer(process)
        let clients = try (0..<10).map { _ in
            let client = try #require(Self.connected(place))
            client.send("keep\n")
            #expect(client.line() == "kept")
            return client
        }
        let last = try #require(Self.connected(place))
        last.send("fault\n")
        // It drains for as long as it lives.
        for client in clients { #expect(client.line() == nil) }
        let deadline = Deadline()
        while !process.errors.contains("count=10") { try #require(!deadline.hasPassed, "\(process.errors)") }
        #expect(kill(process.pid, 0) == 0)
        kill(process.pid, SIGKILL)
        _ = try process.wait()
    }

    // MARK: Clients

    /// A connection to a place; nil if it was refused.
    private static func connected(_ place: String) -> Socket? {
        place.hasPrefix("unix:")
            ? Socket.connected(path: String(place.dropFirst(5)))
            : Socket.connected(to: UInt16(place.dropFirst(4)) ?? 0)
    }

    /// Sends a line to a place, and returns the answer; nil if the connection ended without one.
    private static func ask(_ place: String, _ line: String) -> String? {
        guard let client = connected(place) else { return nil }
        client.send(line + "\n")
        return client.line()
    }
}

/// A thread that has waited for events, and lives.
private final class EpollThread: @unchecked Sendable {
    private let isOver = DispatchSemaphore(value: 0)
    private let hasWaited = DispatchSemaphore(value: 0)
    private(set) var number: CInt = 0

    init(_ epoll: CInt) throws {
        let thread = Thread { [self] in
            var event = epoll_event()
            number = hf_thread_id()
            _ = epoll_wait(epoll, &event, 1, 0)
            hasWaited.signal()
            isOver.wait()
        }
        thread.start()
        hasWaited.wait()
    }

    func end() { isOver.signal() }
}

/// A socket that listens at a free port of 127.0.0.1.
private final class Listening {
    let socket = Socket(CInt(SOCK_STREAM.rawValue))
    let port: UInt16
    var descriptor: CInt { socket.descriptor }

    init() throws {
        guard socket.bind(0) == 0, listen(socket.descriptor, 16) == 0, let port = socket.port else {
            throw HarnessError("no free port: \(errno)")
        }
        self.port = port
    }
}

/// A descriptor that is closed with the object.
private final class Socket {
    let descriptor: CInt

    init(owning descriptor: CInt) { self.descriptor = descriptor }

    convenience init(_ type: CInt, _ family: CInt = AF_INET) { self.init(owning: socket(family, type, 0)) }

    deinit { close(descriptor) }

    var listens: Bool {
        var value: CInt = 0
        var size = socklen_t(MemoryLayout<CInt>.size)
        return getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) == 0 && value != 0
    }

    var port: UInt16? {
        var address = sockaddr_in6()
        var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        // The port is at the same place in both families.
        return result == 0 ? UInt16(bigEndian: address.sin6_port) : nil
    }

    func bind(_ port: UInt16, host: String = "127.0.0.1") -> CInt {
        withAddress(port, host) { Glibc.bind(descriptor, $0, $1) }
    }

    func bind(path: String) -> CInt { withAddress(path) { Glibc.bind(descriptor, $0, $1) } }

    static func connected(to port: UInt16) -> Socket? {
        let socket = Socket(CInt(SOCK_STREAM.rawValue))
        return socket.withAddress(port, "127.0.0.1") { connect(socket.descriptor, $0, $1) } == 0 ? socket : nil
    }

    static func connected(path: String) -> Socket? {
        let socket = Socket(CInt(SOCK_STREAM.rawValue), AF_UNIX)
        return socket.withAddress(path) { connect(socket.descriptor, $0, $1) } == 0 ? socket : nil
    }

    func send(_ text: String) { _ = Glibc.send(descriptor, text, text.utf8.count, CInt(MSG_NOSIGNAL)) }

    /// Whether something comes, or the end.
    var isAnswered: Bool {
        var place = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&place, 1, 30_000) == 1
    }

    func line() -> String? {
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = read(descriptor, &buffer, 64)
        return count > 0 ? String(decoding: buffer.prefix(count - 1), as: UTF8.self) : nil
    }

    private func withAddress(
        _ port: UInt16,
        _ host: String,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt
    ) -> CInt {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        inet_pton(AF_INET, host, &address.sin_addr)
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    private func withAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt) -> CInt {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
