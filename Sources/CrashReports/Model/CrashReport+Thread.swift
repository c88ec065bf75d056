extension CrashReport {
    /// The thread that faulted.
    public struct Thread: Codable, Sendable, Hashable {
        /// The thread identifier, as `gettid` gives it.
        public var id: Int
        /// Its name, if it has one of its own.
        public var name: String?
        /// Whether it is the main thread.
        public var isMain: Bool
        /// Its calls, the innermost first.
        public var frames: [Frame]
        /// How many frames in the middle or at the end were left out.
        public var framesOmitted: Int
        /// Whether the walk ended before the end of the stack.
        public var framesTruncated: Bool
        /// The registers at the fault, by name.
        public var registers: [String: HexAddress]

        /// Makes the description of a thread.
        ///
        /// - Parameters:
        ///   - id: The thread identifier, as `gettid` gives it.
        ///   - name: Its name, if it has one of its own.
        ///   - isMain: Whether it is the main thread.
        ///   - frames: Its calls, the innermost first.
        ///   - framesOmitted: How many frames in the middle or at the end were left out.
        ///   - framesTruncated: Whether the walk ended before the end of the stack.
        ///   - registers: The registers at the fault, by name.
        public init(
            id: Int,
            name: String? = nil,
            isMain: Bool,
            frames: [Frame],
            framesOmitted: Int = 0,
            framesTruncated: Bool = false,
            registers: [String: HexAddress] = [:]
        ) {
            self.id = id
            self.name = name
            self.isMain = isMain
            self.frames = frames
            self.framesOmitted = framesOmitted
            self.framesTruncated = framesTruncated
            self.registers = registers
        }
    }
}
