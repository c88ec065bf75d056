public import SystemPackage

extension HostRunLoop {
    /// Why a message port closed a connection to another process.
    public struct ConnectionError: Error, Hashable, CustomStringConvertible {
        /// The kinds of reasons; all but the last three are mistakes of the peer.
        public enum Reason: Sendable, Hashable, CustomStringConvertible {
            /// The packet does not begin as a message does.
            case wrongMagic
            /// The peer speaks a version that is not known here.
            case unknownVersion(UInt16)
            /// The packet has flags that are not known here, or bytes that must be zero are not.
            case unknownFlags
            /// The packet is longer or shorter than it says, or its payload exceeds the limit.
            case wrongLength
            /// There are more or fewer descriptors than the packet says.
            case wrongDescriptorCount
            /// The packet or its descriptors did not arrive whole; also when this process has no descriptors left.
            case truncated
            /// The payload was to be in sealed memory of the announced size, and is not.
            case payloadNotSealed
            /// The reply port is not a socket of the right kind.
            case replyPortInvalid
            /// The port has as many connections as it may have.
            case tooManyConnections
            /// This process has no descriptors left for a connection.
            case noDescriptorsLeft
            /// A system call failed.
            case system(Errno)

            /// What it means, as a sentence.
            public var description: String {
                switch self {
                case .wrongMagic: "the packet is not a message"
                case .unknownVersion(let version): "the peer speaks version \(version), which is not known here"
                case .unknownFlags: "the packet has flags that are not known here"
                case .wrongLength: "the packet does not have the length that it names"
                case .wrongDescriptorCount: "the packet does not have the descriptors that it names"
                case .truncated: "the packet or its descriptors did not arrive whole"
                case .payloadNotSealed: "the payload is not in sealed memory of its size"
                case .replyPortInvalid: "the reply port is not a socket of the right kind"
                case .tooManyConnections: "the port has as many connections as it may have"
                case .noDescriptorsLeft: "there are no descriptors left for a connection"
                case .system(let error): "a system call failed (\(error))"
                }
            }
        }

        /// Why.
        public let reason: Reason
        /// Who sent the packet, if there was one.
        public let sender: Message.Sender?

        /// What happened, with the process that sent the packet.
        public var description: String {
            guard let sender else { return reason.description }
            return "\(reason), from process \(sender.processID)"
        }
    }
}
