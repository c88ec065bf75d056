import Glibc
import RunLoops
import SystemPackage
import TestSupport
import Testing

@Suite("Message ports between processes", .timeLimit(.minutes(10)))
struct MessageProcessTests {
    typealias Message = HostRunLoop.Message
    typealias MessageError = HostRunLoop.MessageError
    typealias MessagePort = HostRunLoop.MessagePort
    typealias SendRight = HostRunLoop.SendRight

    @Test("A child answers with the bytes and the descriptors that it got, and the kernel says who it is")
    func echo() throws {
        try onNewThread { loop in
            let probe = try ProbeProcess()
            let pipe = TestPipe()
            let descriptor = try Message.Descriptor(duplicating: FileDescriptor(rawValue: pipe.writeEnd))
            for size in [0, 3, 40_000, 5 << 20] {
                let payload = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7) }
                let answer = try probe.ask(1, payload, [descriptor])
                #expect(answer.payload == payload)
                #expect(answer.sender?.processID == probe.pid)
                #expect(answer.sender?.userID == getuid())
                // The same pipe under another number.
                let back = try #require(answer.descriptors.first)
                #expect(back.rawValue != descriptor.rawValue)
                #expect(write(back.rawValue, "x", 1) == 1)
                pipe.takeByte()
            }
        }
    }

    @Test("A child writes into the end of a pipe that it was sent")
    func pipeEnd() throws {
        try onNewThread { loop in
            let probe = try ProbeProcess()
            let pipe = TestPipe()
            try probe.ask(
                2,
                Array("hello".utf8),
                [Message.Descriptor(duplicating: FileDescriptor(rawValue: pipe.writeEnd))]
            )
            var bytes = [UInt8](repeating: 0, count: 16)
            #expect(read(pipe.readEnd, &bytes, 16) == 5)
            #expect(String(decoding: bytes[..<5], as: UTF8.self) == "hello")
        }
    }

    @Test("A child that listens at a path is found there, by two connections")
    func listening() throws {
        try onNewThread { loop in
            let folder = try TemporaryFolder()
            let probe = try ProbeProcess()
            try probe.ask(3, Array("\(folder.path)/port".utf8))
            let address = HostRunLoop.SocketAddress.path("\(folder.path)/port")
            for _ in 0..<2 {
                let right = try SendRight(connectingTo: address, within: .seconds(20))
                let answer = try right.request(Message(type: 1, payload: [5]), replyWithin: .seconds(20))
                #expect(answer.payload == [5])
                #expect(answer.sender?.processID == probe.pid)
            }
            #expect(throws: MessageError(code: .addressInUse, underlyingError: .addressInUse)) {
                try MessagePort(label: "p", endpoint: .listening(address)) { _ in }
            }
            // Killed, it leaves its file behind.
            #expect(throws: MessageError(code: .noReply)) { try probe.ask(4) }
            try MessagePort(label: "p", endpoint: .listening(address)) { _ in }.invalidate()
        }
    }

    @Test("Many answers to one reply port arrive in order, one for each pass")
    func manyAnswers() throws {
        let types = try onNewThread { loop in
            let probe = try ProbeProcess()
            let numbers = Cell<[UInt8]>([])
            let port = try MessagePort(label: "p") { numbers.value += $0.payload }
            try loop.add(port)
            try probe.right().send(Message(type: 6, payload: [200], replyPort: port.sendRight), within: .zero)
            while numbers.value.count < 200 {
                let count = numbers.value.count
                loop.run(in: .default, for: .seconds(20), returnAfterSourceHandled: true)
                #expect(numbers.value.count <= count + 1)
            }
            return numbers.value
        }
        #expect(types == Array(0..<200))
    }

    @Test("Two processes ask each other: the child's request comes to the port that was its reply port")
    func askBack() throws {
        try onNewThread { loop in
            let probe = try ProbeProcess()
            let trace = Trace()
            let port = try MessagePort(label: "p") { message in
                trace.add("\(message.type) \(message.payload)")
                try? message.replyPort?.send(Message(type: 0, payload: [8]), within: .zero)
            }
            try loop.add(port)
            try probe.right().send(Message(type: 9, payload: [7], replyPort: port.sendRight), within: .zero)
            while trace.entries.count < 2 { loop.run(in: .default, for: .seconds(20), returnAfterSourceHandled: true) }
            #expect(trace.entries == ["90 [7]", "91 [8]"])
        }
    }

    @Test("A peer that does not read makes the sender wait until its limit; then everything arrives")
    func stalled() throws {
        try onNewThread { loop in
            let probe = try ProbeProcess()
            // The child waits until the write end is closed.
            let ends = Cell(try Self.pipe())
            try probe.ask(5, [], [ends.value[0]])
            let right = try probe.right()
            var sent = 0
            while true {
                do throws(MessageError) {
                    try right.send(Message(type: 7, payload: [UInt8](repeating: 0, count: 1000)), within: .zero)
                    sent += 1
                } catch {
                    #expect(error == MessageError(code: .timedOut))
                    break
                }
            }
            #expect(sent > 10)
            let limit = HostRunLoop.Instant.now.advanced(by: .milliseconds(20))
            #expect(throws: MessageError(code: .timedOut)) { try right.send(Message(type: 7), before: limit) }
            #expect(HostRunLoop.Instant.now >= limit)
            // It reads again.
            ends.value = []
            let payload = [UInt8](repeating: 3, count: 1000)
            #expect(try probe.ask(1, payload).payload == payload)
        }
    }

    /// Makes a pipe of sockets: without other tests' children in it.
    private static func pipe() throws -> [Message.Descriptor] {
        var ends: [CInt] = [-1, -1]
        guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw Errno(rawValue: errno)
        }
        return ends.map { Message.Descriptor(takingOver: FileDescriptor(rawValue: $0)) }
    }

    @Test("A request ends in an error when the peer dies, now or later, or drops it")
    func peerDies() throws {
        try onNewThread { loop in
            let probe = try ProbeProcess()
            let trace = Trace()
            let port = try MessagePort(
                label: "p",
                endpoint: .connected(probe.socket),
                onInvalidate: { trace.add("gone") },
                handler: { _ in }
            )
            try loop.add(port, to: "connection")
            #expect(throws: MessageError(code: .noReply)) { try probe.ask(7) }
            // Keeps the reply port and lives on.
            try probe.right().request(Message(type: 8), replyWithin: .seconds(50)) { answer in
                if case .failure(let error) = answer { trace.add("\(error.code == .noReply)") }
            }
            #expect(throws: MessageError(code: .noReply)) { try probe.ask(4) }
            loop.run(in: .default, for: .seconds(20))
            #expect(trace.take() == ["true"])
            #expect(loop.run(in: "connection", for: .seconds(20)) == .finished)
            #expect(trace.entries == ["gone"])
            #expect(throws: MessageError.self) { try probe.ask(1) }
        }
    }

    @Test("Ports, rights and requests of every kind leave no descriptor behind when they are invalid")
    func noLeaks() throws {
        try onNewThread { loop in
            let probe = try ProbeProcess()
            // Once before: a mode of a loop has a descriptor, too, and lives as long as the loop.
            try probe.ask(11)
            let before = try probe.ask(10).payload
            try probe.ask(11)
            let after = try probe.ask(10).payload
            #expect(!before.isEmpty)
            #expect(String(decoding: before, as: UTF8.self) == String(decoding: after, as: UTF8.self))
        }
    }
}
