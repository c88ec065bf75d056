import RecoveryTestSupport
import RunLoops
import Testing

@Suite("Requests and answers", .timeLimit(.minutes(10)))
struct RequestTests {
    typealias Message = HostRunLoop.Message
    typealias MessageError = HostRunLoop.MessageError
    typealias MessagePort = HostRunLoop.MessagePort

    /// Runs `body` on a new thread while another one serves a port.
    @discardableResult
    private func withServer<Value: Sendable>(
        _ handler: @escaping @Sendable (Message) -> Void,
        _ body: @escaping @Sendable (HostRunLoop.SendRight, HostRunLoop, MessagePort) throws -> Value
    ) throws -> Value {
        let port = try MessagePort(label: "server", handler: handler)
        let server = NewThread { loop in
            try loop.add(port)
            loop.run()
        }
        waitUntilAsleep(server.loop)
        defer { port.invalidate() }
        return try onNewThread { loop in try body(port.sendRight, loop, port) }
    }

    private static let echo: @Sendable (Message) -> Void = { message in
        let answer = Message(type: message.type, payload: message.payload.reversed())
        try? message.replyPort?.send(answer, within: .seconds(9))
    }

    @Test("A request returns its answer, and nothing else of the thread's loop is served meanwhile")
    func request() throws {
        let entries = try withServer(Self.echo) { right, loop, _ in
            let trace = Trace()
            loop.performWithoutWaking { trace.add("block") }
            for type: UInt32 in 1...100 {
                let answer = try right.request(Message(type: type, payload: [1, 2]), replyWithin: .seconds(20))
                if answer.type != type || answer.payload != [2, 1] { trace.add("wrong answer") }
            }
            loop.run(in: .default, for: .zero)
            return trace.entries
        }
        #expect(entries == ["block"])
    }

