import LinuxSystem
import SystemPackage

extension HostRunLoop {
    /// Receives messages from threads of this process and from other processes, and calls a closure with each.
    ///
    /// It is added to modes like a source and keeps them from being empty. Each pass delivers at most one message, on the loop's
    /// thread. The message is taken out of the queue before the handler is called, so a handler that faults loses only that
    /// message. Its reply port is then closed, also for anyone to whom the handler passed it on: the request ends with `noReply` at
    /// once. A port in several loops delivers each message to one of them.
    ///
    /// The loop keeps the port alive; when it is in no loop and nobody refers to it, it is closed. When the thread of the last loop
    /// that has it ends, the port is invalidated, and requests end with `noReply`. Callable from any thread.
    ///
    /// Between processes the messages go over Unix sockets of the kind `SOCK_SEQPACKET`, in the format of `MessageFrame`. They wait
    /// in the buffers of the sockets; the capacity does not count them. A peer that sends anything else is disconnected.
    public final class MessagePort: Item, @unchecked Sendable {
        /// How other processes reach the port.
        public enum Endpoint: Sendable {
            /// Not at all: the port is for threads of this process, and for answers.
            case process
            /// Anybody who may connect to an address can send; answers go to the reply ports of the messages.
            case listening(SocketAddress)
            /// The other side of a connected socket can send, and this side sends through `peer`; the port ends with the
            /// connection.
            ///
            /// The port takes over the socket: nobody else should read from it.
            case connected(Message.Descriptor)

            /// Anyone with a send right may send, and all messages come through the same two sources.
            ///
            /// A connected port mostly hears from its one peer.
            fileprivate var peers: SocketPeers {
                switch self {
                case .process, .listening: .many
                case .connected: .one
                }
            }
        }

        private let receiver: MessageReceiver
        /// The actors that its closures belong to.
        private let isolations: [any Actor]
        let queueSource: PortSource
        let socketSource: PortSource
        /// The right to send to this port.
        public let sendRight: SendRight
        /// The right to send to the other side of the connection, if the port was made with one.
        public let peer: SendRight?

        /// Makes a port that is in no loop yet; it accepts messages from now on.
        ///
        /// - Parameters:
        ///   - label: The name that crash reports show for it.
        ///   - endpoint: How other processes reach it.
        ///   - capacity: How many messages from this process can wait; at least 1. Senders wait while the queue is full.
        ///   - connectionLimit: How many connections it may have; further ones are closed at once.
        ///   - onConnectionError: Called on the loop's thread when a connection was closed because the peer sent something that no
        ///     honest peer sends, or when a connection could not be accepted. A peer that disconnects is not an error.
        ///   - onInvalidate: Called once when the port is invalidated: on the thread that invalidates it, or on the loop's thread
        ///     if it ends with its connection. Not called when the port is only released.
        ///   - handler: Called on the loop's thread with each message.
        /// - Throws: `MessageError`: `addressInvalid`, `addressInUse`, `notASocket`, or `system` with the error of a call.
        public convenience init(
            label: String,
            endpoint: Endpoint = .process,
            capacity: Int = 64,
            connectionLimit: Int = 1024,
            @_inheritActorContext onConnectionError: (@Sendable @isolated(any) (ConnectionError) -> Void)? = nil,
            onInvalidate: (@Sendable () -> Void)? = nil,
            @_inheritActorContext handler: @escaping @Sendable @isolated(any) (Message) -> Void
        ) throws(MessageError) {
            if capacity < 1 { fatalError("a message port needs room for at least one message") }
            try self.init(
                label: label,
                endpoint: endpoint,
                capacity: capacity,
                connectionLimit: connectionLimit,
                handlers: MessageReceiver.Handlers(
                    message: Plain.message(handler),
                    connectionError: onConnectionError.map(Plain.connectionError),
                    invalidate: onInvalidate,
                    isolations: [handler.isolation, onConnectionError?.isolation].compactMap { $0 }
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
            // From here on, an error releases the receiver, which closes everything.
            let receiver = MessageReceiver(inbox: inbox, connectionLimit: connectionLimit, handlers: handlers)
            self.receiver = receiver
            isolations = handlers.isolations
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
            super.init(queueSource.identifier, label: label, isolation: nil)
        }

        override var isAlive: Bool { receiver.inbox.isOpen }

        package override var calloutIdentifiers: [UInt64] { [queueSource.identifier, socketSource.identifier] }

        override func end() {
            receiver.invalidate()
        }

        /// Returns a right to send one answer; the port is told when the right and all its copies are gone.
        func makeReplyRight() -> SendRight {
            SendRight(.local(LocalRight(receiver.inbox, isForOneAnswer: true)))
        }

        override func join(_ loop: HostRunLoop, in mode: Mode) throws(RunLoopError) -> AddResult {
            for isolation in isolations { loop.require(isolation, for: label) }
            let result = try queueSource.join(loop, in: mode)
            do throws(RunLoopError) {
                _ = try socketSource.join(loop, in: mode)
                return result
            } catch {
                queueSource.part(from: loop, in: mode)
                throw error
            }
        }

        override func part(from loop: HostRunLoop, in mode: Mode) {
            queueSource.part(from: loop, in: mode)
            socketSource.part(from: loop, in: mode)
        }

        override func isMember(of loop: HostRunLoop, in mode: Mode) -> Bool { queueSource.isMember(of: loop, in: mode) }
    }
}
