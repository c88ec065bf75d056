extension CrashReport.Fault {
    /// A C++ exception that nobody caught.
    public struct Exception: Codable, Sendable, Hashable {
        /// Its type, demangled, such as `std::out_of_range`.
        public var type: String
        /// What it says of itself, if it says anything.
        public var message: String?

        /// Makes the description of an exception.
        ///
        /// - Parameters:
        ///   - type: Its type, demangled.
        ///   - message: What it says of itself, if it says anything.
        public init(type: String, message: String? = nil) {
            self.type = type
            self.message = message
        }

        /// Takes the texts of a record; nil where both are empty.
        init?(type: String, message: String) {
            guard !type.isEmpty || !message.isEmpty else { return nil }
            self.type = type.isEmpty ? "of an unknown type" : type
            self.message = message.isEmpty ? nil : message
        }

        /// The type, and what the exception says of itself after it.
        public var text: String {
            message.map { "\(type): \($0)" } ?? type
        }
    }
}
