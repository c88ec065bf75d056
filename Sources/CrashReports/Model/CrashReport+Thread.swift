extension CrashReport {
    /// One thread: the one that faulted, or another.
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
        /// The registers, by name; of another thread than the one that faulted, those that tell where it is.
        public var registers: [String: HexAddress]
        /// What the kernel said of it; nil for the thread that faulted, and where it is not known.
        public var state: State?
        /// The system call it was in, such as `futex`, if it was in one and that is known.
        public var systemCall: String?
        /// How long after the fault its stack was taken, in seconds; nil for the thread that faulted.
        public var sampledAfter: Double?

        /// Makes the description of a thread.
        ///
        /// - Parameters:
        ///   - id: The thread identifier, as `gettid` gives it.
        ///   - name: Its name, if it has one of its own.
        ///   - isMain: Whether it is the main thread.
        ///   - frames: Its calls, the innermost first.
        ///   - framesOmitted: How many frames in the middle or at the end were left out.
        ///   - framesTruncated: Whether the walk ended before the end of the stack.
        ///   - registers: The registers, by name.
        ///   - state: What the kernel said of it.
        ///   - systemCall: The system call it was in, if it was in one.
        ///   - sampledAfter: How long after the fault its stack was taken, in seconds.
        public init(
            id: Int,
            name: String? = nil,
            isMain: Bool,
            frames: [Frame],
            framesOmitted: Int = 0,
            framesTruncated: Bool = false,
            registers: [String: HexAddress] = [:],
            state: State? = nil,
            systemCall: String? = nil,
            sampledAfter: Double? = nil
        ) {
            self.id = id
            self.name = name
            self.isMain = isMain
            self.frames = frames
            self.framesOmitted = framesOmitted
            self.framesTruncated = framesTruncated
            self.registers = registers
            self.state = state
            self.systemCall = systemCall
            self.sampledAfter = sampledAfter
        }
    }
}

extension CrashReport.Thread {
    /// What a thread was doing, as the kernel sees it (proc_pid_stat(5)).
    ///
    /// A value that this version does not know is kept as it is.
    public struct State: RawRepresentable, Codable, Sendable, Hashable {
        /// The value in JSON.
        public let rawValue: String

        /// Takes a value.
        ///
        /// - Parameter rawValue: The value in JSON.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// It was running, or ready to.
        public static let running = State(rawValue: "running")
        /// It waited for something.
        public static let sleeping = State(rawValue: "sleeping")
        /// It waited for a device, and could not be interrupted.
        public static let waitingForDisk = State(rawValue: "waiting for disk")
        /// It was stopped by a signal or a debugger.
        public static let stopped = State(rawValue: "stopped")
        /// It had ended.
        public static let ended = State(rawValue: "ended")
    }
}
