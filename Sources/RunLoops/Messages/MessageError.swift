public import SystemPackage

extension HostRunLoop {
    /// Why a message was not sent or not answered, or a message port not made.
    public struct MessageError: Error, Hashable, CustomStringConvertible {
        /// The kinds of failure.
        public struct Code: Hashable, Sendable, CustomStringConvertible {
            private enum Kind: Hashable {
                case timedOut
                case portInvalid
                case noReply
                case tooLarge
                case tooManyDescriptors
                case addressInvalid
                case addressInUse
                case notASocket
                case threadEnding
                case system
            }

            private let kind: Kind

            /// The time was over before the port had room, or before the answer came.
            public static let timedOut = Code(kind: .timedOut)
            /// The port was invalidated, its process is gone, or nobody listens at the address.
            public static let portInvalid = Code(kind: .portInvalid)
            /// The request was dropped without an answer: nobody can send one any more.
            public static let noReply = Code(kind: .noReply)
            /// The payload has more than `Message.payloadLimit` bytes.
            public static let tooLarge = Code(kind: .tooLarge)
            /// There are more than `Message.descriptorLimit` descriptors, or too many are under way already.
            public static let tooManyDescriptors = Code(kind: .tooManyDescriptors)
            /// The address is empty, holds a NUL, or has more than 107 bytes.
            public static let addressInvalid = Code(kind: .addressInvalid)
            /// Somebody listens at the address, or the file there is not a socket.
            public static let addressInUse = Code(kind: .addressInUse)
            /// The descriptor is not a Unix socket of the kind `SOCK_SEQPACKET`.
            public static let notASocket = Code(kind: .notASocket)
            /// The thread that waits for the answer was told to end, and the answer did not come within 200 ms from then on.
            public static let threadEnding = Code(kind: .threadEnding)
            /// The system has no descriptors or no memory left, or does not permit it.
            public static let system = Code(kind: .system)

            /// What it means, as a sentence.
            public var description: String {
                switch kind {
                case .timedOut: "the time was over"
                case .portInvalid: "the port is invalid or its process is gone"
                case .noReply: "the request was dropped without an answer"
                case .tooLarge: "the payload has more than \(Message.payloadLimit) bytes"
                case .tooManyDescriptors: "too many descriptors: a message carries \(Message.descriptorLimit)"
                case .addressInvalid: "the address of a socket has 1 to 107 bytes and no NUL"
                case .addressInUse: "somebody listens at the address, or its file is not a socket"
                case .notASocket: "the descriptor is not a Unix socket of the kind SOCK_SEQPACKET"
                case .threadEnding: "the thread was told to end before the answer came"
                case .system: "the system refused"
                }
            }
        }

        /// What kind of failure it is.
        public let code: Code
        /// The error of the system call, if one failed.
        public let underlyingError: Errno?

        /// Makes an error.
        ///
        /// - Parameters:
        ///   - code: What kind of failure it is.
        ///   - underlyingError: The error of the system call, if one failed.
        public init(code: Code, underlyingError: Errno? = nil) {
            self.code = code
            self.underlyingError = underlyingError
        }

        /// Makes an error from that of a system call on a socket.
        init(_ error: Errno) {
            let code: Code =
                switch error {
                case .timedOut: .timedOut
                case .brokenPipe, .connectionReset, .socketNotConnected, .connectionRefused, .noSuchFileOrDirectory:
                    .portInvalid
                // Of a reply port that was closed because the handler had faulted.
                case .notSocket: .portInvalid
                case .tooManyReferences: .tooManyDescriptors
                case .fileNameTooLong: .addressInvalid
                case .addressInUse: .addressInUse
                default: .system
                }
            self.init(code: code, underlyingError: error)
        }

        /// What happened, with the error of the system call.
        public var description: String {
            guard let underlyingError else { return code.description }
            return "\(code) (\(underlyingError))"
        }
    }
}
