/// The head of a packet that carries a message; all numbers are in native byte order.
///
/// | bytes | what |
/// | --- | --- |
/// | 0..<4 | the magic number |
/// | 4..<6 | the version, 1 |
/// | 6..<8 | flags: 1 for a payload in sealed memory, 2 for a reply port; the others are zero |
/// | 8..<12 | the type of the message |
/// | 12..<16 | how many descriptors belong to the message |
/// | 16..<24 | how many bytes the payload has |
/// | 24..<32 | zero |
///
/// The payload follows, unless it is in sealed memory. The packet has these descriptors in this order: the sealed memory, if
/// used; the reply port, if any (an end of a `SOCK_SEQPACKET` socket to send to); the message's own descriptors.
struct MessageFrame: Equatable {
    static let headSize = 32
    /// Larger payloads are sent in sealed memory: a packet must fit into a socket's buffer, by default 208 KiB.
    static let inlineLimit = 32 << 10

    private static let magic: UInt32 = 0x504d_4648
    private static let version: UInt16 = 1

    struct Flags: OptionSet {
        let rawValue: UInt16

        static let payloadInMemory = Flags(rawValue: 1)
        static let replyPort = Flags(rawValue: 2)
        static let all: Flags = [.payloadInMemory, .replyPort]
    }

    var flags: Flags
    var type: UInt32
    var descriptorCount: Int
    var payloadSize: Int

    /// The number of descriptors in the packet.
    var packetDescriptorCount: Int {
        descriptorCount + (flags.contains(.payloadInMemory) ? 1 : 0) + (flags.contains(.replyPort) ? 1 : 0)
    }

    init(flags: Flags, type: UInt32, descriptorCount: Int, payloadSize: Int) {
        self.flags = flags
        self.type = type
        self.descriptorCount = descriptorCount
        self.payloadSize = payloadSize
    }

    /// The head of the packet.
    var head: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.headSize)
        func put(_ value: some FixedWidthInteger) {
            unsafe withUnsafeBytes(of: value) { unsafe bytes.append(contentsOf: $0) }
        }
        put(Self.magic)
        put(Self.version)
        put(flags.rawValue)
        put(type)
        put(UInt32(descriptorCount))
        put(UInt64(payloadSize))
        put(UInt64(0))
        return bytes
    }

    /// Reads the head of a packet from an untrusted sender.
    ///
    /// - Parameter packet: All of its bytes.
    /// - Throws: The reason to refuse it.
    init(_ packet: UnsafeRawBufferPointer) throws(HostRunLoop.ConnectionError.Reason) {
        func number<Number: FixedWidthInteger>(at offset: Int, as type: Number.Type) -> Number {
            unsafe packet.loadUnaligned(fromByteOffset: offset, as: type)
        }
        guard packet.count >= Self.headSize, number(at: 0, as: UInt32.self) == Self.magic else { throw .wrongMagic }
        let version = number(at: 4, as: UInt16.self)
        guard version == Self.version else { throw .unknownVersion(version) }
        flags = Flags(rawValue: number(at: 6, as: UInt16.self))
        guard flags.isSubset(of: .all), number(at: 24, as: UInt64.self) == 0 else { throw .unknownFlags }
        type = number(at: 8, as: UInt32.self)
        let descriptorCount = number(at: 12, as: UInt32.self)
        guard descriptorCount <= HostRunLoop.Message.descriptorLimit else { throw .wrongDescriptorCount }
        self.descriptorCount = Int(descriptorCount)
        let payloadSize = number(at: 16, as: UInt64.self)
        guard payloadSize <= HostRunLoop.Message.payloadLimit else { throw .wrongLength }
        self.payloadSize = Int(payloadSize)
        let inlineSize = flags.contains(.payloadInMemory) ? 0 : self.payloadSize
        guard packet.count == Self.headSize + inlineSize else { throw .wrongLength }
    }
}

extension HostRunLoop.ConnectionError.Reason: Error {}
