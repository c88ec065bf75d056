import RecoveryTestSupport
import RunLoops
import SystemPackage
import Testing

@Suite("Message ports within the process", .timeLimit(.minutes(10)))
struct MessagePortTests {
    typealias Message = HostRunLoop.Message
    typealias MessageError = HostRunLoop.MessageError
    typealias MessagePort = HostRunLoop.MessagePort

    /// Adds a port that traces the types of its messages.
    private static func port(_ trace: Trace, capacity: Int = 64, in loop: HostRunLoop) throws -> MessagePort {
        let port = try MessagePort(label: "p", capacity: capacity) { trace.add("\($0.type)") }
        try loop.add(port)
        return port
    }

    @Test("One message arrives with its type, payload, descriptors and reply port")
    func oneMessage() throws {
        let received = try onNewThread { loop in
            let received = Cell<Message?>(nil)
            let port = try MessagePort(label: "p") { received.value = $0 }
            try loop.add(port)
            let pipe = TestPipe()
            let descriptor = try Message.Descriptor(duplicating: FileDescriptor(rawValue: pipe.readEnd))
            try port.sendRight.send(
                Message(type: 7, payload: [1, 2, 3], descriptors: [descriptor], replyPort: port.sendRight),
                within: .zero
            )
            #expect(received.value == nil)
            #expect(loop.run(in: .default, for: .seconds(10), returnAfterSourceHandled: true) == .handledSource)
            #expect(received.value?.descriptors.first === descriptor)
            #expect(received.value?.replyPort == port.sendRight)
            return received.value
        }
        #expect(received?.type == 7)
        #expect(received?.payload == [1, 2, 3])
        #expect(received?.sender == nil)
    }

