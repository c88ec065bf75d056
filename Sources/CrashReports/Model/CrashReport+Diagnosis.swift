extension CrashReport {
    /// What is probably wrong, in plain words.
    public struct Diagnosis: Codable, Sendable, Hashable {
        /// What is wrong, in one line.
        public var summary: String
        /// What to look at next, the most promising first.
        public var next: [String]

        /// Makes a diagnosis.
        public init(summary: String, next: [String] = []) {
            self.summary = summary
            self.next = next
        }
    }

    /// A piece of memory, as it was at the fault.
    public struct MemoryBytes: Codable, Sendable, Hashable {
        /// The address of the first byte.
        public var address: HexAddress
        /// The bytes as hexadecimal digits, two each.
        public var bytes: String
        /// Why it was taken, such as `code`, `stack` or the name of a register.
        public var about: String

        /// Makes a piece of memory.
        public init(address: HexAddress, bytes: String, about: String) {
            self.address = address
            self.bytes = bytes
            self.about = about
        }
    }
}
