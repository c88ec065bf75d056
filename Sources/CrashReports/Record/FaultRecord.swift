/// One raw record: what the handler and the crash thread wrote of a fault.
public struct FaultRecord: Sendable, Hashable {
    /// How far the record came.
    public enum Stage: Sendable {
        /// The handler had not finished writing.
        case incomplete
        /// The handler's part is whole; the walk and the verdict are missing.
        case captured
        /// All of it is there.
        case decided
    }

    /// Yes-or-no facts of the fault.
    public struct Facts: OptionSet, Sendable, Hashable {
        /// The bits as they are in the record.
        public let rawValue: UInt32

        /// Takes the bits of a record.
        public init(rawValue: UInt32) {
            self.rawValue = rawValue
        }

        /// On the thread that the process began with.
        public static let mainThread = Facts(rawValue: 1 << 0)
        /// In a callout, above an armed recovery point.
        public static let recoveryPoint = Facts(rawValue: 1 << 1)
        /// The callout stack overflowed.
        public static let stackOverflow = Facts(rawValue: 1 << 2)
        /// A Swift task was current.
        public static let task = Facts(rawValue: 1 << 3)
        /// Inside a critical section.
        public static let criticalSection = Facts(rawValue: 1 << 4)
        /// On a thread of the crash capture itself.
        public static let captureThread = Facts(rawValue: 1 << 5)
        /// No verdict came within the deadline.
        public static let deadline = Facts(rawValue: 1 << 6)
        /// The walk came to the recovery point.
        public static let walkComplete = Facts(rawValue: 1 << 7)
        /// The walk ended in an error.
        public static let walkBroken = Facts(rawValue: 1 << 8)
        /// A restart was decided on and failed.
        public static let restartFailed = Facts(rawValue: 1 << 9)
        /// The process drained before it was restarted.
        public static let drained = Facts(rawValue: 1 << 10)
        /// The item was taken out of its loop.
        public static let quarantined = Facts(rawValue: 1 << 11)
        /// The process was a forked child of the one that the spool file is of.
        public static let forkedChild = Facts(rawValue: 1 << 12)
        /// More locks of the POSIX threads library were held than at the recovery point.
        public static let lockHeld = Facts(rawValue: 1 << 13)
        /// A frame is inside a function that holds a lock which is not counted.
        public static let lockFrame = Facts(rawValue: 1 << 14)
        /// Nothing faulted: the callout ran for longer than its deadline and was interrupted.
        public static let overdue = Facts(rawValue: 1 << 15)
        /// Every other slot was taken, for longer than a fault waits for one.
        public static let noRoom = Facts(rawValue: 1 << 16)
        /// A runtime keeps something for the thread that could not be put back.
        public static let runtimeState = Facts(rawValue: 1 << 20)
        /// A frame was inside the initialiser of a thread-local variable.
        public static let initialiser = Facts(rawValue: 1 << 21)
        /// The process had begun to serve.
        public static let running = Facts(rawValue: 1 << 24)
        /// It had served something since.
        public static let serving = Facts(rawValue: 1 << 25)
        /// The item was in its loop when the host began to run, had a label of its own, and was no port of a socket.
        public static let startItem = Facts(rawValue: 1 << 26)
        /// The item was a port whose input comes from many peers.
        public static let sharedPort = Facts(rawValue: 1 << 27)
    }

    /// How far the process had come; nil of a record that is too damaged to know.
    public var phase: CrashReport.Process.Phase? {
        guard stage != .incomplete else { return nil }
        return facts.contains(.serving) ? .serving : facts.contains(.running) ? .running : .starting
    }

    /// The name of the thread that makes reports: a fault of it happened while it read other processes' leftovers.
    public static let reportWriterThreadName = "holdfast-report"

    /// The type of exception that a record names where `std::terminate` was called without one.
    package static let noException = "no exception"

    /// How many bytes a record has at least: a later Holdfast may add fields at its end.
    public static let size = 4992

