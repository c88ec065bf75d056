import Synchronization

extension HostRunLoop.Mode {
    /// The mode in which a thread waits for the answer to a request.
    public static let messageReply = HostRunLoop.Mode(rawValue: "HostRunLoop.messageReply")
}

/// Requests and answers.
extension HostRunLoop.SendRight {
    /// The result of a request.
    typealias Answer = Result<HostRunLoop.Message, HostRunLoop.MessageError>

    /// Sends a message, and runs the calling thread's loop in a separate mode until the answer comes.
    ///
    /// Other items in that mode are served meanwhile. If the loop is told to stop, the enclosing run is stopped when the request
    /// has ended. If the thread is told to end (`LoopThread.stop()`), the request ends within 200 ms: with the answer if it comes
    /// in that time, otherwise with `threadEnding`.
    ///
    /// - Parameters:
    ///   - message: The message; its reply port is replaced.
    ///   - limit: The total time for the wait for room and the wait for the answer.
    ///   - mode: The mode to wait in.
    /// - Returns: The answer.
    /// - Throws: `MessageError`: `timedOut`, `noReply` if the other side dropped the request or is gone, `threadEnding`, and any
    ///   error that `send` throws.
    @available(*, noasync, message: "a task must not block its thread: use the form with a completion")
    public func request(
        _ message: HostRunLoop.Message,
        replyWithin limit: Duration,
        in mode: HostRunLoop.Mode = .messageReply
    ) throws(HostRunLoop.MessageError) -> HostRunLoop.Message {
        let deadline = HostRunLoop.Instant.now.advanced(by: limit)
        let loop = HostRunLoop.current
        let pending = try PendingReply { _ in
            // Without its port the mode is empty, which ends the run. Unlike `returnAfterSourceHandled`, that does not lose a
            // request to stop. If the mode has other items, the loop must be stopped.
            guard !loop.isEmpty(mode) else { return }
            loop.stop()
        }
        defer { pending.cancel() }
        try pending.send(message, to: self, before: deadline, in: mode, of: loop)
        var wasStopped = false
        defer {
            if wasStopped { loop.stop() }
        }
        while true {
            if let answer = pending.answer { return try answer.get() }
            if loop.runs.areAllEnding {
                wasStopped = true
                return try pending.lastAnswer(in: mode, of: loop, before: deadline).get()
            }
            let left = HostRunLoop.Instant.now.duration(to: deadline)
            guard left > .zero else { throw HostRunLoop.MessageError(code: .timedOut) }
            switch loop.run(in: mode, for: left) {
            case .stopped:
                // If the answer is there, the closure above stopped the loop.
                if pending.answer == nil || loop.isEmpty(mode) { wasStopped = true }
            case .finished where pending.answer == nil: throw HostRunLoop.MessageError(code: .noReply)
            case .finished, .handledSource, .timedOut: break
            }
        }
    }

    /// Sends a message, and calls a closure with the answer on a loop's thread.
    ///
    /// - Parameters:
    ///   - message: The message; its reply port is replaced.
    ///   - limit: How long the wait for the answer may take.
    ///   - sendLimit: How long to wait while the port is full.
    ///   - loop: The loop that waits.
    ///   - mode: The mode in which it waits.
    ///   - completion: Called once, with the answer or the reason why there is none; never from within this call. If the loop's
    ///     thread ends first, the closure is released without being called.
    /// - Throws: `MessageError`, as `send` does; the closure is not called then.
    public func request(
        _ message: HostRunLoop.Message,
        replyWithin limit: Duration,
        sendWithin sendLimit: Duration = .zero,
        on loop: HostRunLoop = .current,
        in mode: HostRunLoop.Mode = .default,
        @_inheritActorContext completion:
            @escaping @Sendable @isolated(any) (
                Result<HostRunLoop.Message, HostRunLoop.MessageError>
            ) -> Void
    ) throws(HostRunLoop.MessageError) {
        loop.require(completion.isolation, for: "completion of a request")
        let pending = try PendingReply(Plain.answer(completion))
        let deadline = HostRunLoop.Instant.now.advanced(by: max(.zero, sendLimit))
        do throws(HostRunLoop.MessageError) {
            try pending.send(message, to: self, before: deadline, in: mode, of: loop)
        } catch {
            pending.cancel()
            throw error
        }
        // The loop keeps the timer, and the timer keeps the request.
        let timer = HostRunLoop.Timer(label: "reply limit", after: limit) { _ in
            pending.finish(.failure(HostRunLoop.MessageError(code: .timedOut)))
        }
        pending.isEnded(by: timer)
        loop.add(timer, to: mode)
    }
}

/// A sent request, and the port that receives its answer.
///
/// The port refers to it weakly; whoever waits keeps it alive.
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

    /// The answer, once it has come.
    var answer: Answer? { lock.withLock { received } }

    /// Adds the reply port to a mode of a loop and sends the request with it.
    ///
    /// Keeps no reference to the message, because the port must notice when nobody can answer any more.
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

    /// Waits for the answer on a thread that was told to end.
    ///
    /// A run there ends after one pass, so this sleeps between runs.
    func lastAnswer(
        in mode: HostRunLoop.Mode,
        of loop: HostRunLoop,
        before deadline: HostRunLoop.Instant
    ) -> Answer {
        let end = min(deadline.nanoseconds, loop.runs.endOfRequests)
        // An answer that is there when the time is over still counts. The passes are limited because others may use the mode, too.
        var passesLeft = 16
        while passesLeft > 0, loop.waitUntilReady([mode], until: end, endsAtWakeUp: false) {
            _ = loop.run(in: mode, for: .zero)
            if let answer { return answer }
            if loop.isEmpty(mode) { return .failure(MessageError(code: .noReply)) }
            if end <= HostRunLoop.Instant.now.nanoseconds { passesLeft -= 1 }
        }
        return .failure(MessageError(code: deadline.nanoseconds <= end ? .timedOut : .threadEnding))
    }

    /// Records the timer that ends the wait; invalidates it if the answer was faster.
    func isEnded(by timer: HostRunLoop.Timer) {
        let isOver = lock.withLock {
            self.timer = timer
            return received != nil
        }
        if isOver { timer.invalidate() }
    }

    /// Ends the request, unless it has already ended.
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

    /// Ends the request without calling the closure.
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