    @Test("A request that is dropped, at once or with its port, ends in an error")
    func dropped() throws {
        let ignore: @Sendable (Message) -> Void = { _ in }
        try withServer(ignore) { right, _, _ in
            #expect(throws: MessageError(code: .noReply)) {
                try right.request(Message(type: 1), replyWithin: .seconds(50))
            }
        }
        try onNewThread { loop in
            let port = try MessagePort(label: "p") { _ in }
            loop.performWithoutWaking(in: .messageReply) { port.invalidate() }
            #expect(throws: MessageError(code: .noReply)) {
                try port.sendRight.request(Message(type: 1), replyWithin: .seconds(50))
            }
            #expect(throws: MessageError(code: .portInvalid)) {
                try port.sendRight.request(Message(type: 1), replyWithin: .seconds(50))
            }
        }
    }

    @Test("A request that nobody answers ends at its limit, never earlier; a late answer is refused")
    func timeout() throws {
        let kept = Cell<HostRunLoop.SendRight?>(nil)
        let keep: @Sendable (Message) -> Void = { kept.value = $0.replyPort }
        try withServer(keep) { right, _, _ in
            let end = HostRunLoop.Instant.now.advanced(by: .milliseconds(30))
            #expect(throws: MessageError(code: .timedOut)) {
                try right.request(Message(type: 1), replyWithin: .milliseconds(30))
            }
            #expect(HostRunLoop.Instant.now >= end)
            while kept.value == nil {}
            #expect(throws: MessageError(code: .portInvalid)) {
                try kept.value?.send(Message(type: 2), within: .zero)
            }
        }
    }

    @Test("An order to stop that comes during a request stops the run around it")
    func stop() throws {
        let result = try withServer(Self.echo) { right, loop, _ in
            loop.addIdleSource()
            loop.performWithoutWaking {
                loop.performWithoutWaking(in: .messageReply) { loop.stop() }
                let answer = try? right.request(Message(type: 5), replyWithin: .seconds(20))
                #expect(answer?.type == 5)
            }
            return loop.run(in: .default, for: .seconds(50))
        }
        #expect(result == .stopped)
    }

    @Test("The answer to a request without waiting comes to the loop, once")
    func asynchronous() throws {
        let entries = try withServer(Self.echo) { right, loop, _ in
            let trace = Trace()
            try right.request(Message(type: 3), replyWithin: .seconds(20)) { answer in
                trace.add((try? answer.get().type).map { "\($0)" } ?? "error")
            }
            trace.add("sent")
            while trace.entries.count < 2 { loop.run(in: .default, for: .seconds(20), returnAfterSourceHandled: true) }
            // Neither the port nor the timer of the request is left.
            trace.add("\(loop.isEmpty(.default))")
            return trace.entries
        }
        #expect(entries == ["sent", "3", "true"])
    }

    @Test("A request without waiting ends at its limit, or when it is dropped")
    func asynchronousErrors() throws {
        let kept = Cell<[HostRunLoop.SendRight]>([])
        let keepFirst: @Sendable (Message) -> Void = { message in
            if message.type == 1, let port = message.replyPort { kept.value.append(port) }
        }
        let codes = try withServer(keepFirst) { right, loop, port in
            let codes = Cell<[MessageError.Code]>([])
            for (type, limit) in [(1, 20), (2, 50_000)] {
                try right.request(Message(type: UInt32(type)), replyWithin: .milliseconds(limit)) { answer in
                    if case .failure(let error) = answer { codes.value.append(error.code) }
                }
            }
            let result = loop.run(in: .default, for: .seconds(50))
            #expect(result == .finished)
            port.invalidate()
            #expect(throws: MessageError(code: .portInvalid)) {
                try right.request(Message(type: 1), replyWithin: .seconds(1)) { _ in codes.value.append(.system) }
            }
            return codes.value
        }
        #expect(Set(codes) == [.timedOut, .noReply])
        #expect(codes.count == 2)
    }

    @Test("Two threads can ask each other from inside their handlers")
    func mutual() throws {
        let rounds = 50
        let askBack: @Sendable (Message) -> Void = { message in
            _ = try? message.replyPort?.request(Message(type: message.type), replyWithin: .seconds(20))
        }
        let sum = try withServer(askBack) { right, loop, _ in
            let answered = Cell(0)
            for round in 1...rounds {
                let port = try MessagePort(label: "back") { message in
                    answered.value += Int(message.type)
                    try? message.replyPort?.send(Message(type: 0), within: .seconds(20))
                }
                try loop.add(port, to: "back")
                try right.send(Message(type: UInt32(round), replyPort: port.sendRight), within: .seconds(20))
                loop.run(in: "back", for: .seconds(20), returnAfterSourceHandled: true)
                port.invalidate()
            }
            return answered.value
        }
        #expect(sum == rounds * (rounds + 1) / 2)
    }

    @Test("A handler that faults ends the request at once, whatever it still refers to")
    func faultInHandler() throws {
        let right = Cell<HostRunLoop.SendRight?>(nil)
        let fault: @Sendable (Message) -> Void = { message in
            let copy = message.replyPort
            right.value = copy
            withExtendedLifetime(copy) { if message.type != 3 { hf_test_abandon_callout() } }
            try? copy?.send(Message(type: 4), within: .zero)
        }
        try withServer(fault) { server, _, _ in
            for _ in 0..<2 {
                #expect(throws: MessageError(code: .noReply)) {
                    try server.request(Message(type: 1), replyWithin: .seconds(30))
                }
                // Whoever it was handed to cannot answer any more.
                #expect(throws: MessageError(code: .portInvalid)) {
                    try right.value?.send(Message(type: 2), within: .zero)
                }
            }
            // The next one is answered.
            let answer = try server.request(Message(type: 3), replyWithin: .seconds(30))
            #expect(answer.type == 4)
        }
    }

    @Test("An answer that was sent before the fault is received; a port of the sender's own is not closed")
    func faultAfterAnswer() throws {
        let fault: @Sendable (Message) -> Void = { message in
            try? message.replyPort?.send(Message(type: 4), within: .zero)
            hf_test_abandon_callout()
        }
        try withServer(fault) { server, loop, _ in
            let answer = try server.request(Message(type: 1), replyWithin: .seconds(30))
            #expect(answer.type == 4)
            let types = Cell<[UInt32]>([])
            let own = try MessagePort(label: "own") { types.value.append($0.type) }
            try loop.add(own)
            for _ in 0..<2 { try server.send(Message(type: 1, replyPort: own.sendRight), within: .seconds(30)) }
            while types.value.count < 2 { loop.run(in: .default, for: .seconds(30), returnAfterSourceHandled: true) }
            #expect(types.value == [4, 4])
            own.invalidate()
        }
    }
}
