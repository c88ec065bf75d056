import LinuxSystem
import SystemPackage

/// The receiving side of a message port: a queue for this process, and sockets for others.
///
/// Send rights refer to it; it refers to none of the loop's items. It can outlive its port, but is closed then.
final class MessageInbox: @unchecked Sendable {
    typealias Message = HostRunLoop.Message
    typealias MessageError = HostRunLoop.MessageError

    /// The descriptors that the loop waits for; closed when the inbox is closed, or when the last call that uses them returns.
    final class Descriptors: Sendable {
        /// Readable while the queue is not empty.
        let event: EventDescriptor
        /// Readable while one of the sockets is.
        let sockets: Epoll

        init() throws(Errno) {
            event = try EventDescriptor()
            sockets = try Epoll()
        }
    }

    /// A socket that the inbox watches.
    enum Socket: Sendable {
        /// A socket that accepts connections.
        case listener(UnixSocketListener)
        /// A connection on which messages arrive.
        case connection(Message.Descriptor)
        /// The connection that the port was made for; the port ends with it.
        case mainConnection(Message.Descriptor)

        var rawValue: CInt {
            switch self {
            case .listener(let listener): listener.rawValue
            case .connection(let descriptor), .mainConnection(let descriptor): descriptor.rawValue
            }
        }
    }

    let capacity: Int
    private let lock = ConditionLock()
    // Protected by `lock`.
    private var descriptors: Descriptors?
    private var queue = MessageRing()
    private var waitingSenders = 0
    private var sockets: [UInt64: Socket] = [:]
    private var lastToken: UInt64 = 0
    private var isReplyRightGone = false
    private var mustReportNoSenders = false
    /// Whether it was closed because nobody is left to answer.
    private var answersNothing = false
    private var waitingForRoom: [(source: HostRunLoop.Source, loop: HostRunLoop)] = []

    init(capacity: Int) throws(MessageError) {
        self.capacity = capacity
        do {
            descriptors = try Descriptors()
        } catch {
            throw MessageError(error)
        }
    }

    /// The descriptors; nil once it is closed.
    var openDescriptors: Descriptors? { lock.withLock { descriptors } }

    /// Whether it is still open.
    var isOpen: Bool { lock.withLock { descriptors != nil } }

    // MARK: Sending, on any thread

    /// Puts a message into the queue; waits for room until a time on the monotonic clock.
    func send(_ message: Message, before deadline: Int64) throws(MessageError) {
        try message.checkSize()
        enum Outcome {
            case queued(notify: Descriptors?)
            case refused(MessageError.Code)
        }
        let outcome = lock.withLock { () -> Outcome in
            var isTimeOver = false
            while true {
                guard let descriptors else {
                    return .refused(answersNothing && message.replyPort != nil ? .noReply : .portInvalid)
                }
                if queue.count < capacity {
                    let wasEmpty = queue.isEmpty
                    queue.append(message)
                    return .queued(notify: wasEmpty ? descriptors : nil)
                }
                if isTimeOver || deadline <= MonotonicClock.nanoseconds { return .refused(.timedOut) }
                waitingSenders += 1
                isTimeOver = !lock.wait(before: deadline)
                waitingSenders -= 1
            }
        }
        switch outcome {
        // Done without the lock, so that a thread that this wakes does not have to wait for the lock. If another thread empties the
        // queue first, the loop wakes once for nothing.
        case .queued(let descriptors): descriptors?.event.notify()
        case .refused(let code): throw MessageError(code: code)
        }
    }

    /// Signals a source and wakes its loop as soon as there is room or the inbox is closed.
    func signal(_ source: HostRunLoop.Source, on loop: HostRunLoop) {
        var dropped: [(source: HostRunLoop.Source, loop: HostRunLoop)] = []
        let isTime = lock.withLock {
            guard descriptors != nil, queue.count >= capacity else { return true }
            // Released after unlocking.
            dropped = waitingForRoom.filter { !$0.source.isValid }
            if !dropped.isEmpty { waitingForRoom.removeAll { !$0.source.isValid } }
            waitingForRoom.append((source, loop))
            return false
        }
        if isTime { Self.signal([(source, loop)]) }
    }

