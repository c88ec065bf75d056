import LinuxSystem
import SystemPackage

extension HostRunLoop {
    /// Receives messages from threads of this process and from other processes, and calls a closure with each.
    ///
    /// It is added to modes like a source and keeps them from being empty. In each pass at most one message is delivered, on
    /// the loop's thread, and it was taken out of the queue before: a handler that faults costs that message only. Then its
    /// reply port is closed, also for whom the handler handed it to: the request ends with `noReply` at once. A port in several
    /// loops delivers each message to one of them. The loop keeps it alive; when it is in no loop and nobody refers to it, it is
    /// closed. Callable from any thread.
    ///
    /// Between processes the messages go over Unix sockets of the kind `SOCK_SEQPACKET`, in the format of `MessageFrame`, and
    /// wait in their buffers: the capacity does not count those. A peer that sends anything else is disconnected.
    public final class MessagePort: Sendable {
        /// Where other processes come in.
        public enum Endpoint: Sendable {
            /// Nowhere: for threads of this process, and for answers.
            case process
            /// Anybody who may connect to an address can send; answers go to the reply ports of the messages.
            case listening(SocketAddress)
            /// The other side of a connected socket can send, and this side through `peer`; the port ends with the other.
            ///
            /// The port takes the socket over: nobody else should read from it.
            case connected(Message.Descriptor)

            /// Whoever has a right may send to a port, all by the same two sources; to a connected one, above all the other side.
            fileprivate var peers: SocketPeers {
                switch self {
                case .process, .listening: .many
                case .connected: .one
                }
            }
        }

        private let receiver: MessageReceiver
        let queueSource: PortSource
        let socketSource: PortSource
        /// The right to send to this port.
        public let sendRight: SendRight
        /// The right to send to the other side of the connection, if the port was made with one.
        public let peer: SendRight?

        /// Makes a port that is in no loop yet; it takes messages from now on.
        ///
        /// - Parameters:
        ///   - label: What a crash report calls it.
        ///   - endpoint: Where other processes come in.
        ///   - capacity: How many messages from this process can wait; at least 1. Senders wait while it is full.
        ///   - connectionLimit: How many connections it may have; one more is closed at once.
        ///   - onConnectionError: Called on the loop's thread when a connection was closed because of something that no honest
        ///     peer sends, or could not be taken. A peer that goes is no error.
        ///   - onInvalidate: Called once when the port is invalidated: on the thread that does that, or on the loop's thread
        ///     if it ends with its connection. Not called when the port is only released.
        ///   - handler: Called on the loop's thread with each message.
        /// - Throws: `MessageError`: `addressInvalid`, `addressInUse`, `notASocket`, or `system` with the error of a call.
        public convenience init(
            label: String,
            endpoint: Endpoint = .process,
            capacity: Int = 64,
            connectionLimit: Int = 1024,
            onConnectionError: (@Sendable (ConnectionError) -> Void)? = nil,
            onInvalidate: (@Sendable () -> Void)? = nil,
            handler: @escaping @Sendable (Message) -> Void
        ) throws(MessageError) {
            precondition(capacity > 0, "a message port needs room for at least one message")
            try self.init(
                label: label,
                endpoint: endpoint,
                capacity: capacity,
                connectionLimit: connectionLimit,
                handlers: MessageReceiver.Handlers(
                    message: handler,
                    connectionError: onConnectionError,
                    invalidate: onInvalidate
                )
            )
        }

        init(
            label: String,
            endpoint: Endpoint,
            capacity: Int,
            connectionLimit: Int,
            handlers: MessageReceiver.Handlers
        ) throws(MessageError) {
            let inbox = try MessageInbox(capacity: capacity)
            guard let descriptors = inbox.openDescriptors else { throw MessageError(code: .portInvalid) }
            // From now on, whatever is thrown closes everything with the receiver.
            receiver = MessageReceiver(inbox: inbox, connectionLimit: connectionLimit, handlers: handlers)
            (queueSource, socketSource) = receiver.makeSources(label: label, peers: endpoint.peers, descriptors)
            sendRight = SendRight(.local(LocalRight(inbox)))
            switch endpoint {
            case .process:
                peer = nil
            case .listening(let address):
                peer = nil
                guard address.unixAddress.isValid else { throw MessageError(code: .addressInvalid) }
                let listener: UnixSocketListener
                do throws(Errno) {
                    listener = try UnixSocketListener(at: address.unixAddress)
                    try receiver.keepSpareDescriptor(of: listener)
                } catch {
                    throw MessageError(error)
                }
                try inbox.attach(.listener(listener))
            case .connected(let socket):
                guard PacketSocket.isPacketSocket(socket.rawValue) else { throw MessageError(code: .notASocket) }
                PacketSocket.askForCredentials(socket.rawValue)
                peer = SendRight(.socket(MessageChannel(socket)))
                try inbox.attach(.mainConnection(socket))
            }
        }

        /// What a crash report calls it.
        public var label: String { queueSource.label }

        /// Whether it was not invalidated, and its connection, if it was made with one, was not closed.
        public var isValid: Bool { receiver.inbox.isOpen }

        /// Ends its life: it leaves every mode, messages that wait are dropped, and senders get `portInvalid`.
        ///
        /// Its connections are closed, and the file of its address is removed.
        public func invalidate() {
            receiver.invalidate()
        }

        /// Returns a right to send one answer; when it and its copies are gone, the port is told.
        func makeReplyRight() -> SendRight {
            SendRight(.local(LocalRight(receiver.inbox, isForOneAnswer: true)))
        }
    }

    /// Adds a message port to a mode; it is served even if the loop is asleep now.
    ///
    /// Callable from any thread.
    ///
    /// - Parameters:
    ///   - port: The port; nothing happens if it is invalid or in the mode already.
    ///   - mode: The mode, which is made if it is new, or `.common`.
    /// - Returns: Whether it was added, or why not.
    /// - Throws: `RunLoopError` if the kernel has no memory or no watches left.
    @discardableResult
    public func add(_ port: MessagePort, to mode: Mode = .default) throws(RunLoopError) -> AddResult {
        let result = try add(port.queueSource, to: mode)
        do throws(RunLoopError) {
            try add(port.socketSource, to: mode)
            return result
        } catch {
            remove(port.queueSource, from: mode)
            throw error
        }
    }

    /// Removes a message port from a mode; it stays valid, and messages wait until it is added again.
    ///
    /// Callable from any thread.
    ///
    /// - Parameters:
    ///   - port: The port.
    ///   - mode: The mode, or `.common` for all common modes if it was added to those.
    public func remove(_ port: MessagePort, from mode: Mode = .default) {
        remove(port.queueSource, from: mode)
        remove(port.socketSource, from: mode)
    }

    /// Says whether a message port is in a mode.
    ///
    /// - Parameters:
    ///   - port: The port.
    ///   - mode: The mode, or `.common` to ask whether it was added to the common modes.
    /// - Returns: Whether it is there.
    public func contains(_ port: MessagePort, in mode: Mode = .default) -> Bool {
        contains(port.queueSource, in: mode)
    }
}
