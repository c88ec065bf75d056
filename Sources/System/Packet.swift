import CLinuxShims
import Glibc
public import SystemPackage

/// What came with a packet apart from its bytes.
public struct PacketExtras: Sendable {
    /// The sender, as the kernel says.
    public struct Credentials: Sendable, Hashable {
        /// The process; 0 if it lives in another namespace.
        public let process: Int32
        /// Its user.
        public let user: UInt32
        /// Its group.
        public let group: UInt32
    }

    /// The numbers of open descriptors, which now belong to the receiver of the packet.
    public let descriptors: [CInt]
    /// The sender, if the socket asks for that.
    public let credentials: Credentials?
    /// Whether bytes or descriptors were lost because there was no room for them.
    public let isTruncated: Bool
}

/// Sending and taking packets.
extension PacketSocket {
    /// How many descriptors a packet can carry: `SCM_MAX_FD` of the kernel.
    public static let descriptorLimit = Int(HF_PACKET_DESCRIPTORS)

    /// Sends one packet without waiting.
    ///
    /// The corresponding C function is `sendmsg`, with `MSG_DONTWAIT` and `MSG_NOSIGNAL`.
    ///
    /// - Parameters:
    ///   - head: The first bytes.
    ///   - body: The bytes behind them.
    ///   - descriptors: Descriptors that the other side gets duplicates of.
    ///   - number: A connected socket.
    /// - Throws: The error of the call: `EAGAIN` while there is no room, `EPIPE` or `ECONNRESET` if the peer is gone,
    ///   `EMSGSIZE` if the packet is too large, `ETOOMANYREFS` if too many descriptors are under way.
    public static func send(
        _ head: [UInt8],
        _ body: [UInt8],
        descriptors: [CInt],
        to number: CInt
    ) throws(Errno) {
        try SystemCall.checked {
            unsafe hf_packet_send(
                number,
                head,
                head.count,
                body,
                body.count,
                descriptors,
                UInt32(descriptors.count)
            )
        }
    }

    /// Takes one packet without waiting.
    ///
    /// The corresponding C function is `recvmsg`, with `MSG_DONTWAIT` and `MSG_CMSG_CLOEXEC`.
    ///
    /// - Parameters:
    ///   - buffer: Takes the bytes.
    ///   - number: A connected socket.
    /// - Returns: How many bytes came, 0 if the peer is gone, and what came with them.
    /// - Throws: The error of the call: `EAGAIN` if there is none, `ECONNRESET` once if the peer has gone without taking everything.
    ///   Packets may be left to take then.
    @unsafe
    public static func receive(
        into buffer: UnsafeMutableRawBufferPointer,
        from number: CInt
    ) throws(Errno) -> (count: Int, extras: PacketExtras) {
        guard let bytes = buffer.baseAddress else { throw .invalidArgument }
        var extras = HFPacketExtras()
        let count = try SystemCall.checked { unsafe hf_packet_receive(number, bytes, buffer.count, &extras) }
        let descriptorCount = Int(extras.descriptor_count)
        let descriptors = unsafe withUnsafeBytes(of: &extras.descriptors) {
            unsafe Array($0.bindMemory(to: CInt.self).prefix(descriptorCount))
        }
        var credentials: PacketExtras.Credentials?
        if extras.has_credentials {
            credentials = .init(process: extras.pid, user: extras.uid, group: extras.gid)
        }
        return (
            count,
            PacketExtras(descriptors: descriptors, credentials: credentials, isTruncated: extras.is_truncated)
        )
    }
}
