import Glibc
import RunLoops
import Testing

/// A thread that is told to end while it waits for an answer.
@Suite("Requests of a thread that ends", .timeLimit(.minutes(10)))
struct EndingRequestTests {
    typealias Message = HostRunLoop.Message
    typealias MessageError = HostRunLoop.MessageError
    typealias MessagePort = HostRunLoop.MessagePort

    /// What a request came to, and how many passes the loop made meanwhile.
    private struct Outcome: Sendable {
        var answer: Result<UInt32, MessageError>
        var passes: UInt64
    }

    /// Has a thread send a request, and calls `body` on it while it waits for the answer.
    ///
    /// - Parameter body: Called with the thread, and the right to answer.
    /// - Returns: What the request came to, and how the thread ended.
    /// - Throws: What making the threads and the port throws.
    private func request(
        _ body: @escaping @Sendable (HostRunLoop.LoopThread, HostRunLoop.SendRight) -> Void
    ) throws -> (outcome: Outcome?, end: HostRunLoop.RunResult?) {
        let reply = Cell<HostRunLoop.SendRight?>(nil)
        let server = try HostRunLoop.LoopThread(name: "server")
        let port = try MessagePort(label: "server") { reply.value = $0.replyPort }
        try server.loop.add(port)
        let outcome = Cell<Outcome?>(nil)
        let client = try HostRunLoop.LoopThread(name: "client")
        let right = port.sendRight
        client.loop.perform {
            let passes = HostRunLoop.current.passCount
            let answer = Result { () throws(MessageError) in
                try right.request(Message(type: 1), replyWithin: .seconds(5000)).type
            }
            outcome.value = Outcome(answer: answer, passes: HostRunLoop.current.passCount - passes)
        }
        while reply.value == nil { sched_yield() }
        while client.loop.currentMode != .messageReply || !client.loop.isWaiting { sched_yield() }
        client.loop.perform(in: .messageReply) {
            guard let right = reply.value else { return }
            body(client, right)
        }
        let end = client.join(within: .seconds(60))
        server.stop()
        return (outcome.value, end)
    }

    @Test("It ends soon, and not at the request's limit, with an error that says why, and does not spin")
    func noAnswer() throws {
        let (outcome, end) = try request { thread, _ in thread.stop() }
        #expect(end == .stopped)
        let seen = try #require(outcome)
        #expect(seen.answer == .failure(MessageError(code: .threadEnding)))
        #expect(seen.passes < 50, "\(seen.passes)")
    }

    @Test("An answer that comes after the thread was told to end is received")
    func lateAnswer() throws {
        let (outcome, end) = try request { thread, right in
            thread.stop()
            try? right.send(Message(type: 42), within: .zero)
        }
        #expect(end == .stopped)
        #expect(outcome?.answer == .success(42))
    }

    @Test("So is the answer to a request that the thread begins on its way out")
    func onTheWayOut() throws {
        let types = Cell<[UInt32]>([])
        // Served by the same thread, while it waits: what there is to do is there.
        let port = try MessagePort(label: "server") { try? $0.replyPort?.send(Message(type: 7), within: .zero) }
        let client = try HostRunLoop.LoopThread(name: "client")
        try client.loop.add(port, to: .messageReply)
        let right = port.sendRight
        client.loop.perform {
            client.stop()
            for _ in 0..<2 {
                guard let answer = try? right.request(Message(type: 1), replyWithin: .seconds(5000)) else { return }
                types.value.append(answer.type)
            }
        }
        #expect(client.join(within: .seconds(60)) == .stopped)
        #expect(types.value == [7, 7])
    }
}
