import LinuxSystem
import SystemPackage

/// The result of reading from a socket.
enum MessageReception {
    /// A message.
    case message(HostRunLoop.Message)
    /// Nothing: another thread was faster.
    case nothing
    /// The peer is gone, and everything that it had sent was read.
    case peerGone
    /// Something that no honest peer sends.
    case refused(HostRunLoop.ConnectionError)

    private typealias Message = HostRunLoop.Message

    /// Reads one packet, without waiting, and makes a message of it.
    ///
    /// An enemy may have sent it. Each descriptor gets a handle before anything is inspected, so that the descriptors of a refused
    /// packet are closed.
    static func take(from socket: CInt) -> MessageReception {
        let size = MessageFrame.headSize + MessageFrame.inlineLimit
        // Not on the stack: the stack of a callout may be small.
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 8)
        defer { unsafe buffer.deallocate() }
        while true {
            do throws(Errno) {
                let (count, extras) = try unsafe PacketSocket.receive(into: buffer, from: socket)
                let handles = extras.descriptors.map { Message.Descriptor(takingOver: FileDescriptor(rawValue: $0)) }
                // An empty packet looks the same, but no honest peer sends one.
                guard count > 0 else { return .peerGone }
                return unsafe message(from: UnsafeRawBufferPointer(rebasing: buffer[..<count]), extras, handles)
            } catch .connectionReset {
                // Reported once, before the remaining packets (unix_release_sock of af_unix.c).
                continue
            } catch .resourceTemporarilyUnavailable {
                return .nothing
            } catch {
                return .refused(HostRunLoop.ConnectionError(reason: .system(error), sender: nil))
            }
        }
    }

    private static func message(
        from packet: UnsafeRawBufferPointer,
        _ extras: PacketExtras,
        _ handles: [Message.Descriptor]
    ) -> MessageReception {
        let sender = extras.credentials.map {
            Message.Sender(processID: $0.process, userID: $0.user, groupID: $0.group)
        }
        do throws(HostRunLoop.ConnectionError.Reason) {
            guard !extras.isTruncated else { throw .truncated }
            let frame = try unsafe MessageFrame(packet)
            guard handles.count == frame.packetDescriptorCount else { throw .wrongDescriptorCount }
            var rest = handles[...]
            var message = Message(type: frame.type)
            message.sender = sender
            if frame.flags.contains(.payloadInMemory), let memory = rest.popFirst() {
                message.payload = try payload(in: memory, size: frame.payloadSize)
            } else {
                message.payload = unsafe Array(packet[MessageFrame.headSize...])
            }
            if frame.flags.contains(.replyPort), let socket = rest.popFirst() {
                guard PacketSocket.isPacketSocket(socket.rawValue) else { throw .replyPortInvalid }
                message.replyPort = HostRunLoop.SendRight(.socket(MessageChannel(socket)))
            }
            message.descriptors = Array(rest)
            return .message(message)
        } catch {
            return .refused(HostRunLoop.ConnectionError(reason: error, sender: sender))
        }
    }

    private static func payload(
        in memory: Message.Descriptor,
        size: Int
    ) throws(HostRunLoop.ConnectionError.Reason) -> [UInt8] {
        do throws(SealedMemory.Refusal) {
            return try SealedMemory.read(memory.rawValue, size: size)
        } catch .unreadable(let error) {
            throw .system(error)
        } catch {
            throw .payloadNotSealed
        }
    }
}