    /// How far the record came.
    public var stage: Stage
    /// Which fault of the process it is.
    public var number: Int
    /// When it happened.
    public var time: Timestamp
    /// How long the process had run, in seconds.
    public var uptimeSeconds: Double
    /// The same in nanoseconds.
    public var uptimeNanoseconds: Int64
    /// The signal's number.
    public var signal: Int
    /// `si_code`.
    public var code: Int
    /// The address that the kernel gave with the signal.
    public var address: UInt64
    /// The sender of a signal that the kernel did not raise.
    public var sender: CrashReport.Fault.Sender?
    /// The thread's id and name.
    public var thread: Int
    /// The thread's name, "" for none.
    public var threadName: String
    /// Yes-or-no facts.
    public var facts: Facts
    /// What was done, nil while nothing was decided.
    public var verdict: CrashReport.Verdict.Decision?
    /// Why, "" if nothing was decided.
    public var verdictReason: String
    /// Registers by name.
    public var registers: [String: UInt64]
    /// What the loop was doing, nil outside of callouts.
    public var loop: CrashReport.LoopState?
    /// The Swift runtime's text, "" for none.
    public var message: String
    /// glibc's text, "" for none.
    public var abortMessage: String
    /// Program counters, innermost first.
    public var frames: [UInt64]
    /// How many of `frames` are the innermost ones; the rest are the outermost.
    public var headFrameCount: Int
    /// How many frames lie between the head and the tail.
    public var framesOmitted: Int
    /// The process that faulted, which is the spool's unless that forked it; nil in a record that was cut off.
    public var pid: Int?
    /// How many locks of the POSIX threads library were taken since the recovery point.
    public var heldLocks: Int
    /// The C++ exception that nobody caught.
    public var exception: CrashReport.Fault.Exception?
    /// What the callout had marked as touched, innermost first.
    public var touched: [String]
    /// The code around the program counter.
    public var codeBytes: CodeBytes
    /// What became of the other threads; nil in a record that does not say.
    public var sampling: Sampling?
    /// The other threads, if they were sampled and that was kept.
    public var threads: ThreadSnapshot?
    /// Memory that the process asked for.
    public var memory: [MemoryPiece]
    /// The mapping that holds the address of a memory fault, or the nearest one; nil if it is not known.
    public var mapping: CrashReport.Fault.Mapping?
    /// How long the callout might run, in seconds, if it was interrupted for that; else nil.
    public var deadlineSeconds: Double?
    /// How many equal faults came while this one waited for its report.
    public var repeats: Int
    /// When the last of them came; nil if there was none.
    public var lastRepeat: Timestamp?
    /// What the crash thread did when its deadline had passed; nil if it gave the verdict.
    public var crashThread: CrashThread?
    /// Where its snapshot and its memory are in their sections, from 1; 0 for none.
    var snapshotNumber: Int
    var memoryNumber: Int
    /// What the process was doing and had, if that was kept; a record does not hold it itself.
    public var context: FaultContext?

    /// Decodes one record; nil for a free slot.
    ///
    /// Takes any bytes: what a record is too short for is as if nothing had been written there.
    ///
    /// - Parameters:
    ///   - bytes: The record.
    ///   - architecture: The machine, as uname(2) names it.
    public init?(bytes: [UInt8], architecture: String = "x86_64") {
        self.init(RecordBytes(bytes[...]), architecture: architecture)
    }

