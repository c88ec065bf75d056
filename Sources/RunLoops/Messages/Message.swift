import Glibc
import LinuxSystem
public import SystemPackage

extension HostRunLoop {
    /// A message from one thread or process to another: a type, bytes, descriptors, and a reply port.
    ///
    /// The application defines what the type and the payload mean. The sender keeps everything that it sends: within the process
    /// both sides share the descriptors' handles, and another process gets duplicates.
    public struct Message: Sendable {
        /// The largest payload in bytes: 64 MiB.
        package static let payloadLimit = 64 << 20
        /// The largest number of descriptors in a message, besides its reply port.
        ///
        /// A packet of the kernel carries 253 (`SCM_MAX_FD`). One is reserved for a large payload and one for the reply port.
        package static let descriptorLimit = 251

        /// The sender of a message from another process, as reported by the kernel (`SCM_CREDENTIALS` of unix(7)).
        public struct Sender: Sendable, Hashable {
            /// The process; 0 if it lives in another process namespace.
            public let processID: Int32
            /// Its effective user.
            public let userID: UInt32
            /// Its effective group.
            package let groupID: UInt32
        }

        /// The kind of message, like `msgid` of Foundation's ports.
        public var type: UInt32
        /// The bytes.
        public var payload: [UInt8]
        /// The descriptors, in the order in which the sender gave them.
        public var descriptors: [Descriptor]
        /// Where to send an answer.
        public var replyPort: SendRight?
        /// The sender; `nil` unless the message came over a socket.
        public internal(set) var sender: Sender?

        /// Makes a message.
        ///
        /// - Parameters:
        ///   - type: The kind of message.
        ///   - payload: The bytes.
        ///   - descriptors: Descriptors that the receiver shares or gets duplicates of.
        ///   - replyPort: Where to send an answer.
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

        /// Throws if the message exceeds a limit.
        func checkSize() throws(MessageError) {
            guard payload.count <= Self.payloadLimit else { throw MessageError(code: .tooLarge) }
            guard descriptors.count <= Self.descriptorLimit else { throw MessageError(code: .tooManyDescriptors) }
        }
    }
}

extension HostRunLoop.Message {
    /// A descriptor that is closed when the last reference to this handle is gone.
    ///
    /// Nobody else may close it. Callable from any thread. If a handler faults, the descriptors that it referred to stay open, like
    /// everything else on its abandoned stack.
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

        /// Makes a duplicate of a descriptor that its owner closes.
        ///
        /// - Parameter descriptor: An open descriptor.
        /// - Throws: The error of the call: `EBADF` if the descriptor is not open, or `EMFILE`.
        package convenience init(duplicating descriptor: FileDescriptor) throws(Errno) {
            let number = try SystemCall.checked { fcntl(descriptor.rawValue, F_DUPFD_CLOEXEC, 0) }
            self.init(owning: OwnedDescriptor(takingOver: number))
        }

        /// The descriptor, valid as long as this handle exists.
        public var fileDescriptor: FileDescriptor { FileDescriptor(rawValue: rawValue) }

        /// The number of the descriptor.
        package var rawValue: CInt { descriptor.rawValue }

        /// Makes a duplicate that the caller must close.
        ///
        /// - Returns: The duplicate, closed on exec.
        /// - Throws: The error of the call: `EMFILE`.
        package func duplicate() throws(Errno) -> FileDescriptor {
            FileDescriptor(rawValue: try SystemCall.checked { fcntl(rawValue, F_DUPFD_CLOEXEC, 0) })
        }
    }
}

extension HostRunLoop {
    /// A value that can be sent as a message.
    public protocol MessageConvertible: Sendable {
        /// The type of its messages.
        static var messageType: UInt32 { get }

        /// Makes the value from a message of its type.
        ///
        /// Fails if the payload or the descriptors are not those of such a value: the message may come from an untrusted process.
        ///
        /// - Parameter message: The message, whose type was already checked.
        init?(messageContent message: Message)

        /// The payload.
        var messagePayload: [UInt8] { get }

        /// The descriptors; none by default.
        var messageDescriptors: [Message.Descriptor] { get }
    }
}

extension HostRunLoop.MessageConvertible {
    /// No descriptors.
    public var messageDescriptors: [HostRunLoop.Message.Descriptor] { [] }
}

extension HostRunLoop.Message {
    /// Makes a message from a value.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - replyPort: Where to send an answer.
    public init(_ value: some HostRunLoop.MessageConvertible, replyPort: HostRunLoop.SendRight? = nil) {
        self.init(
            type: Swift.type(of: value).messageType,
            payload: value.messagePayload,
            descriptors: value.messageDescriptors,
            replyPort: replyPort
        )
    }

    /// Returns the value that was sent as this message.
    ///
    /// - Parameter type: The type of the value.
    /// - Returns: The value, or `nil` if the message has another type or invalid content.
    public func value<Value: HostRunLoop.MessageConvertible>(as type: Value.Type) -> Value? {
        self.type == Value.messageType ? Value(messageContent: self) : nil
    }
}