    @Test("Several messages arrive in order, one for each pass")
    func onePerPass() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let port = try Self.port(trace, in: loop)
            for type in 1...3 {
                try port.sendRight.send(Message(type: UInt32(type)), within: .zero)
            }
            for _ in 1...4 {
                trace.add("\(loop.run(in: .default, for: .zero, returnAfterSourceHandled: true))")
            }
            return trace.entries
        }
        #expect(entries == ["1", "handledSource", "2", "handledSource", "3", "handledSource", "timedOut"])
    }

    @Test("Rights to the same port are equal, those to different ports are not")
    func uniqueRights() throws {
        let ports = try (0..<2).map { _ in try MessagePort(label: "p") { _ in } }
        let rights = ports.map(\.sendRight) + ports.map(\.sendRight)
        #expect(Set(rights).count == 2)
        #expect(rights[0] == rights[2])
        #expect(rights[0] != rights[1])
    }

    @Test("Two threads answer each other 10,000 times")
    func pingPong() throws {
        let rounds: UInt32 = 10_000
        let server = NewThread { loop in
            let port = try MessagePort(label: "server") { message in
                try? message.replyPort?.send(Message(type: message.type + 1), within: .seconds(50))
                if message.type == rounds { loop.stop() }
            }
            try loop.add(port)
            Self.rights.value.append(port.sendRight)
            loop.run(in: .default, for: .seconds(1_000_000))
        }
        while Self.rights.value.isEmpty { waitUntilAsleep(server.loop) }
        let right = Self.rights.value[0]
        let answers = try onNewThread { loop in
            let answers = Cell<UInt32>(0)
            let own = Cell<HostRunLoop.SendRight?>(nil)
            let port = try MessagePort(label: "client") { message in
                answers.value += 1
                guard message.type <= rounds else { return loop.stop() }
                try? right.send(Message(type: message.type, replyPort: own.value), within: .seconds(50))
            }
            own.value = port.sendRight
            try loop.add(port)
            try right.send(Message(type: 1, replyPort: port.sendRight), within: .zero)
            loop.run(in: .default, for: .seconds(1_000_000))
            return answers.value
        }
        try server.join()
        #expect(answers == rounds)
    }
    private static let rights = Cell<[HostRunLoop.SendRight]>([])

    @Test("A full port makes its sender wait until the limit, also on its own thread, and not longer than for room")
    func fullPort() throws {
        let trace = Trace()
        let thread = NewThread { loop in
            let port = try Self.port(trace, capacity: 2, in: loop)
            let right = port.sendRight
            for type: UInt32 in 1...2 { try right.send(Message(type: type), within: .zero) }
            #expect(throws: MessageError(code: .timedOut)) { try right.send(Message(type: 3), within: .zero) }
            let limit = HostRunLoop.Instant.now.advanced(by: .milliseconds(20))
            #expect(throws: MessageError(code: .timedOut)) { try right.send(Message(type: 4), before: limit) }
            #expect(HostRunLoop.Instant.now >= limit)
            // Comes behind the two as soon as there is room.
            let sender = NewThread { _ in try right.send(Message(type: 5), within: .seconds(50)) }
            while trace.count("5") == 0 { loop.run(in: .default, for: .seconds(1), returnAfterSourceHandled: true) }
            try sender.join()
        }
        try thread.join()
        #expect(trace.entries == ["1", "2", "5"])
    }

    @Test("Eight senders that wait for room all get their turn, each in its order")
    func manySenders() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let port = try Self.port(trace, capacity: 1, in: loop)
            let right = port.sendRight
            let senders = (0..<8).map { number in
                NewThread { _ in
                    for step in 0..<100 {
                        try right.send(Message(type: UInt32(number * 1000 + step)), before: .distantFuture)
                    }
                }
            }
            while trace.entries.count < 800 {
                loop.run(in: .default, for: .seconds(10), returnAfterSourceHandled: true)
            }
            for sender in senders { try sender.join() }
            return trace.entries.compactMap(Int.init)
        }
        for number in 0..<8 {
            #expect(entries.filter { $0 / 1000 == number } == (0..<100).map { number * 1000 + $0 })
        }
    }

    @Test("An invalidated port refuses messages, drops those that wait, ends the waits of senders, and says so once")
    func invalidated() throws {
        let trace = Trace()
        let port = try MessagePort(label: "p", capacity: 1, onInvalidate: { trace.add("gone") }, handler: { _ in })
        let right = port.sendRight
        let pipe = TestPipe()
        let end = try Message.Descriptor(duplicating: FileDescriptor(rawValue: pipe.writeEnd)).duplicate()
        try right.send(Message(type: 1, descriptors: [.init(takingOver: end)]), within: .zero)
        let sender = NewThread { _ in
            trace.add("sending")
            #expect(throws: MessageError(code: .portInvalid)) {
                try right.send(Message(type: 2), before: .distantFuture)
            }
        }
        while trace.entries.isEmpty { _ = sender.loop }
        port.invalidate()
        port.invalidate()
        try sender.join()
        #expect(trace.entries == ["sending", "gone"])
        #expect(!port.isValid)
        #expect(!right.isValid)
        #expect(throws: MessageError(code: .portInvalid)) { try right.send(Message(type: 3), within: .zero) }
    }

    @Test("A port in two modes is served in both, keeps them alive, and leaves them when it is invalid")
    func modes() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let port = try Self.port(trace, in: loop)
            try loop.add(port, to: "other")
            for mode: HostRunLoop.Mode in [.default, "other"] {
                try port.sendRight.send(Message(type: 1), within: .zero)
                trace.add("\(loop.run(in: mode, for: .seconds(10), returnAfterSourceHandled: true))")
            }
            loop.remove(port, from: .default)
            trace.add("\(loop.isEmpty(.default)) \(loop.contains(port)) \(loop.contains(port, in: "other"))")
            port.invalidate()
            trace.add("\(loop.isEmpty("other")) \(loop.run(in: "other", for: .seconds(10)))")
            try loop.add(port, to: "third")
            trace.add("\(loop.contains(port, in: "third"))")
            return trace.entries
        }
        #expect(
            entries == ["1", "handledSource", "1", "handledSource", "true false true", "true finished", "false"]
        )
    }

    @Test("A port in the common modes is served in all of them")
    func commonModes() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let port = try MessagePort(label: "p") { trace.add("\($0.type)") }
            try loop.add(port, to: .common)
            loop.addCommonMode("tracking")
            try port.sendRight.send(Message(type: 1), within: .zero)
            loop.run(in: "tracking", for: .zero)
            loop.remove(port, from: .common)
            trace.add("\(loop.contains(port, in: .common)) \(loop.isEmpty("tracking"))")
            return trace.entries
        }
        #expect(entries == ["1", "false true"])
    }

    @Test("A run inside the handler delivers the messages behind")
    func nestedRun() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let port = try MessagePort(label: "p") { message in
                trace.add("begin \(message.type)")
                if message.type == 1 { loop.run(in: .default, for: .zero) }
                trace.add("end \(message.type)")
            }
            try loop.add(port)
            for type: UInt32 in 1...3 { try port.sendRight.send(Message(type: type), within: .zero) }
            for _ in 1...3 { loop.run(in: .default, for: .zero) }
            return trace.entries
        }
        #expect(entries == ["begin 1", "begin 2", "end 2", "end 1", "begin 3", "end 3"])
    }

    @Test("A handler that faults costs only its message")
    func abandoned() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let port = try MessagePort(label: "p") { message in
                trace.add("\(message.type)")
                if message.type == 1 { hf_test_abandon_callout() }
            }
            try loop.add(port)
            for type: UInt32 in 1...2 { try port.sendRight.send(Message(type: type), within: .zero) }
            for _ in 1...3 { trace.add("\(loop.run(in: .default, for: .zero, returnAfterSourceHandled: true))") }
            return trace.entries
        }
        #expect(entries == ["1", "handledSource", "2", "handledSource", "timedOut"])
    }

    @Test("What no port could take is refused")
    func tooMuch() throws {
        let port = try MessagePort(label: "p") { _ in }
        let large = Message(type: 1, payload: [UInt8](repeating: 0, count: Message.payloadLimit + 1))
        #expect(throws: MessageError(code: .tooLarge)) { try port.sendRight.send(large, within: .zero) }
        let descriptor = try Message.Descriptor(duplicating: .standardInput)
        let many = Message(
            type: 1,
            descriptors: [Message.Descriptor](repeating: descriptor, count: Message.descriptorLimit + 1)
        )
        #expect(throws: MessageError(code: .tooManyDescriptors)) { try port.sendRight.send(many, within: .zero) }
    }

    @Test("The loop keeps a port alive; one that is in no loop goes with its last reference")
    func lifetime() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            func right(in mode: HostRunLoop.Mode?) throws -> HostRunLoop.SendRight {
                let port = try MessagePort(label: "p") { trace.add("\($0.type)") }
                if let mode { try loop.add(port, to: mode) }
                return port.sendRight
            }
            let kept = try right(in: .default)
            try kept.send(Message(type: 1), within: .zero)
            loop.run(in: .default, for: .zero)
            let dropped = try right(in: nil)
            trace.add("\(kept.isValid) \(dropped.isValid)")
            return trace.entries
        }
        #expect(entries == ["1", "true false"])
    }

    @Test("A message for a port whose loop is asleep wakes it")
    func wakes() throws {
        let trace = Trace()
        let ports = Cell<[MessagePort]>([])
        let thread = NewThread { loop in
            ports.value.append(try Self.port(trace, in: loop))
            return loop.run(in: .default, for: .seconds(50), returnAfterSourceHandled: true)
        }
        while ports.value.isEmpty {}
        waitUntilAsleep(thread.loop)
        try ports.value[0].sendRight.send(Message(type: 1), within: .zero)
        #expect(try thread.join() == .handledSource)
        #expect(trace.entries == ["1"])
    }

    private struct Temperature: HostRunLoop.MessageConvertible, Equatable {
        static let messageType: UInt32 = 42
        var degrees: UInt8

        init(degrees: UInt8) { self.degrees = degrees }
        init?(messageContent message: Message) {
            guard message.payload.count == 1 else { return nil }
            degrees = message.payload[0]
        }
        var messagePayload: [UInt8] { [degrees] }
    }

    @Test("A value travels as a message, and only a message of its type makes one")
    func values() {
        let message = Message(Temperature(degrees: 21))
        #expect(message.type == 42)
        #expect(message.value(as: Temperature.self) == Temperature(degrees: 21))
        #expect(Message(type: 43, payload: [21]).value(as: Temperature.self) == nil)
        #expect(Message(type: 42, payload: []).value(as: Temperature.self) == nil)
    }
}