    private static func signal(_ waiting: [(source: HostRunLoop.Source, loop: HostRunLoop)]) {
        for (source, loop) in waiting {
            source.signal()
            loop.noteWorkOfNestedRun()
            loop.wakeUp()
        }
    }

    // MARK: Receiving, on the loop's thread

    /// The next thing in the queue for the loop.
    enum QueueItem {
        case message(Message)
        /// Nobody can send any more: the right that was given out for one answer is gone.
        case noSenders
    }

    /// Takes the oldest message.
    func takeFromQueue() -> QueueItem? {
        var waiting: [(source: HostRunLoop.Source, loop: HostRunLoop)] = []
        defer { Self.signal(waiting) }
        return lock.withLock {
            let message = queue.popFirst()
            if message != nil { swap(&waiting, &waitingForRoom) }
            // Done with the lock held: a message that arrives now must announce itself after this, not before.
            if queue.isEmpty { descriptors?.event.clear() }
            if let message {
                if waitingSenders > 0 { lock.signal() }
                return .message(message)
            }
            guard mustReportNoSenders else { return nil }
            mustReportNoSenders = false
            return .noSenders
        }
    }

    /// Returns a socket that is ready now; ready sockets take turns.
    func readySocket() -> (token: UInt64, socket: Socket)? {
        guard let token = openDescriptors?.sockets.firstReady() else { return nil }
        guard let socket = lock.withLock({ sockets[token] }) else { return nil }
        return (token, socket)
    }

    // MARK: Sockets

    /// Whether a message waits to be delivered.
    var holdsMessages: Bool { lock.withLock { !queue.isEmpty } }

    /// Whether any peer is connected.
    var hasConnections: Bool {
        lock.withLock {
            sockets.values.contains { socket in
                if case .listener = socket { false } else { true }
            }
        }
    }

    /// The number of watched sockets.
    var socketCount: Int { lock.withLock { sockets.count } }

    /// Starts to watch a socket.
    ///
    /// - Returns: A token that names the socket.
    /// - Throws: `portInvalid` if the inbox is closed, `system` if the kernel has no memory or watches left.
    @discardableResult
    func attach(_ socket: Socket) throws(MessageError) -> UInt64 {
        try lock.withLock { () throws(MessageError) -> UInt64 in
            guard let descriptors else { throw MessageError(code: .portInvalid) }
            lastToken += 1
            do throws(Errno) {
                try descriptors.sockets.add(socket.rawValue, events: .readable, token: lastToken)
            } catch {
                throw MessageError(error)
            }
            sockets[lastToken] = socket
            return lastToken
        }
    }

    /// Stops watching a socket; it is closed if nobody else refers to it.
    func detach(_ token: UInt64) {
        let (socket, notify) = lock.withLock { () -> (Socket?, Descriptors?) in
            guard let socket = sockets.removeValue(forKey: token) else { return (nil, nil) }
            // Removed explicitly: closing the socket is not enough if somebody has a duplicate.
            try? descriptors?.sockets.remove(socket.rawValue)
            return (socket, noticeMissingSenders())
        }
        notify?.event.notify()
        // Closed here, after unlocking.
        _ = socket
    }

    // MARK: The end

    /// Records that the one right given out for an answer is gone; a connection that was made for it may still exist.
    func replyRightIsGone() {
        let notify = lock.withLock {
            isReplyRightGone = true
            return noticeMissingSenders()
        }
        notify?.event.notify()
    }

    /// Called with the lock held.
    private func noticeMissingSenders() -> Descriptors? {
        guard isReplyRightGone, sockets.isEmpty, queue.isEmpty else { return nil }
        mustReportNoSenders = true
        return descriptors
    }

