import Glibc
import LinuxSystem
import RunLoops
import Synchronization
import SystemPackage
import Testing

/// What libuv asserts of descriptors that it polls (test-poll*.c, test-watcher-cross-stop.c), and what NIO's selector tests
/// assert of events that were harvested for a descriptor that is not registered any more.
///
/// Elsewhere: `poll_bad_fdtype` with a regular file in `PortSourceTests`.
@Suite("libuv's tests: descriptors", .timeLimit(.minutes(10)))
struct LibuvPollTests {
    typealias PortSource = HostRunLoop.PortSource

    /// Two connected sockets that do not block, and what came out of them.
    private final class Connection: Sendable {
        let ends: [CInt]
        let sent = Cell([0, 0])
        let received = Cell([0, 0])

        init() throws {
            var ends: [CInt] = [-1, -1]
            let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
            guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw Errno(rawValue: errno) }
            self.ends = ends
        }

        deinit {
            for end in ends { close(end) }
        }

        /// Adds a source for an end that sends some bytes and then closes its direction, and reads to the end of the other.
        func add(_ side: Int, sending count: Int, to loop: HostRunLoop) throws {
            let own = Cell<PortSource?>(nil)
            let source = PortSource(
                label: "\(side)",
                descriptor: FileDescriptor(rawValue: ends[side]),
                interest: [.readable, .writable]
            ) { [self] _, readiness in
                if readiness.contains(.writable) { send(side, upTo: count, own.value) }
                if readiness.contains(.readable), receive(side) { own.value?.interest.remove(.readable) }
                if own.value?.interest.isEmpty == true {
                    own.value?.invalidate()
                    own.value = nil
                }
            }
            own.value = source
            try loop.add(source)
        }

        private func send(_ side: Int, upTo count: Int, _ source: PortSource?) {
            let rest = min(1000, count - sent.value[side])
            if rest > 0 {
                let written = write(ends[side], Array(repeating: UInt8(side), count: rest), rest)
                if written > 0 { sent.value[side] += written }
            } else {
                shutdown(ends[side], CInt(SHUT_WR))
                source?.interest.remove(.writable)
            }
        }