    init?(_ bytes: RecordBytes, architecture: String) {
        switch bytes.integer(0, as: UInt32.self) {
        case 1: stage = .incomplete
        case 2: stage = .captured
        case 3: stage = .decided
        default: return nil
        }
        number = Int(bytes.integer(4, as: UInt32.self))
        time = Timestamp(microsecondsSinceEpoch: bytes.integer(8, as: Int64.self) / 1000)
        uptimeNanoseconds = bytes.integer(16, as: Int64.self)
        uptimeSeconds = Double(uptimeNanoseconds) / 1e9
        signal = Int(bytes.integer(24, as: Int32.self))
        code = Int(bytes.integer(28, as: Int32.self))
        address = bytes.integer(32, as: UInt64.self)
        let senderPid = Int(bytes.integer(40, as: Int32.self))
        sender =
            code > 0
            ? nil
            : CrashReport.Fault.Sender(
                pid: senderPid,
                uid: Int(bytes.integer(44, as: UInt32.self)),
                name: bytes.text(4952, 16)
            )
        thread = Int(bytes.integer(48, as: Int32.self))
        facts = Facts(rawValue: bytes.integer(52, as: UInt32.self))
        threadName = bytes.text(56, 16)
        verdict =
            switch bytes.integer(72, as: UInt32.self) {
            case 1: .resume
            case 2: .restart
            case 3: .terminate
            default: nil
            }
        verdictReason = bytes.text(1784, 192)
        registers = [:]
        for (index, name) in RegisterNames.of(architecture).enumerated() {
            let offset = index < 23 ? 88 + 8 * index : 4704 + 8 * (index - 23)
            registers[name] = bytes.integer(offset, as: UInt64.self)
        }
        loop = Self.loopState(bytes)
        if facts.contains(.startItem) { loop?.callout?.isFromStart = true }
        message = bytes.text(504, 1024)
        abortMessage = bytes.text(1528, 256)
        frames = Self.frames(bytes)
        headFrameCount = min(Int(bytes.integer(80, as: UInt32.self)), frames.count)
        framesOmitted = Int(bytes.integer(84, as: UInt32.self))
        let number = Int(bytes.integer(4024, as: Int32.self))
        pid = number > 0 ? number : nil
        heldLocks = Int(bytes.integer(4028, as: UInt32.self))
        exception = CrashReport.Fault.Exception(type: bytes.text(4032, 128), message: bytes.text(4160, 256))
        touched = bytes.text(4416, 256).split(separator: "\n").map(String.init)
        codeBytes = CodeBytes(bytes)
        sampling = bytes.count < 4676 ? nil : Sampling(rawValue: bytes.integer(4672, as: UInt32.self))
        memory = []
        mapping = CrashReport.Fault.Mapping(bytes, at: 4800, address: address)
        deadlineSeconds = facts.contains(.overdue) ? Double(bytes.integer(4968, as: UInt64.self)) / 1e9 : nil
        repeats = Int(bytes.integer(4976, as: UInt32.self))
        lastRepeat = repeats > 0 ? Timestamp(microsecondsSinceEpoch: bytes.integer(4984, as: Int64.self) / 1000) : nil
        crashThread = facts.contains(.deadline) ? CrashThread(bytes, at: 4980) : nil
        snapshotNumber = Int(bytes.integer(4676, as: UInt32.self))
        memoryNumber = Int(bytes.integer(4680, as: UInt32.self))
    }

    /// Return addresses are never zero: where one is, the record was cut off.
    private static func frames(_ bytes: RecordBytes) -> [UInt64] {
        let count = min(Int(bytes.integer(76, as: UInt32.self)), 256)
        let frames = (0..<count).map { bytes.integer(1976 + 8 * $0, as: UInt64.self) }
        // The program counter may be: that is a call of a null pointer.
        let hasPlace = frames.first == bytes.integer(216, as: UInt64.self) || frames.first != 0
        return hasPlace ? Array(frames.prefix(1) + frames.dropFirst().prefix { $0 != 0 }) : []
    }

    /// Forgets what may be of an earlier fault in the same slot.
    ///
    /// A handler overwrites a slot from its start, and died. Its first steps, up to the registers, touch only memory that is
    /// sure to be there; whatever it died of came later.
    ///
    /// - Parameter hasOwnStart: Whether the start is of this fault.
    mutating func dropLeftovers(hasOwnStart: Bool) {
        verdict = nil
        verdictReason = ""
        loop = nil
        message = ""
        abortMessage = ""
        frames = []
        headFrameCount = 0
        framesOmitted = 0
        heldLocks = 0
        exception = nil
        touched = []
        codeBytes = CodeBytes(before: [], from: [])
        sampling = nil
        threads = nil
        memory = []
        mapping = nil
        sender?.name = nil
        deadlineSeconds = nil
        repeats = 0
        lastRepeat = nil
        crashThread = nil
        snapshotNumber = 0
        memoryNumber = 0
        guard !hasOwnStart else { return }
        number = 0
        time = Timestamp(microsecondsSinceEpoch: 0)
        uptimeSeconds = 0
        uptimeNanoseconds = 0
        signal = 0
        code = 0
        address = 0
        sender = nil
        thread = 0
        threadName = ""
        facts = []
        registers = [:]
        pid = nil
    }

    private static func loopState(_ bytes: RecordBytes) -> CrashReport.LoopState? {
        CrashReport.LoopState(
            calloutKind: bytes.integer(312, as: UInt32.self),
            activity: bytes.integer(316, as: UInt32.self),
            mode: bytes.text(344, 64),
            label: bytes.text(408, 96),
            item: bytes.integer(296, as: UInt64.self),
            nesting: Int(bytes.integer(320, as: UInt32.self)),
            pass: bytes.integer(304, as: UInt64.self)
        )
    }
}
