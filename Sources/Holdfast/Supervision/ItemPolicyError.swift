/// Why an item did not get a policy of its own.
public struct ItemPolicyError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What went wrong.
    public struct Code: Sendable, Hashable {
        private enum Value { case full, noItem, noThread }
        private let value: Value

        /// As many items have a policy of their own as there is room for.
        public static let full = Code(value: .full)
        /// The identity is 0, which means no item.
        public static let noItem = Code(value: .noItem)
        /// The thread that watches for deadlines cannot be made.
        public static let noThread = Code(value: .noThread)
    }

    /// What went wrong.
    public let code: Code
    /// How many items have room.
    private let capacity: Int

    package init(code: Code, capacity: Int = Supervisor.policyCapacity) {
        self.code = code
        self.capacity = capacity
    }

    /// The error in words, with what to do.
    public var description: String {
        switch code {
        case .full: "\(capacity) items have a policy of their own already; remove those of items that are gone"
        case .noThread: "the thread that watches for deadlines cannot be made"
        default: "0 is the identity of no item; give that of a source, a timer, a port source or an observer"
        }
    }
}
