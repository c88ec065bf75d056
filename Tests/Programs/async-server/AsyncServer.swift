import CLinuxShims
import Glibc
import Holdfast

/// A server with an async `main` that only opens its own sockets, in NIO's order: it watches them before it binds them.
///
/// Arguments: `tcp:PORT` or `unix:PATH`, and the store. In a process that has restarted, with SECOND, it listens there instead. With HOLD a
/// process that is to be replaced takes its time; with PATIENT it waits long for requests under way, and with HASTY not for the deadline of its
/// drain. With CLOSES it closes its socket when it is to accept no more. With BESIDE it says at its start whether another process serves.
@main struct AsyncServer {
    static func main() async throws {
        var configuration = EventHost.Configuration.keepServing
        configuration.store = CommandLine.arguments[2]
        // It faults as often as it is asked, and starts at once.
        configuration.advanced.earlyEnds = nil
        configuration.stallPolicy = StallPolicy(rule: .once(after: .milliseconds(20)))
        if getenv("HOLD") != nil || getenv("PATIENT") != nil || getenv("HASTY") != nil {
            configuration.advanced.drainDeadline = .seconds(1000)
        }
        if getenv("PATIENT") != nil {
            configuration.advanced.requestPatience.next = .seconds(100)
            configuration.advanced.requestPatience.nextAfterLoop = .seconds(100)
            configuration.advanced.requestPatience.writing = .milliseconds(200)
            configuration.advanced.requestPatience.inAll = .seconds(100)
            configuration.advanced.requestPatience.greatestAge = .seconds(100)
        }
        let host = try EventHost.start(configuration)
        if getenv("HOLD") != nil { host.onDrain { _ = $0.hold() } }
        let second = host.restarts > 0 ? getenv("SECOND").map { String(cString: $0) } : nil
        let place = second ?? CommandLine.arguments[1]
        // A loop of somebody else's, which is asked whether it answers.
        let loop = ServerLoop(at: place, acceptors: getenv("ACCEPTORS").flatMap { Int(String(cString: $0)) } ?? 0) {
            HostRunLoop.main.perform { @MainActor in host.restart() }
        }
        try host.watch(pinging: "server", every: .milliseconds(10)) { loop.perform($0) }
        // A signal that ends it when it serves, and not before, as that of many servers.
        signal(SIGUSR1, SIG_IGN)
        if getenv("BESIDE") != nil { print(EventHost.anotherProcessServes ? "beside another" : "alone") }
        print("began \(getpid())")
        fflush(nil)
        loop.start()
        while true { try await Task.sleep(for: .seconds(1000)) }
    }
}

/// A thread that serves one connection after the other.
final class ServerLoop: @unchecked Sendable {
    private let place: String
    private let epoll = epoll_create1(CInt(EPOLL_CLOEXEC))
    private let pings = eventfd(0, CInt(EFD_CLOEXEC) | CInt(EFD_NONBLOCK))
    private var lock = pthread_mutex_t()
    private var waiting: [@Sendable () -> Void] = []

    /// How many more threads accept connections.
    private let acceptors: Int
    private let restart: @Sendable () -> Void
    private var leavesNext = false

    init(at place: String, acceptors: Int, restart: @escaping @Sendable () -> Void) {
        self.place = place
        self.acceptors = acceptors
        self.restart = restart
    }

    func perform(_ body: @escaping @Sendable () -> Void) {
        pthread_mutex_lock(&lock)
        waiting.append(body)
        pthread_mutex_unlock(&lock)
        var one: UInt64 = 1
        _ = write(pings, &one, 8)
    }

    func start() { Thread.start { [self] in run() } }

