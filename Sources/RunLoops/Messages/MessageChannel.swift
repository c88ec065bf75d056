import LinuxSystem
import SystemPackage

/// The sending side of a socket to another port.
final class MessageChannel: Sendable {
    typealias Message = HostRunLoop.Message
    typealias MessageError = HostRunLoop.MessageError

    let descriptor: Message.Descriptor

    /// Makes the sending side of a connected socket.
    init(_ descriptor: Message.Descriptor) {
        self.descriptor = descriptor
    }

    /// Whether the peer is still there.
    var isConnected: Bool {
        Readiness.now(of: descriptor.rawValue, for: []).isDisjoint(with: [.hangUp, .error])
    }

    /// Ends the connection for everybody who has this handle.
    ///
    /// The peer sees the end as soon as no process has another descriptor for the connection. The descriptor's number stays in use,
    /// because another thread may be about to use it.
    ///
    /// - Parameter other: A descriptor that cannot be sent over, to take the place of this one; without it, the connection ends for
    ///   every process.
    func disconnect(_ other: CInt?) {
        if let other, PacketSocket.replace(descriptor.rawValue, with: other) { return }
        PacketSocket.disconnect(descriptor.rawValue)
    }

    /// Sends a message; waits for room until a time on the monotonic clock.
    func send(_ message: Message, before deadline: Int64) throws(MessageError) {
        try message.checkSize()
        guard let right = message.replyPort else {
            return try send(message, replyPort: nil, before: deadline)
        }
        switch right.destination {
        case .socket(let channel):
            try send(message, replyPort: channel.descriptor, before: deadline)
        case .local(let right):
            // The peer gets one end of a new connection. The port receives what comes out of the other end.
            let (ours, theirs) = try Message.Descriptor.socketPair()
            let token = try right.inbox.attach(.connection(ours))
            do throws(MessageError) {
                try send(message, replyPort: theirs, before: deadline)
            } catch {
                right.inbox.detach(token)
                throw error
            }
        }
    }

    private func send(_ message: Message, replyPort: Message.Descriptor?, before deadline: Int64) throws(MessageError) {
        let isLarge = message.payload.count > MessageFrame.inlineLimit
        var packet = try Packet(message, replyPort: replyPort, inMemory: isLarge)
        while true {
            do throws(Errno) {
                try PacketSocket.send(
                    packet.head,
                    packet.body,
                    descriptors: packet.descriptors,
                    to: descriptor.rawValue
                )
                return
            } catch .resourceTemporarilyUnavailable {
                guard PacketSocket.waitForRoom(in: descriptor.rawValue, before: deadline) else {
                    throw MessageError(code: .timedOut)
                }
            } catch .messageTooLong where packet.memory == nil {
                // The socket's buffer is smaller than usual.
                packet = try Packet(message, replyPort: replyPort, inMemory: true)
            } catch {
                throw MessageError(error)
            }
        }
    }

    /// A message in the form in which it goes over the socket.
    private struct Packet {
        let head: [UInt8]
        let body: [UInt8]
        let descriptors: [CInt]
        /// Keeps the descriptor of a large payload open.
        let memory: Message.Descriptor?

        init(_ message: Message, replyPort: Message.Descriptor?, inMemory: Bool) throws(MessageError) {
            var frame = MessageFrame(
                flags: [],
                type: message.type,
                descriptorCount: message.descriptors.count,
                payloadSize: message.payload.count
            )
            var descriptors: [CInt] = []
            if inMemory {
                let memory: Message.Descriptor
                do throws(Errno) {
                    memory = Message.Descriptor(owning: try SealedMemory.make(message.payload))
                } catch {
                    throw MessageError(error)
                }
                frame.flags.insert(.payloadInMemory)
                descriptors.append(memory.rawValue)
                self.memory = memory
            } else {
                memory = nil
            }
            if let replyPort {
                frame.flags.insert(.replyPort)
                descriptors.append(replyPort.rawValue)
            }
            for descriptor in message.descriptors {
                descriptors.append(descriptor.rawValue)
            }
            head = frame.head
            body = inMemory ? [] : message.payload
            self.descriptors = descriptors
        }
    }
}