    /// Drops queued messages, closes all sockets, and ends the waits of senders.
    ///
    /// The loop must no longer wait for its descriptors.
    ///
    /// - Parameter answeringRequests: Whether a later request ends with `noReply`, like one that was dropped.
    func close(answeringRequests: Bool = false) {
        var queue = MessageRing()
        var waiting: [(source: HostRunLoop.Source, loop: HostRunLoop)] = []
        var sockets: [UInt64: Socket] = [:]
        let descriptors = lock.withLock { () -> Descriptors? in
            swap(&queue, &self.queue)
            swap(&sockets, &self.sockets)
            swap(&waiting, &waitingForRoom)
            if self.descriptors != nil { answersNothing = answeringRequests }
            let descriptors = self.descriptors
            self.descriptors = nil
            lock.broadcast()
            return descriptors
        }
        for case .mainConnection(let descriptor) in sockets.values {
            // A send right may keep its sending side alive.
            PacketSocket.disconnect(descriptor.rawValue)
        }
        Self.signal(waiting)
        // Released here, after unlocking.
        _ = (queue, descriptors)
    }
}

/// A queue of messages in a ring buffer that grows by doubling.
struct MessageRing {
    private var places: [HostRunLoop.Message?] = []
    private var head = 0
    /// The number of messages.
    private(set) var count = 0

    /// Whether the queue is empty.
    var isEmpty: Bool { count == 0 }

    /// Appends a message.
    mutating func append(_ message: HostRunLoop.Message) {
        if count == places.count {
            grow()
        }
        // `places.count` is a power of two.
        places[(head + count) & (places.count - 1)] = message
        count += 1
    }

    /// Takes the oldest message.
    mutating func popFirst() -> HostRunLoop.Message? {
        guard count > 0 else { return nil }
        defer {
            places[head] = nil
            head = (head + 1) & (places.count - 1)
            count -= 1
        }
        return places[head]
    }

    private mutating func grow() {
        var larger = [HostRunLoop.Message?](repeating: nil, count: max(4, places.count * 2))
        for index in 0..<count {
            larger[index] = places[(head + index) & (places.count - 1)]
        }
        places = larger
        head = 0
    }
}

/// A message with a reply port, while the handler of a message port has it.
///
/// If the handler faults and is abandoned, this tells whoever waits for the answer. Nothing in an abandoned callout is released, so
/// the reply port would otherwise stay open for ever. Deliveries are reused, so that a message costs no allocation. A spare
/// delivery begins with a message and registers with the callout. When it ends it is spare again; when it is abandoned it is never
/// used again. Touched by one thread at a time.
final class MessageDelivery: @unchecked Sendable {
    /// The part that the attachment refers to; it may outlive the delivery.
    private final class Reply {
        var right: HostRunLoop.SendRight?
        let inbox: MessageInbox

        init(_ inbox: MessageInbox) {
            self.inbox = inbox
        }

        /// Closes the reply port, also for anyone to whom the handler passed it on.
        func close() {
            defer { right = nil }
            switch right?.destination {
            case .local(let right): right.endWithoutAnswer()
            case .socket(let channel): channel.disconnect(inbox.openDescriptors?.event.rawValue)
            case nil: break
            }
        }
    }

    private let reply: Reply
    private let attachment: CalloutAttachment

    /// Makes a delivery for messages of an inbox.
    init(from inbox: MessageInbox) {
        let reply = Reply(inbox)
        self.reply = reply
        attachment = CalloutAttachment { reply.close() }
    }

    /// Registers a message's reply port with the running callout.
    func begin(_ right: HostRunLoop.SendRight) {
        reply.right = right
        attachment.attach()
    }

    /// Unregisters the reply port after the handler has returned.
    func end() {
        attachment.detach()
        reply.right = nil
    }
}