        /// Reads once and says whether that was the end.
        private func receive(_ side: Int) -> Bool {
            var bytes = [UInt8](repeating: 0, count: 700)
            let count = read(ends[side], &bytes, bytes.count)
            if count > 0 { received.value[side] += count }
            return count == 0
        }
    }

    @Test(
        "poll_duplex, poll_unidirectional: both ends of many sockets read and write to the end",
        arguments: [20_000, 0]
    )
    func duplex(_ back: Int) throws {
        let (received, result) = try onNewThread { loop in
            let connections = try (0..<5).map { _ in try Connection() }
            for connection in connections {
                try connection.add(0, sending: 30_000, to: loop)
                try connection.add(1, sending: back, to: loop)
            }
            let result = loop.run(in: .default, for: .seconds(50))
            return (connections.map { $0.received.value }, result)
        }
        #expect(received == Array(repeating: [back, 30_000], count: 5))
        #expect(result == .finished)
    }

    @Test("poll_close: sources that are invalidated before the run are not called")
    func closed() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let pipes = (0..<64).map { _ in TestPipe() }
            let sources = pipes.map { pipe in
                pipe.fill()
                return pipe.portSource("p") { _ in trace.add("port") }
            }
            for source in sources { try loop.add(source) }
            for source in sources { source.invalidate() }
            trace.add("\(loop.run(in: .default, for: .seconds(50)))")
            return trace.entries
        }
        #expect(entries == ["finished"])
    }

    @Test("poll_bad_fdtype: a directory cannot be polled either")
    func badType() throws {
        try onNewThread { loop in
            let directory = open("/", O_RDONLY | O_DIRECTORY)
            defer { close(directory) }
            do throws(RunLoopError) {
                try loop.add(PortSource(label: "p", descriptor: FileDescriptor(rawValue: directory)) { _, _ in })
                Issue.record("a directory was added")
            } catch {
                #expect(error.code == .descriptorNotPollable)
            }
            #expect(loop.isEmpty(.default))
        }
    }

    @Test("poll_multiple_handles: one descriptor has one source in a mode, and others in other modes and loops")
    func multipleHandles() throws {
        let trace = Trace()
        let pipe = TestPipe()
        pipe.fill()
        for _ in 0..<2 {
            try onNewThread { loop in
                for mode: HostRunLoop.Mode in [.default, "other"] {
                    try loop.add(pipe.portSource("p") { _ in trace.add(mode.rawValue) }, to: mode)
                }
                loop.run(in: .default, for: .zero)
                loop.run(in: "other", for: .zero)
            }
        }
        let both = [HostRunLoop.Mode.default.rawValue, "other"]
        #expect(trace.entries == both + both)
    }

    @Test("poll_oob: urgent data is a readiness of its own")
    func urgentData() throws {
        let seen = try onNewThread { loop in
            let (client, server) = try tcpConnection()
            defer { for end in [client, server] { close(end) } }
            let seen = Cell<[PortSource.Readiness]>([])
            try loop.add(
                PortSource(label: "p", descriptor: FileDescriptor(rawValue: server), interest: .priority) {
                    _,
                    readiness in
                    seen.value.append(readiness)
                    loop.stop()
                }
            )
            precondition(send(client, "x", 1, CInt(MSG_OOB)) == 1)
            loop.run(in: .default, for: .seconds(50))
            return seen.value
        }
        #expect(seen == [.priority])
    }

    @Test("poll_close_doesnt_corrupt_stack: a callout may invalidate its own source and close the descriptor")
    func closeInCallout() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let own = Cell<PortSource?>(nil)
            let connection = Cell<Connection?>(try Connection())
            let end = connection.value?.ends[0] ?? -1
            own.value = PortSource(label: "p", descriptor: FileDescriptor(rawValue: end), interest: .writable) { _, _ in
                trace.add("port")
                own.value?.invalidate()
                own.value = nil
                connection.value = nil
                trace.add("closed")
            }
            if let source = own.value { try loop.add(source) }
            trace.add("\(loop.run(in: .default, for: .seconds(50)))")
            return trace.entries
        }
        #expect(entries == ["port", "closed", "finished"])
    }

    @Test("poll_nested_epoll: an epoll instance is a descriptor like others")
    func nestedEpoll() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let epoll = try Epoll()
            let pipe = TestPipe()
            try epoll.add(pipe.readEnd, events: .readable, token: 1)
            let source = PortSource(label: "p", descriptor: FileDescriptor(rawValue: epoll.rawValue)) { _, _ in
                trace.add("port")
                pipe.takeByte()
            }
            try loop.add(source)
            loop.run(in: .default, for: .zero)
            pipe.fill()
            trace.add("-")
            loop.run(in: .default, for: .seconds(50), returnAfterSourceHandled: true)
            loop.run(in: .default, for: .zero)
            source.invalidate()
            return trace.entries
        }
        #expect(entries == ["-", "port"])
    }

    @Test("watcher_cross_stop: of thousands of ready descriptors, the first callout invalidates all")
    func crossStop() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let pipe = TestPipe()
            pipe.fill()
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            // Other tests need descriptors too.
            let count = min(2500, Int(limit.rlim_cur) / 2)
            let copies = (0..<count).map { _ in dup(pipe.readEnd) }
            defer { for copy in copies { close(copy) } }
            let sources = Cell<[PortSource]>([])
            sources.value = copies.map { copy in
                PortSource(label: "p", descriptor: FileDescriptor(rawValue: copy)) { _, _ in
                    trace.add("port")
                    for source in sources.value { source.invalidate() }
                }
            }
            for source in sources.value { try loop.add(source) }
            trace.add("\(loop.run(in: .default, for: .seconds(50)))")
            sources.value = []
            return trace.entries
        }
        #expect(entries == ["port", "finished"])
    }

    @Test("NIO: an event of a descriptor that was closed and whose number was given away does not reach the new source")
    func staleEvent() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let pipes = (0..<2).map { _ in TestPipe() }
            // Without data: whoever calls its source had an event of somebody else.
            let silent = TestPipe()
            let copies = pipes.map { dup($0.readEnd) }
            defer { for copy in copies { close(copy) } }
            let sources = Cell<[PortSource]>([])
            sources.value = (0..<2).map { number in
                PortSource(label: "p", descriptor: FileDescriptor(rawValue: copies[number])) { _, _ in
                    trace.add("port")
                    // Both events were harvested together: the other one is old news from here on.
                    let other = 1 - number
                    for source in sources.value { source.invalidate() }
                    precondition(dup2(silent.readEnd, copies[other]) == copies[other])
                    do {
                        try loop.add(
                            PortSource(label: "new", descriptor: FileDescriptor(rawValue: copies[other])) { _, _ in
                                trace.add("new")
                            }
                        )
                    } catch {
                        trace.add("\(error)")
                    }
                }
            }
            for (number, source) in sources.value.enumerated() {
                pipes[number].fill()
                try loop.add(source)
            }
            for _ in 0..<5 { loop.run(in: .default, for: .zero) }
            trace.add("\(loop.run(in: .default, for: .milliseconds(2)))")
            sources.value = []
            return trace.entries
        }
        #expect(entries == ["port", "timedOut"])
    }

    /// Makes two TCP sockets that are connected over the loopback interface.
    private func tcpConnection() throws -> (client: CInt, server: CInt) {
        let (listener, client) = (
            socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0), socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        )
        defer { close(listener) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        return try withUnsafeMutablePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard
                    bind(listener, address, length) == 0, listen(listener, 1) == 0,
                    getsockname(listener, address, &length) == 0, connect(client, address, length) == 0
                else { throw Errno(rawValue: errno) }
                return (client, accept(listener, nil, nil))
            }
        }
    }
}
