package import SystemPackage

extension HostRunLoop {
    /// Why a message was not sent or not answered, or why a message port was not made.
    public struct MessageError: Error, Hashable, CustomStringConvertible {
        /// The kinds of failure that a program may want to tell apart; for the others see the description.
        public struct Code: Hashable, Sendable {
            fileprivate let text: String

            /// The time limit passed before the port had room, or before the answer came.
            public static let timedOut = Code(text: "the time limit passed")
            /// The port was invalidated, its process is gone, or nobody listens at the address.
            public static let portInvalid = Code(text: "the port is invalid or its process is gone")
            /// The request was dropped without an answer, and nobody can send one any more.
            public static let noReply = Code(text: "the request was dropped without an answer")
            /// The waiting thread was told to end, and the answer did not come within 200 ms after that.
            public static let threadEnding = Code(text: "the thread was told to end before the answer came")
            /// The payload is larger than 64 MiB.
            package static let tooLarge = Code(text: "the payload has more than \(Message.payloadLimit) bytes")
            /// The message has more than 251 descriptors, or too many are already in transit.
            package static let tooManyDescriptors = Code(
                text: "too many descriptors: a message carries at most \(Message.descriptorLimit)"
            )
            /// The address is empty, holds a NUL, or has more than 107 bytes.
            package static let addressInvalid = Code(text: "the address of a socket has 1 to 107 bytes and no NUL")
            /// Somebody already listens at the address, or the file there is not a socket.
            package static let addressInUse = Code(text: "somebody listens at the address, or its file is not a socket")
            /// The descriptor is not a Unix socket of the kind `SOCK_SEQPACKET`.
            package static let notASocket = Code(
                text: "the descriptor is not a Unix socket of the kind SOCK_SEQPACKET"
            )
            /// The system has no descriptors or memory left, or does not permit the call.
            package static let system = Code(text: "the system refused")
        }

        /// The kind of failure.
        public let code: Code
        /// The error of the system call, if one failed.
        package let underlyingError: Errno?

        package init(code: Code, underlyingError: Errno? = nil) {
            self.code = code
            self.underlyingError = underlyingError
        }

        /// Makes an error from the error of a system call on a socket.
        init(_ error: Errno) {
            let code: Code =
                switch error {
                case .timedOut: .timedOut
                case .brokenPipe, .connectionReset, .socketNotConnected, .connectionRefused, .noSuchFileOrDirectory:
                    .portInvalid
                // From a reply port that was closed because the handler had faulted.
                case .notSocket: .portInvalid
                case .tooManyReferences: .tooManyDescriptors
                case .fileNameTooLong: .addressInvalid
                case .addressInUse: .addressInUse
                default: .system
                }
            self.init(code: code, underlyingError: error)
        }

        /// What happened, with the error of the system call.
        public var description: String { code.text + (underlyingError.map { " (\($0))" } ?? "") }
    }
}

extension HostRunLoop {
    /// Why a message port closed a connection to another process.
    public struct ConnectionError: Error, Hashable, CustomStringConvertible {
        /// The reasons; all but the last three are mistakes of the peer.
        package struct Reason: Sendable, Hashable, CustomStringConvertible {
            /// The reason as a sentence.
            package let description: String

            /// The packet does not begin like a message.
            package static let wrongMagic = Reason(description: "the packet is not a message")
            /// The peer uses an unknown protocol version.
            package static func unknownVersion(_ version: UInt16) -> Reason {
                Reason(description: "the peer speaks version \(version), which is not known here")
            }
            /// The packet has unknown flags, or reserved bytes that are not zero.
            package static let unknownFlags = Reason(description: "the packet has flags that are not known here")
            /// The packet is longer or shorter than it says, or its payload exceeds the limit.
            package static let wrongLength = Reason(description: "the packet does not have the length that it names")
            /// The number of descriptors is not what the packet says.
            package static let wrongDescriptorCount = Reason(
                description: "the packet does not have the descriptors that it names"
            )
            /// The packet or its descriptors did not arrive complete; this also happens when this process has no descriptors left.
            package static let truncated = Reason(description: "the packet or its descriptors did not arrive whole")
            /// The payload should be in sealed memory of the announced size, but is not.
            package static let payloadNotSealed = Reason(description: "the payload is not in sealed memory of its size")
            /// The reply port is not a socket of the right kind.
            package static let replyPortInvalid = Reason(
                description: "the reply port is not a socket of the right kind"
            )
            /// The port already has as many connections as it may have.
            package static let tooManyConnections = Reason(
                description: "the port has as many connections as it may have"
            )
            /// This process has no descriptors left for a connection.
            package static let noDescriptorsLeft = Reason(description: "there are no descriptors left for a connection")
            /// A system call failed.
            package static func system(_ error: Errno) -> Reason {
                Reason(description: "a system call failed (\(error))")
            }
        }

        /// The reason.
        package let reason: Reason
        /// The sender of the packet, if there was one.
        package let sender: Message.Sender?

        /// What happened, with the process that sent the packet.
        public var description: String {
            reason.description + (sender.map { ", from process \($0.processID)" } ?? "")
        }
    }
}
