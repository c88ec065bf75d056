extension FaultRecord {
    /// What the crash thread did instead of giving a verdict.
    public struct CrashThread: Sendable, Hashable {
        /// The letter of its state (proc_pid_stat(5)); nil if that is not known.
        public var state: Unicode.Scalar?
        /// The number of the system call that it was in; nil for none.
        public var systemCall: Int?

        /// Makes a description.
        ///
        /// - Parameters:
        ///   - state: The letter of its state.
        ///   - systemCall: The number of the system call that it was in.
        public init(state: Unicode.Scalar? = nil, systemCall: Int? = nil) {
            self.state = state
            self.systemCall = systemCall
        }

        init(_ bytes: RecordBytes, at offset: Int) {
            let letter = bytes.integer(offset, as: UInt16.self)
            state = letter > 32 && letter < 127 ? Unicode.Scalar(letter) : nil
            let number = Int(bytes.integer(offset + 2, as: Int16.self))
            systemCall = state != nil && number >= 0 ? number : nil
        }
    }
}