    private func run() {
        let family = place.hasPrefix("unix:") ? AF_UNIX : AF_INET
        let type = CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let listener = socket(family, type, 0)
        var yes: CInt = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, 4)
        watch(listener, 0, EPOLL_CTL_ADD)
        watch(pings, EPOLLIN.rawValue, EPOLL_CTL_ADD)
        guard bind(listener) == 0, listen(listener, 128) == 0 else { fatalError("bind \(place): \(errno)") }
        watch(listener, EPOLLIN.rawValue, EPOLL_CTL_MOD)
        print("up \(getpid())")
        fflush(nil)
        signal(SIGUSR1) { _ in _exit(0) }
        // As servers do that are told to end gracefully.
        if getenv("CLOSES") != nil { EventHost.onRest { close(listener) } }
        EventHost.notifyReady()
        for _ in 0..<acceptors {
            Thread.start { [self] in
                while true {
                    var event = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
                    if poll(&event, 1, -1) == 1 { accept(listener) }
                }
            }
        }
        while true {
            var event = epoll_event()
            guard epoll_wait(epoll, &event, 1, -1) == 1 else { continue }
            switch event.data.fd {
            case pings: answerPings()
            case listener: accept(listener)
            default: close(event.data.fd)
            }
        }
    }

    private func watch(_ descriptor: CInt, _ events: UInt32, _ order: CInt) {
        var event = epoll_event(events: events, data: epoll_data(fd: descriptor))
        guard epoll_ctl(epoll, order, descriptor, &event) == 0 else { fatalError("epoll_ctl \(order): \(errno)") }
    }

    private func bind(_ listener: CInt) -> CInt {
        if place.hasPrefix("unix:") {
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: place.dropFirst(5).utf8) }
            return withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Glibc.bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = (UInt16(place.dropFirst(4)) ?? 0).bigEndian
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.bind(listener, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    private func answerPings() {
        var count: UInt64 = 0
        _ = read(pings, &count, 8)
        pthread_mutex_lock(&lock)
        let bodies = waiting
        waiting = []
        pthread_mutex_unlock(&lock)
        for body in bodies { body() }
    }

    private func accept(_ listener: CInt) {
        let client = Glibc.accept(listener, nil, nil)
        guard client >= 0 else { return }
        // As one that was accepted for another loop, which has not registered it yet.
        if leavesNext {
            leavesNext = false
            return
        }
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = read(client, &buffer, 64)
        let line = String(decoding: buffer.prefix(max(0, count - 1)), as: UTF8.self)
        switch line {
        // Outside of every boundary: it is not resumed.
        case "fault": precondition(line != "fault")
        case "kill": kill(getpid(), SIGKILL)
        case "close": close(listener)
        case "keep":
            watch(client, EPOLLIN.rawValue, EPOLL_CTL_ADD)
            return say("kept", to: client)
        case "restart": restart()
        case "task":
            return serveInTask(client) {
                while !EventHost.isBeingReplaced { try await Task.sleep(for: .milliseconds(1)) }
                // What it does takes a while: many times as long as an end that waits for nobody.
                try await Task.sleep(for: .milliseconds(50))
            }
        case "work": return serveInTask(client) { try await Task.sleep(for: .milliseconds(20)) }
        case "hang": return serveInTask(client) { try await Task.sleep(for: .seconds(1000)) }
        case "fault in a boundary": return serveInTask(client) { precondition(line.isEmpty) }
        // Outside of every boundary, and on no event loop.
        case "fault in a task": Task.detached { precondition(line.isEmpty) }
        case "fault in a task, then in the loop":
            Task.detached { precondition(line.isEmpty) }
            Task.detached { [self] in
                while !EventHost.isBeingReplaced { try await Task.sleep(for: .milliseconds(1)) }
                perform { precondition(line.isEmpty) }
            }
        case "leave next": leavesNext = true
        default: break
        }
        say("\(getpid())", to: client)
        close(client)
    }
}

/// Answers a client when a fault boundary has ended.
private func serveInTask(_ client: CInt, _ body: @escaping @Sendable () async throws -> Void) {
    Task.detached {
        try await withFaultBoundary("task") {
            say("begun", to: client)
            try await body()
        }
        // Written outside of it, as servers do.
        say("\(getpid())", to: client)
        close(client)
    }
}

private func say(_ word: String, to client: CInt) {
    let line = Array("\(word)\n".utf8)
    _ = write(client, line, line.count)
}

/// A thread of its own.
enum Thread {
    private final class Body {
        let body: () -> Void

        init(_ body: @escaping () -> Void) { self.body = body }
    }

    static func start(_ body: @escaping () -> Void) {
        var thread = pthread_t()
        pthread_create(
            &thread,
            nil,
            { argument in
                if let argument { Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().body() }
                return nil
            },
            Unmanaged.passRetained(Body(body)).toOpaque()
        )
    }
}
