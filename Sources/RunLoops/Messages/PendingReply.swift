import Synchronization

/// A request that was sent, and the port that its answer comes to.
///
/// The port refers to it weakly: whoever waits keeps it.
final class PendingReply: @unchecked Sendable {
    typealias Answer = HostRunLoop.SendRight.Answer
    typealias MessageError = HostRunLoop.MessageError

    private let lock = CriticalLock()
    // Protected by `lock`.
    private var port: HostRunLoop.MessagePort?
    private weak var timer: HostRunLoop.Timer?
    private var completion: (@Sendable (Answer) -> Void)?
    private var received: Answer?

    /// Makes a request with a port for its answer.
    ///
    /// - Parameter completion: Called once with the answer.
    /// - Throws: `MessageError`: `system` if there are no descriptors left.
    init(_ completion: (@Sendable (Answer) -> Void)? = nil) throws(MessageError) {
        self.completion = completion
        port = try HostRunLoop.MessagePort(
            label: "reply",
            endpoint: .process,
            capacity: 1,
            connectionLimit: 1,
            handlers: MessageReceiver.Handlers(
                message: { [weak self] in self?.finish(.success($0)) },
                connectionError: { [weak self] _ in self?.finish(.failure(MessageError(code: .noReply))) },
                noSenders: { [weak self] in self?.finish(.failure(MessageError(code: .noReply))) }
            )
        )
    }

    /// What came, if it has.
    var answer: Answer? { lock.withLock { received } }

    /// Sends the request with a reply port that is in a mode of a loop.
    ///
    /// Keeps no reference to the message: the port must see when nobody can answer any more.
    func send(
        _ message: HostRunLoop.Message,
        to right: HostRunLoop.SendRight,
        before deadline: HostRunLoop.Instant,
        in mode: HostRunLoop.Mode,
        of loop: HostRunLoop
    ) throws(MessageError) {
        guard let port = lock.withLock({ port }) else { return }
        do {
            try loop.add(port, to: mode)
        } catch {
            throw MessageError(code: .system, underlyingError: error.underlyingError)
        }
        var message = message
        message.replyPort = port.makeReplyRight()
        try right.send(message, before: deadline)
    }

    /// Waits for the answer on a thread that was told to end: there a run ends after one pass, so it sleeps between them.
    func lastAnswer(
        in mode: HostRunLoop.Mode,
        of loop: HostRunLoop,
        before deadline: HostRunLoop.Instant
    ) -> Answer {
        let end = min(deadline.nanoseconds, loop.endOfRequests.load(ordering: .relaxed))
        // What is there when the time is over still counts, but not for ever: the mode may be somebody else's, too.
        var passesLeft = 16
        while passesLeft > 0, loop.waitUntilReady([mode], until: end, endsAtWakeUp: false) {
            _ = loop.run(in: mode, for: .zero)
            if let answer { return answer }
            if loop.isEmpty(mode) { return .failure(MessageError(code: .noReply)) }
            if end <= HostRunLoop.Instant.now.nanoseconds { passesLeft -= 1 }
        }
        return .failure(MessageError(code: deadline.nanoseconds <= end ? .timedOut : .threadEnding))
    }

    /// Notes the timer that ends the wait; it is not needed when the answer was faster.
    func isEnded(by timer: HostRunLoop.Timer) {
        let isOver = lock.withLock {
            self.timer = timer
            return received != nil
        }
        if isOver { timer.invalidate() }
    }

    /// Ends the request, unless it has ended.
    func finish(_ answer: Answer) {
        let (port, timer, completion) = lock.withLock {
            defer {
                if received == nil { received = answer }
                self.port = nil
                self.completion = nil
            }
            return (self.port, self.timer, self.completion)
        }
        guard let port else { return }
        port.invalidate()
        timer?.invalidate()
        completion?(answer)
    }

    /// Ends the request without calling anybody.
    func cancel() {
        let (port, completion) = lock.withLock {
            defer {
                self.port = nil
                self.completion = nil
            }
            return (self.port, self.completion)
        }
        port?.invalidate()
        // Released here, after unlocking.
        _ = completion
    }
}
