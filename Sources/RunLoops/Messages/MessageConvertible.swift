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
