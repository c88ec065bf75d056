extension HostRunLoop {
    /// What goes from one thread or process to another: a type, bytes, descriptors, and where an answer goes.
    ///
    /// What the type and the payload mean is for the application to say. Sending it gives nothing away: within the process
    /// both sides share the descriptors' handles, between processes the other side gets duplicates.
    public struct Message: Sendable {
        /// How many bytes a payload may have: 64 MiB.
        public static let payloadLimit = 64 << 20
        /// How many descriptors a message may carry beside its reply port.
        ///
        /// A packet of the kernel carries 253 (`SCM_MAX_FD`): one is left for a large payload, one for the reply port.
        public static let descriptorLimit = 251

        /// Who sent a message from another process, as the kernel says (`SCM_CREDENTIALS` of unix(7)).
        public struct Sender: Sendable, Hashable {
            /// The process; 0 if it lives in another process namespace.
            public let processID: Int32
            /// Its effective user.
            public let userID: UInt32
            /// Its effective group.
            public let groupID: UInt32
        }

        /// What kind of message it is: `msgid` of Foundation's ports.
        public var type: UInt32
        /// The bytes.
        public var payload: [UInt8]
        /// The descriptors, in the order in which the sender gave them.
        public var descriptors: [Descriptor]
        /// Where an answer goes.
        public var replyPort: SendRight?
        /// Who sent it; `nil` unless it came over a socket.
        public internal(set) var sender: Sender?

        /// Makes a message.
        ///
        /// - Parameters:
        ///   - type: What kind of message it is.
        ///   - payload: The bytes.
        ///   - descriptors: Descriptors that the other side gets, too.
        ///   - replyPort: Where an answer goes.
        public init(
            type: UInt32,
            payload: [UInt8] = [],
            descriptors: [Descriptor] = [],
            replyPort: SendRight? = nil
        ) {
            self.type = type
            self.payload = payload
            self.descriptors = descriptors
            self.replyPort = replyPort
        }

        /// Throws if it is larger than any message may be.
        func checkSize() throws(MessageError) {
            guard payload.count <= Self.payloadLimit else { throw MessageError(code: .tooLarge) }
            guard descriptors.count <= Self.descriptorLimit else { throw MessageError(code: .tooManyDescriptors) }
        }
    }
}
