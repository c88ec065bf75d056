import LinuxSystem
import SystemPackage

extension HostRunLoop {
    /// The right to send messages to a port, in this process or in another one.
    ///
    /// It is cheap to copy and equal to its copies; every connection is a right of its own. A right does not keep its port alive:
    /// when the port is gone, sending fails. Messages that are sent one after the other arrive in that order. Callable from any
    /// thread.
    public struct SendRight: Sendable, Hashable {
        /// Where the messages go.
        enum Destination: Sendable {
            /// To a port of this process.
            case local(LocalRight)
            /// Over a connection.
            case socket(MessageChannel)
        }

        let destination: Destination

        init(_ destination: Destination) {
            self.destination = destination
        }

        /// Makes the right to send over a connected socket from which somebody else may read.
        ///
        /// - Parameter socket: The socket.
        /// - Throws: `MessageError`: `notASocket`.
        package init(sendingOver socket: Message.Descriptor) throws(MessageError) {
            guard PacketSocket.isPacketSocket(socket.rawValue) else { throw MessageError(code: .notASocket) }
            self.init(.socket(MessageChannel(socket)))
        }

        /// Connects to a listening port, possibly in another process; every connection is a right of its own.
        ///
        /// - Parameters:
        ///   - address: Where the port listens.
        ///   - limit: How long to wait while the port's queue of connections to accept is full.
        /// - Throws: `MessageError`: `portInvalid` if nobody listens there, `timedOut`, `addressInvalid` or `system`.
        public init(
            connectingTo address: SocketAddress,
            within limit: Duration
        ) throws(MessageError) {
            self.init(.socket(MessageChannel(try Message.Descriptor.connect(to: address, within: limit))))
        }

        private var identity: ObjectIdentifier {
            switch destination {
            case .local(let right): ObjectIdentifier(right.inbox)
            case .socket(let channel): ObjectIdentifier(channel)
            }
        }

        /// Returns whether two rights send to the same port of this process, or over the same connection.
        ///
        /// - Parameters:
        ///   - left: One right.
        ///   - right: The other right.
        /// - Returns: Whether they are equal.
        public static func == (left: SendRight, right: SendRight) -> Bool { left.identity == right.identity }

        /// Hashes the identity that `==` compares.
        ///
        /// - Parameter hasher: Takes it.
        public func hash(into hasher: inout Hasher) { hasher.combine(identity) }

        /// Whether the port still exists, as far as this is known without sending.
        package var isValid: Bool {
            switch destination {
            case .local(let right): right.inbox.isOpen
            case .socket(let channel): channel.isConnected
            }
        }

        /// Sends a message; waits while the port is full.
        ///
        /// A port of this process is full when its queue holds as many messages as its capacity. A port of another process is full
        /// when the buffer of the socket is. The wait blocks the thread. Only the limit ends it if this thread serves the port
        /// itself, or if the peer never reads.
        ///
        /// - Parameters:
        ///   - message: The message, which the sender may send again.
        ///   - limit: When the wait ends; with a time in the past it does not wait.
        /// - Throws: `MessageError`: `timedOut`, `portInvalid`, `tooLarge`, `tooManyDescriptors` or `system`. Nothing was sent
        ///   then.
        package func send(_ message: Message, before limit: Instant) throws(MessageError) {
            switch destination {
            case .local(let right): try right.inbox.send(message, before: limit.nanoseconds)
            case .socket(let channel): try channel.send(message, before: limit.nanoseconds)
            }
        }

        /// Sends a message; waits for some time while the port is full.
        ///
        /// - Parameters:
        ///   - message: The message, which the sender may send again.
        ///   - limit: How long to wait; with zero or less it does not wait.
        /// - Throws: `MessageError`, as the form that takes a point in time.
        public func send(_ message: Message, within limit: Duration) throws(MessageError) {
            try send(message, before: limit <= .zero ? .distantPast : .now.advanced(by: limit))
        }

        /// Sends a message if there is room for it now; never waits.
        ///
        /// - Parameter message: The message, which the sender may send again.
        /// - Returns: Whether it was sent. If not, `whenRoom(on:in:label:perform:)` says when to try again.
        /// - Throws: `MessageError`, as the form that waits, except `timedOut`.
        public func sendIfRoom(_ message: Message) throws(MessageError) -> Bool {
            do throws(MessageError) {
                try send(message, before: .distantPast)
                return true
            } catch {
                guard error.code == .timedOut else { throw error }
                return false
            }
        }

        /// Calls a closure once, on a loop's thread, when there is room for a message or the port is gone.
        ///
        /// The call means that sending is worth a try. Another sender may be faster, and sending throws if the port is gone. The
        /// closure is a callout of its own, and keeps its mode from being empty until then. Callable from any thread.
        ///
        /// - Parameters:
        ///   - loop: The loop.
        ///   - mode: The mode, or `.common` for all common modes.
        ///   - label: The name that crash reports show for it.
        ///   - perform: Called on the loop's thread, never from within this call.
        /// - Returns: The item that waits in the loop; invalidate it to cancel the call.
        /// - Throws: `MessageError` with the code `system` if there are no descriptors or watches left.
        @discardableResult
        public func whenRoom(
            on loop: HostRunLoop,
            in mode: Mode = .common,
            label: String = "room",
            @_inheritActorContext perform: @escaping @Sendable @isolated(any) () -> Void
        ) throws(MessageError) -> Item {
            loop.require(perform.isolation, for: label)
            let perform = Plain.block(perform)
            switch destination {
            case .local(let right):
                let source = Source(label: label) { source in
                    source.invalidate()
                    perform()
                }
                loop.add(source, to: mode)
                right.inbox.signal(source, on: loop)
                return source
            case .socket(let channel):
                let descriptor: Message.Descriptor
                do throws(Errno) {
                    // The port may watch the descriptor, too, and a mode watches a descriptor only once.
                    descriptor = try Message.Descriptor(duplicating: channel.descriptor.fileDescriptor)
                } catch {
                    throw MessageError(error)
                }
                let port = PortSource(label: label, number: descriptor.rawValue, interest: .writable, peers: .one) {
                    port,
                    _ in
                    port.invalidate()
                    withExtendedLifetime(descriptor) {}
                    perform()
                }
                do throws(RunLoopError) {
                    try loop.add(port, to: mode)
                    return port
                } catch {
                    throw MessageError(code: .system, underlyingError: error.underlyingError)
                }
            }
        }
    }

    /// The target of a send right to a port of this process.
    final class LocalRight: Sendable {
        let inbox: MessageInbox
        private let isForOneAnswer: Bool

        /// Makes the right to send to an inbox.
        ///
        /// - Parameters:
        ///   - inbox: The inbox.
        ///   - isForOneAnswer: Whether the inbox waits for an answer that nobody can send once this object is gone.
        init(_ inbox: MessageInbox, isForOneAnswer: Bool = false) {
            self.inbox = inbox
            self.isForOneAnswer = isForOneAnswer
        }

        /// Tells an inbox that waits for an answer that none will come, because the handler that should send it has faulted.
        func endWithoutAnswer() {
            if isForOneAnswer { inbox.replyRightIsGone() }
        }

        deinit {
            if isForOneAnswer {
                inbox.replyRightIsGone()
            }
        }
    }
}
