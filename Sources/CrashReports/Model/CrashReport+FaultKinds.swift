extension CrashReport.Fault {
    /// What an access to memory was for.
    ///
    /// A value that this version does not know is kept as it is.
    public struct Access: RawRepresentable, Codable, Sendable, Hashable {
        /// The value in JSON.
        public let rawValue: String

        /// Takes a value.
        ///
        /// - Parameter rawValue: The value in JSON.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The address was read.
        public static let read = Access(rawValue: "read")
        /// The address was written.
        public static let write = Access(rawValue: "write")
        /// The address was jumped to.
        public static let execute = Access(rawValue: "execute")
        /// The fault is not about an access to memory.
        public static let none = Access(rawValue: "none")
        /// It could not be told.
        public static let unknown = Access(rawValue: "unknown")
    }
}

extension CrashReport.Fault {
    /// What lies at an address, in words.
    ///
    /// A value that this version does not know is kept as it is.
    public struct AddressKind: RawRepresentable, Codable, Sendable, Hashable {
        /// The value in JSON.
        public let rawValue: String

        /// Takes a value.
        ///
        /// - Parameter rawValue: The value in JSON.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The first page, which is never mapped: a null pointer plus the offset of a member.
        public static let noCode = AddressKind(rawValue: "null page")
        /// The guard below a stack: the stack is used up.
        public static let stackGuard = AddressKind(rawValue: "stack guard")
        /// Nothing is mapped there.
        public static let unmapped = AddressKind(rawValue: "unmapped")
        /// Memory that may not be written.
        public static let readOnly = AddressKind(rawValue: "read-only memory")
        /// Memory that may not be executed.
        public static let notExecutable = AddressKind(rawValue: "memory that is not executable")
        /// Memory that may not be accessed at all.
        public static let inaccessible = AddressKind(rawValue: "inaccessible memory")
        /// A mapping that reaches further than its file.
        public static let pastEndOfFile = AddressKind(rawValue: "past the end of a mapped file")
        /// An address that x86-64 does not have; the kernel reports it as zero.
        public static let nonCanonical = AddressKind(rawValue: "non-canonical")
        /// The half of the address space that belongs to the kernel.
        public static let kernel = AddressKind(rawValue: "kernel memory")
    }
}
