import Glibc
import LinuxSystem
import RunLoops
import SystemPackage
import Testing

@Suite("Port sources", .timeLimit(.minutes(10)))
struct PortSourceTests {
    typealias PortSource = HostRunLoop.PortSource

    @Test("A descriptor that stays ready is served in every pass, and nothing is read from it")
    func levelTriggered() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let pipe = TestPipe()
            pipe.fill(2)
            try loop.add(
                pipe.portSource("p") { readiness in
                    trace.add("\(readiness == .readable)")
                    if trace.entries.count > 1 { pipe.takeByte() }
                }
            )
            for _ in 0..<5 {
                trace.add("\(loop.run(in: .default, for: .zero, returnAfterSourceHandled: true))")
            }
            return trace.entries
        }
        #expect(
            entries == [
                "true", "handledSource", "true", "handledSource", "true", "handledSource", "timedOut", "timedOut",
            ]
        )
    }

    @Test("Many peers share what listens and what takes datagrams from anybody; nobody else's sockets are shared")
    func peers() throws {
        func expect(_ peers: SocketPeers, _ descriptors: [CInt], _ comment: Comment) {
            #expect(SocketPeers.of(descriptors[0]) == peers, comment)
            for descriptor in descriptors { close(descriptor) }
        }
        func make(_ family: CInt, _ type: __socket_type) -> CInt { socket(family, CInt(type.rawValue), 0) }
        func pair(_ type: __socket_type) -> [CInt] {
            var ends: [CInt] = [-1, -1]
            #expect(socketpair(AF_UNIX, CInt(type.rawValue), 0, &ends) == 0)
            return ends
        }
        for type in [SOCK_STREAM, SOCK_SEQPACKET, SOCK_DGRAM] { expect(.one, pair(type), "\(type)") }
        let listener = make(AF_INET, SOCK_STREAM)
        #expect(listen(listener, 1) == 0)
        expect(.many, [listener], "listens")
        expect(.many, [make(AF_INET, SOCK_DGRAM)], "internet datagrams")
        expect(.many, [make(AF_UNIX, SOCK_DGRAM)], "datagrams")
        expect(.one, [make(AF_INET, SOCK_STREAM)], "about to connect")
        var ends: [CInt] = [-1, -1]
        #expect(pipe(&ends) == 0)
        expect(.notASocket, ends, "pipe")
        expect(.notASocket, [open("/dev/null", O_RDONLY)], "device")
        #expect(SocketPeers.of(-1) == .notASocket)
    }

    @Test("What is not a pollable descriptor is refused with a clear error")
    func unpollable() throws {
        let errors = try onNewThread { loop in
            let file = open("/proc/self/exe", O_RDONLY)
            defer { close(file) }
            let pipe = TestPipe()
            try loop.add(pipe.portSource("p") { _ in }, to: "a")
            var errors: [RunLoopError] = []
            for (descriptor, mode) in [(file, "b"), (-1, "c"), (pipe.readEnd, "a")] {
                let source = PortSource(label: "s", descriptor: FileDescriptor(rawValue: descriptor)) { _, _ in }
                do throws(RunLoopError) {
                    try loop.add(source, to: HostRunLoop.Mode(rawValue: mode))
                } catch {
                    errors.append(error)
                }
            }
            return errors + (loop.isEmpty("b") ? [] : errors)
        }
        #expect(errors.map(\.code) == [.descriptorNotPollable, .descriptorNotOpen, .descriptorInUse])
        #expect(errors.map(\.underlyingError) == [.notPermitted, .badFileDescriptor, .fileExists])
        #expect(
            errors.first.map {
                "\($0)".contains("the kernel waits for sockets, pipes and terminals, not for this kind of file")
            } == true
        )
    }

    @Test("The interest can change at any time, also from the callout")
    func interest() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let ends = try socketPair()
            defer { closeAll(ends) }
            let cell = Cell<PortSource?>(nil)
            let source = PortSource(label: "p", descriptor: FileDescriptor(rawValue: ends[0]), interest: []) {
                _,
                readiness in
                trace.add(readiness == .writable ? "write" : "\(readiness.rawValue)")
                cell.value?.interest = .readable
            }
            cell.value = source
            try loop.add(source)
            loop.run(in: .default, for: .zero)
            trace.add("-")
            source.interest = .writable
            loop.run(in: .default, for: .zero)
            loop.run(in: .default, for: .zero)
            trace.add("-")
            precondition(write(ends[1], "x", 1) == 1)
            loop.run(in: .default, for: .zero)
            cell.value = nil
            return trace.entries
        }
        #expect(entries == ["-", "write", "-", "1"])
    }

    @Test("Invalidating all in the first callout drops what was harvested for them")
    func purge() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let pipes = (0..<50).map { _ in TestPipe() }
            let sources = Cell<[PortSource]>([])
            for pipe in pipes {
                pipe.fill()
                let source = pipe.portSource("p") { _ in
                    trace.add("port")
                    for source in sources.value { source.invalidate() }
                }
                sources.value.append(source)
                try loop.add(source)
            }
            trace.add("\(loop.run(in: .default, for: .seconds(10)))")
            sources.value = []
            return trace.entries
        }
        #expect(entries == ["port", "finished"])
    }

    @Test("A descriptor number that was closed and given away belongs to the newer source")
    func reusedNumber() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let ends = try socketPair()
            let old = PortSource(label: "old", descriptor: FileDescriptor(rawValue: ends[0])) { _, _ in trace.add("old")
            }
            try loop.add(old)
            let pipe = TestPipe()
            // Closes the socket and takes its number in one step: other tests open descriptors meanwhile.
            precondition(dup2(pipe.readEnd, ends[0]) == ends[0])
            let new = PortSource(label: "new", descriptor: FileDescriptor(rawValue: ends[0])) { _, _ in trace.add("new")
            }
            try loop.add(new)
            old.invalidate()
            pipe.fill()
            loop.run(in: .default, for: .zero)
            new.invalidate()
            closeAll(ends)
            return trace.entries
        }
        #expect(entries == ["new"])
    }

    @Test("An end that is gone is reported, whatever the interest")
    func hangUp() throws {
        let readiness = try onNewThread { loop in
            let ends = try socketPair()
            defer { close(ends[0]) }
            let seen = Cell<PortSource.Readiness>([])
            try loop.add(PortSource(label: "p", descriptor: FileDescriptor(rawValue: ends[0])) { seen.value = $1 })
            close(ends[1])
            // Not at once: a child that another test starts may have the end until it executes its program.
            loop.run(in: .default, for: .seconds(20), returnAfterSourceHandled: true)
            return seen.value
        }
        #expect(readiness.isSuperset(of: [.readable, .peerClosed, .hangUp]))
    }

    @Test("A port that is added or becomes ready while the loop sleeps ends the sleep")
    func whileAsleep() throws {
        let trace = Trace()
        let pipe = TestPipe()
        let thread = NewThread { loop in
            loop.addIdleSource()
            return loop.run(in: .default, for: .seconds(50), returnAfterSourceHandled: true)
        }
        waitUntilAsleep(thread.loop)
        try thread.loop.add(pipe.portSource("p") { _ in trace.add("port") })
        pipe.fill()
        #expect(try thread.join() == .handledSource)
        #expect(trace.entries == ["port"])
    }

    @Test("Old news is checked: what another run emptied meanwhile is not reported")
    func staleBetweenRuns() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let pipes = (0..<2).map { _ in TestPipe() }
            for pipe in pipes {
                pipe.fill()
                try loop.add(
                    pipe.portSource("p") { _ in
                        // Empties both.
                        for pipe in pipes { pipe.takeByte() }
                        trace.add("port")
                    }
                )
            }
            for _ in 0..<3 { loop.run(in: .default, for: .zero) }
            return trace.entries
        }
        #expect(entries == ["port"])
    }

    private func closeAll(_ descriptors: [CInt]) {
        for descriptor in descriptors { close(descriptor) }
    }

    /// Makes two connected sockets.
    private func socketPair() throws -> [CInt] {
        var ends: [CInt] = [-1, -1]
        guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw Errno(rawValue: errno)
        }
        return ends
    }
}
