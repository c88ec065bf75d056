import LinuxSystem
import SystemPackage

/// The part of a message port that works on its loop's thread.
///
/// The port sources keep it alive, so a port works as long as it is in a loop. It refers to the sources weakly.
final class MessageReceiver: @unchecked Sendable {
    typealias ConnectionError = HostRunLoop.ConnectionError

    /// The closures of the user.
    struct Handlers: Sendable {
        var message: @Sendable (HostRunLoop.Message) -> Void
        var connectionError: (@Sendable (ConnectionError) -> Void)?
        var invalidate: (@Sendable () -> Void)?
        /// Called when the right that was given out for one answer is gone.
        var noSenders: (@Sendable () -> Void)?
        /// The actors of the closures that are called on the loop's thread.
        var isolations: [any Actor] = []
    }

    let inbox: MessageInbox
    private let connectionLimit: Int
    private let lock = CriticalLock()
    // Protected by `lock`.
    private var handlers: Handlers?
    private weak var queueSource: HostRunLoop.PortSource?
    private weak var socketSource: HostRunLoop.PortSource?
    /// For messages with a reply port; as many as there were ever handlers nested or running at the same time.
    private var spareDeliveries: [MessageDelivery] = []
    /// Closed for a moment when the process has no descriptors left, to accept a connection that can only be closed.
    private var spareDescriptor: HostRunLoop.Message.Descriptor?

    init(inbox: MessageInbox, connectionLimit: Int, handlers: Handlers) {
        self.inbox = inbox
        self.connectionLimit = connectionLimit
        self.handlers = handlers
    }

    deinit {
        // Nobody can receive any more.
        inbox.close()
    }

    /// Makes the two sources through which the loop calls this.
    func makeSources(
        label: String,
        peers: SocketPeers,
        _ descriptors: MessageInbox.Descriptors
    ) -> (queue: HostRunLoop.PortSource, sockets: HostRunLoop.PortSource) {
        let queue = HostRunLoop.PortSource(
            label: label,
            number: descriptors.event.rawValue,
            peers: peers,
            hasOpenWork: { [inbox] in inbox.holdsMessages },
            whenLoopsEnded: { [self] in invalidate(becauseLoopsEnded: true) },
            perform: { [self] _, _ in serveQueue() }
        )
        let sockets = HostRunLoop.PortSource(
            label: label,
            number: descriptors.sockets.rawValue,
            peers: peers,
            hasOpenWork: { [inbox] in inbox.hasConnections },
            whenLoopsEnded: { [self] in invalidate(becauseLoopsEnded: true) },
            perform: { [self] _, _ in serveSocket() }
        )
        lock.withLock {
            queueSource = queue
            socketSource = sockets
        }
        return (queue, sockets)
    }

    /// Removes the port from its loops and closes it.
    func invalidate(becauseLoopsEnded: Bool = false) {
        let (handlers, queue, sockets) = lock.withLock {
            let handlers = self.handlers
            self.handlers = nil
            return (handlers, queueSource, socketSource)
        }
        guard let handlers else { return }
        queue?.invalidate()
        sockets?.invalidate()
        inbox.close(answeringRequests: becauseLoopsEnded)
        closeSpareDescriptor()
        handlers.invalidate?()
    }

    // MARK: Callouts: at most one message each

    private func serveQueue() {
        switch inbox.takeFromQueue() {
        case .message(let message): deliver(message)
        case .noSenders: presentHandlers?.noSenders?()
        case nil: break
        }
    }

    /// Calls the handler with a message, so that a fault in it ends the request.
    private func deliver(_ message: HostRunLoop.Message) {
        guard let handler = presentHandlers?.message else { return }
        guard let right = message.replyPort else { return handler(message) }
        let delivery = lock.withLock { spareDeliveries.popLast() } ?? MessageDelivery(from: inbox)
        delivery.begin(right)
        handler(message)
        delivery.end()
        lock.withLock { spareDeliveries.append(delivery) }
    }

    /// The most connections that one callout accepts or closes before it returns without a message.
    private static let batch = 16

    private func serveSocket() {
        for _ in 0..<Self.batch {
            guard let (token, socket) = inbox.readySocket(), !serve(socket, token) else { return }
        }
    }

    /// Serves a socket; returns whether it delivered a message or told the user anything else.
    private func serve(_ socket: MessageInbox.Socket, _ token: UInt64) -> Bool {
        let isMain: Bool
        switch socket {
        case .listener(let listener):
            return accept(from: listener)
        case .connection: isMain = false
        case .mainConnection: isMain = true
        }
        switch MessageReception.take(from: socket.rawValue) {
        case .nothing:
            return false
        case .message(let message):
            deliver(message)
            return true
        case .peerGone:
            close(token, isMain: isMain)
            return isMain
        case .refused(let error):
            // Read before closing: an invalid port has no handlers.
            let report = presentHandlers?.connectionError
            close(token, isMain: isMain)
            report?(error)
            return true
        }
    }

    private func close(_ token: UInt64, isMain: Bool) {
        if isMain { invalidate() } else { inbox.detach(token) }
    }

    private var presentHandlers: Handlers? { lock.withLock { handlers } }

    // MARK: Connections

    /// Accepts a connection; returns whether the user was told something.
    private func accept(from listener: UnixSocketListener) -> Bool {
        do throws(Errno) {
            let connection = HostRunLoop.Message.Descriptor(owning: try PacketSocket.accept(from: listener.rawValue))
            // The listener counts as one of the sockets.
            guard inbox.socketCount <= connectionLimit else { return report(.tooManyConnections) }
            do throws(HostRunLoop.MessageError) {
                try inbox.attach(.connection(connection))
                return false
            } catch {
                return report(.system(error.underlyingError ?? .canceled))
            }
        } catch .resourceTemporarilyUnavailable {
            // Another thread was faster.
            return false
        } catch .connectionAbort {
            // The peer was faster: it is gone.
            return false
        } catch .tooManyOpenFiles {
            return refuseConnection(from: listener)
        } catch .tooManyOpenFilesInSystem {
            return refuseConnection(from: listener)
        } catch {
            return report(.system(error))
        }
    }

    /// Accepts a connection and closes it, using a descriptor that was kept for this.
    ///
    /// Otherwise the connection would stay in the listener's queue and wake the loop again and again.
    private func refuseConnection(from listener: UnixSocketListener) -> Bool {
        closeSpareDescriptor()
        _ = try? PacketSocket.accept(from: listener.rawValue)
        try? keepSpareDescriptor(of: listener)
        return report(.noDescriptorsLeft)
    }

    /// Keeps any descriptor in reserve for the time when the process has none left.
    func keepSpareDescriptor(of listener: UnixSocketListener) throws(Errno) {
        let new = try HostRunLoop.Message.Descriptor(duplicating: FileDescriptor(rawValue: listener.rawValue))
        lock.withLock { spareDescriptor = new }
    }

    private func closeSpareDescriptor() {
        let spare = lock.withLock {
            defer { spareDescriptor = nil }
            return spareDescriptor
        }
        // Closed here, after unlocking.
        _ = spare
    }

    private func report(_ reason: ConnectionError.Reason) -> Bool {
        presentHandlers?.connectionError?(ConnectionError(reason: reason, sender: nil))
        return true
    }
}
