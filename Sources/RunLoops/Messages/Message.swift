import Glibc
import LinuxSystem
public import SystemPackage

extension HostRunLoop {
    /// What goes from one thread or process to another: a type, bytes, descriptors, and where an answer goes.
    ///
    /// What the type and the payload mean is for the application to say. Sending it gives nothing away: within the process
    /// both sides share the descriptors' handles, between processes the other side gets duplicates.
    public struct Message: Sendable {
        /// How many bytes a payload may have: 64 MiB.
        package static let payloadLimit = 64 << 20
        /// How many descriptors a message may carry beside its reply port.
        ///
        /// A packet of the kernel carries 253 (`SCM_MAX_FD`): one is left for a large payload, one for the reply port.
        package static let descriptorLimit = 251

        /// Who sent a message from another process, as the kernel says (`SCM_CREDENTIALS` of unix(7)).
        public struct Sender: Sendable, Hashable {
            /// The process; 0 if it lives in another process namespace.
            public let processID: Int32
            /// Its effective user.
            public let userID: UInt32
            /// Its effective group.
            package let groupID: UInt32
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

extension HostRunLoop.Message {
    /// A descriptor that is closed when nobody refers to this handle any more.
    ///
    /// Nobody else may close it. Callable from any thread. What a handler that faulted referred to stays open, like all that
    /// lies on its abandoned stack.
    public final class Descriptor: Sendable {
        private let descriptor: OwnedDescriptor

        /// Takes over an open descriptor.
        ///
        /// - Parameter descriptor: The descriptor; from now on only this handle closes it.
        public convenience init(takingOver descriptor: FileDescriptor) {
            self.init(owning: OwnedDescriptor(takingOver: descriptor.rawValue))
        }

        /// Takes over an open descriptor.
        init(owning descriptor: consuming OwnedDescriptor) {
            self.descriptor = descriptor
        }

        /// Makes a duplicate of a descriptor that somebody else closes.
        ///
        /// - Parameter descriptor: An open descriptor.
        /// - Throws: The error of the call: `EBADF` if it is not open, `EMFILE`.
        package convenience init(duplicating descriptor: FileDescriptor) throws(Errno) {
            let number = try SystemCall.checked { fcntl(descriptor.rawValue, F_DUPFD_CLOEXEC, 0) }
            self.init(owning: OwnedDescriptor(takingOver: number))
        }

        /// The descriptor, valid as long as this handle.
        public var fileDescriptor: FileDescriptor { FileDescriptor(rawValue: rawValue) }

        /// The number of the descriptor.
        package var rawValue: CInt { descriptor.rawValue }

        /// Makes a duplicate for somebody who closes it.
        ///
        /// - Returns: The duplicate, closed on exec.
        /// - Throws: The error of the call: `EMFILE`.
        package func duplicate() throws(Errno) -> FileDescriptor {
            FileDescriptor(rawValue: try SystemCall.checked { fcntl(rawValue, F_DUPFD_CLOEXEC, 0) })
        }
    }
}

extension HostRunLoop {
    /// A value that travels as a message.
    public protocol MessageConvertible: Sendable {
        /// The type of its messages.
        static var messageType: UInt32 { get }

        /// Makes the value from a message of its type.
        ///
        /// Fails if the payload or the descriptors do not make such a value: the message may come from a process that is not
        /// trusted.
        ///
        /// - Parameter message: The message, whose type was checked.
        init?(messageContent message: Message)

        /// The payload.
        var messagePayload: [UInt8] { get }

        /// The descriptors; none unless a type has some.
        var messageDescriptors: [Message.Descriptor] { get }
    }
}

extension HostRunLoop.MessageConvertible {
    /// No descriptors.
    public var messageDescriptors: [HostRunLoop.Message.Descriptor] { [] }
}

extension HostRunLoop.Message {
    /// Makes the message as which a value travels.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - replyPort: Where an answer goes.
    public init(_ value: some HostRunLoop.MessageConvertible, replyPort: HostRunLoop.SendRight? = nil) {
        self.init(
            type: Swift.type(of: value).messageType,
            payload: value.messagePayload,
            descriptors: value.messageDescriptors,
            replyPort: replyPort
        )
    }

    /// Returns the value that travelled as this message.
    ///
    /// - Parameter type: The type of the value.
    /// - Returns: The value, or `nil` if the message is of another type or does not make one.
    public func value<Value: HostRunLoop.MessageConvertible>(as type: Value.Type) -> Value? {
        self.type == Value.messageType ? Value(messageContent: self) : nil
    }
}
