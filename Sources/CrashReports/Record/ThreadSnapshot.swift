/// The other threads of a process, as they were when one of them had faulted.
public struct ThreadSnapshot: Sendable, Hashable {
    /// One of them.
    public struct Thread: Sendable, Hashable {
        /// What is known of a thread's stack.
        public enum Outcome: Sendable {
            /// It was not asked.
            case notAsked
            /// It was walked to its end.
            case walked
            /// The walk ended before.
            case broken
            /// The thread did not answer.
            case silent
        }

        /// The thread's id.
        public var id: Int
        /// Its name, "" for none.
        public var name: String
        /// What is known of its stack.
        public var outcome: Outcome
        /// The letter of its state (proc_pid_stat(5)), nil if that is not known.
        public var kernelState: Unicode.Scalar?
        /// The number of the system call that it was in.
        public var systemCall: Int?
        /// How long after the fault this was taken, in seconds.
        public var sampledAfter: Double
        /// Its registers, 0 where they are not known.
        public var stackPointer: UInt64
        /// See `stackPointer`.
        public var framePointer: UInt64
        /// Program counters, innermost first.
        public var frames: [UInt64]
        /// How many of `frames` are the innermost ones; the rest are the outermost.
        public var headFrameCount: Int
        /// How many frames lie between the head and the tail.
        public var framesOmitted: Int
    }

    /// Bytes of an entry, as this version writes it.
    static let entrySize = 584
    private static let headerSize = 32

    /// The fault that it is of.
    public var faultNumber: Int
    /// The threads, in the order of their ids as the kernel lists them.
    public var threads: [Thread]
    /// How many more there were.
    public var omitted: Int
    /// Whether they stood still together.
    public var isStopped: Bool

    /// Decodes a snapshot; nil for one that is of no fault.
    init?(_ bytes: RecordBytes, entrySize: Int) {
        faultNumber = Int(bytes.integer(0, as: UInt32.self))
        guard faultNumber > 0, entrySize >= 72, bytes.count >= Self.headerSize else { return nil }
        let room = (bytes.count - Self.headerSize) / entrySize
        let count = min(Int(bytes.integer(8, as: UInt32.self)), room)
        omitted = Int(bytes.integer(12, as: UInt32.self))
        isStopped = bytes.integer(16, as: UInt32.self) == 1
        threads = (0..<count).compactMap { index in
            Thread(bytes.slice(Self.headerSize + index * entrySize, entrySize))
        }
    }
}

extension ThreadSnapshot.Thread {
    fileprivate init?(_ bytes: RecordBytes) {
        id = Int(bytes.integer(0, as: Int32.self))
        guard id > 0 else { return nil }
        name = bytes.text(8, 16)
        switch bytes.integer(4, as: UInt32.self) {
        case 1: outcome = .walked
        case 2: outcome = .broken
        case 3: outcome = .silent
        default: outcome = .notAsked
        }
        let number = Int(bytes.integer(24, as: Int32.self))
        systemCall = number >= 0 ? number : nil
        let letter = bytes.integer(28, as: UInt32.self)
        kernelState = letter > 32 && letter < 127 ? Unicode.Scalar(letter) : nil
        sampledAfter = Double(bytes.integer(48, as: Int64.self)) / 1e9
        stackPointer = bytes.integer(56, as: UInt64.self)
        framePointer = bytes.integer(64, as: UInt64.self)
        let count = min(Int(bytes.integer(32, as: UInt32.self)), (bytes.count - 72) / 8, 64)
        let all = (0..<count).map { bytes.integer(72 + 8 * $0, as: UInt64.self) }
        // Return addresses are never zero: where one is, the entry was cut off.
        frames = Array(all.prefix(1) + all.dropFirst().prefix { $0 != 0 })
        headFrameCount = min(Int(bytes.integer(36, as: UInt32.self)), frames.count)
        framesOmitted = Int(bytes.integer(40, as: UInt32.self))
    }
}
