internal import CRecordLayout

/// One raw record: what the handler and the crash thread wrote of a fault.
package struct FaultRecord: Sendable, Hashable {
    /// How far the record came.
    package enum Stage: Sendable {
        /// The handler had not finished writing.
        case incomplete
        /// The handler's part is whole; the walk and the verdict are missing.
        case captured
        /// All of it is there.
        case decided
    }

    /// Yes-or-no facts of the fault.
    package struct Facts: OptionSet, Sendable, Hashable {
        /// The bits as they are in the record.
        package let rawValue: UInt32

        /// Takes the bits of a record.
        package init(rawValue: UInt32) {
            self.rawValue = rawValue
        }

        private init(_ fact: Int) {
            rawValue = UInt32(fact)
        }

        /// On the thread that the process began with.
        package static let mainThread = Facts(HF_FACT_MAIN_THREAD)
        /// In a callout, above an armed recovery point.
        package static let recoveryPoint = Facts(HF_FACT_RECOVERY_POINT)
        /// The callout stack overflowed.
        package static let stackOverflow = Facts(HF_FACT_STACK_OVERFLOW)
        /// A Swift task was current.
        package static let task = Facts(HF_FACT_TASK)
        /// Inside a critical section.
        package static let criticalSection = Facts(HF_FACT_CRITICAL_SECTION)
        /// On a thread of the crash capture itself.
        package static let captureThread = Facts(HF_FACT_CAPTURE_THREAD)
        /// No verdict came within the deadline.
        package static let deadline = Facts(HF_FACT_DEADLINE)
        /// The walk came to the recovery point.
        package static let walkComplete = Facts(HF_FACT_WALK_COMPLETE)
        /// The walk ended in an error.
        package static let walkBroken = Facts(HF_FACT_WALK_BROKEN)
        /// A restart was decided on and failed.
        package static let restartFailed = Facts(HF_FACT_RESTART_FAILED)
        /// The process drained before it was restarted.
        package static let drained = Facts(HF_FACT_DRAINED)
        /// The item was taken out of its loop.
        package static let quarantined = Facts(HF_FACT_QUARANTINED)
        /// The process was a forked child of the one that the spool file is of.
        package static let forkedChild = Facts(HF_FACT_FORKED_CHILD)
        /// More locks of the POSIX threads library were held than at the recovery point.
        package static let lockHeld = Facts(HF_FACT_LOCK_HELD)
        /// A frame is inside a function that holds a lock which is not counted.
        package static let lockFrame = Facts(HF_FACT_LOCK_FRAME)
        /// Nothing faulted: the callout ran for longer than its deadline and was interrupted.
        package static let overdue = Facts(HF_FACT_OVERDUE)
        /// Every other slot was taken, for longer than a fault waits for one.
        package static let noRoom = Facts(HF_FACT_NO_ROOM)
        /// A runtime keeps something for the thread that could not be put back.
        package static let runtimeState = Facts(HF_FACT_RUNTIME_STATE)
        /// A frame was inside the initialiser of a thread-local variable.
        package static let initialiser = Facts(HF_FACT_INITIALISER)
        /// The process had begun to serve.
        package static let running = Facts(HF_FACT_RUNNING)
        /// It had served something since.
        package static let serving = Facts(HF_FACT_SERVING)
        /// The item was in its loop when the host began to run, had a label of its own, and was no port of a socket.
        package static let startItem = Facts(HF_FACT_START_ITEM)
        /// The item was a port whose input comes from many peers.
        package static let sharedPort = Facts(HF_FACT_SHARED_PORT)
        /// The log of the process has a line of it.
        package static let told = Facts(HF_FACT_TOLD)
    }

    /// What became of the other threads when a record was decided.
    package enum Sampling: UInt32, Sendable, Hashable {
        /// The process ended before, or while they were looked at.
        case none = 0
        /// They were sampled, as far as they answered.
        case done = 1
        /// The process does not want it.
        case off = 2
        /// The last sample had just been taken.
        case tooSoon = 3
        /// They could not be listed.
        case noList = 4
        /// The program uses the signal itself.
        case signalTaken = 5
        /// A debugger held the process.
        case traced = 6
        /// The next fault came meanwhile: some have no frames.
        case interrupted = 7
        /// Every snapshot waited for its report.
        case noRoom = 8
    }

    /// What the crash thread did instead of giving a verdict.
    package struct CrashThread: Sendable, Hashable {
        /// The letter of its state (proc_pid_stat(5)); nil if that is not known.
        package var state: Unicode.Scalar?
        /// The number of the system call that it was in; nil for none.
        package var systemCall: Int?
    }

    /// How far the process had come; nil of a record that is too damaged to know.
    package var phase: CrashReport.Process.Phase? {
        guard stage != .incomplete else { return nil }
        return facts.contains(.serving) ? .serving : facts.contains(.running) ? .running : .starting
    }

    /// The name of the thread that makes reports: a fault of it happened while it read other processes' leftovers.
    package static let reportWriterThreadName = "holdfast-report"

    /// The type of exception that a record names where `std::terminate` was called without one.
    package static let noException = "no exception"

    /// How many bytes a record has at least: a later Holdfast may add fields at its end.
    package static let size = MemoryLayout<HFRecord>.size

    /// How far the record came.
    package var stage: Stage
    /// Which fault of the process it is.
    package var number = 0
    /// When it happened.
    package var time = Timestamp(seconds: 0)
    /// How long the process had run.
    package var uptimeNanoseconds: Int64 = 0
    /// The same in seconds.
    package var uptimeSeconds: Double { Double(uptimeNanoseconds) / 1e9 }
    /// The signal's number.
    package var signal = 0
    /// `si_code`.
    package var code = 0
    /// The address that the kernel gave with the signal.
    package var address: UInt64 = 0
    /// The sender of a signal that the kernel did not raise.
    package var sender: CrashReport.Fault.Sender?
    /// The thread's id and name.
    package var thread = 0
    /// The thread's name, "" for none.
    package var threadName = ""
    /// Yes-or-no facts.
    package var facts: Facts = []
    /// What was done, nil while nothing was decided.
    package var verdict: CrashReport.Verdict.Decision?
    /// Why, "" if nothing was decided.
    package var verdictReason = ""
    /// Registers by name.
    package var registers: [String: UInt64] = [:]
    /// What the loop was doing, nil outside of callouts.
    package var loop: CrashReport.LoopState?
    /// The Swift runtime's text, "" for none.
    package var message = ""
    /// glibc's text, "" for none.
    package var abortMessage = ""
    /// Program counters, innermost first.
    package var frames: [UInt64] = []
    /// How many of `frames` are the innermost ones; the rest are the outermost.
    package var headFrameCount = 0
    /// How many frames lie between the head and the tail.
    package var framesOmitted = 0
    /// The async calls behind the first `awaitPosition` frames, innermost first: where each function goes on.
    ///
    /// `parentTask` stands before those of the task that the last one's is a child of.
    package var awaits: [UInt64] = []
    /// How many frames come before them.
    package var awaitPosition = 0
    /// The number of the Swift task that ran; nil for none.
    package var task: Int?

    /// Among the awaits, in place of an address.
    package static let parentTask = UInt64(HF_AWAIT_PARENT_TASK)

    /// The process that faulted, which is the spool's unless that forked it; nil in a record that was cut off.
    package var pid: Int?
    /// How many locks of the POSIX threads library were taken since the recovery point.
    package var heldLocks = 0
    /// The C++ exception that nobody caught.
    package var exception: CrashReport.Fault.Exception?
    /// What the caller of a fault boundary has told of the fault.
    package var tags: [String: String] = [:]
    /// What the callout had marked as touched, innermost first.
    package var touched: [String] = []
    /// The code around the program counter.
    package var codeBytes = CodeBytes(before: [], from: [])
    /// What became of the other threads; nil in a record that does not say.
    package var sampling: Sampling?
    /// The other threads, if they were sampled and that was kept.
    package var threads: ThreadSnapshot?
    /// Memory that the process asked for.
    package var memory: [MemoryPiece] = []
    /// The mapping that holds the address of a memory fault, or the nearest one; nil if it is not known.
    package var mapping: CrashReport.Fault.Mapping?
    /// How long the callout might run, in seconds, if it was interrupted for that; else nil.
    package var deadlineSeconds: Double?
    /// How many equal faults came while this one waited for its report.
    package var repeats = 0
    /// When the last of them came; nil if there was none.
    package var lastRepeat: Timestamp?
    /// What the crash thread did when its deadline had passed; nil if it gave the verdict.
    package var crashThread: CrashThread?
    /// Where its snapshot and its memory are in their sections, from 1; 0 for none.
    var snapshotNumber = 0
    var memoryNumber = 0
    /// What the process was doing and had, if that was kept; a record does not hold it itself.
    package var context: FaultContext?

    /// A record of which nothing is known yet.
    init(stage: Stage) {
        self.stage = stage
    }

    /// Decodes one record; nil for a free slot.
    ///
    /// Takes any bytes: what a record is too short for is as if nothing had been written there.
    ///
    /// - Parameter bytes: The record.
    package init?(bytes: [UInt8]) {
        self.init(RecordBytes(bytes[...]))
    }

    init?(_ bytes: RecordBytes) {
        let record = RecordView<HFRecord>(bytes)
        switch Int(record.state) {
        case HF_SLOT_CLAIMED: stage = .incomplete
        case HF_SLOT_CAPTURED: stage = .captured
        case HF_SLOT_DECIDED: stage = .decided
        default: return nil
        }
        number = Int(record.number)
        time = Timestamp(microsecondsSinceEpoch: record.time_unix_nanoseconds / 1000)
        uptimeNanoseconds = record.uptime_nanoseconds
        signal = Int(record.signal)
        code = Int(record.code)
        address = record.address
        sender =
            code > 0
            ? nil
            : CrashReport.Fault.Sender(
                pid: Int(record.sender_pid),
                uid: Int(record.sender_uid),
                name: record.nonEmptyText(\.sender_name)
            )
        thread = Int(record.thread)
        facts = Facts(rawValue: record.facts)
        threadName = record.text(\.thread_name)
        verdict =
            switch Int(record.verdict) {
            case HF_VERDICT_RESUME: .resume
            case HF_VERDICT_RESTART: .restart
            case HF_VERDICT_TERMINATE: .terminate
            default: nil
            }
        verdictReason = record.text(\.reason)
        let values = record.numbers(\.registers, of: UInt64.self)
        registers = Dictionary(uniqueKeysWithValues: zip(RegisterNames.all, values))
        loop = CrashReport.LoopState(
            calloutKind: record.callout_kind,
            activity: record.activity,
            mode: record.text(\.mode),
            label: record.text(\.label),
            item: record.item,
            nesting: Int(record.nesting),
            pass: record.pass
        )
        if facts.contains(.startItem) { loop?.callout?.isFromStart = true }
        message = record.text(\.message)
        abortMessage = record.text(\.abort_message)
        frames = Self.frames(record, placedAt: registers["rip"])
        headFrameCount = record.clamped(\.head_frame_count, atMost: frames.count)
        framesOmitted = Int(record.frames_omitted)
        pid = record.pid > 0 ? Int(record.pid) : nil
        heldLocks = Int(record.held_locks)
        exception = CrashReport.Fault.Exception(
            type: record.text(\.exception_type),
            message: record.text(\.exception_message)
        )
        touched = record.text(\.touched).split(separator: "\n").map(String.init)
        codeBytes = CodeBytes(record)
        sampling = record.isWhole ? Sampling(rawValue: record.sampling) : nil
        mapping = CrashReport.Fault.Mapping(record.part(\.mapping), address: address)
        deadlineSeconds = facts.contains(.overdue) ? Double(record.callout_deadline) / 1e9 : nil
        repeats = Int(record.repeats)
        lastRepeat =
            repeats > 0 ? Timestamp(microsecondsSinceEpoch: record.last_repeat_unix_nanoseconds / 1000) : nil
        crashThread = facts.contains(.deadline) ? CrashThread(record) : nil
        awaits = record.numbers(\.awaits, of: UInt64.self, count: record.clamped(\.await_count))
        awaitPosition = record.clamped(\.await_position, atMost: frames.count)
        let tagTexts = record.texts(\.tags, length: record.tags_length)
        for key in stride(from: 0, to: tagTexts.count - 1, by: 2) { tags[tagTexts[key]] = tagTexts[key + 1] }
        task = record.task != 0 ? Int(record.task_id) : nil
        snapshotNumber = Int(record.thread_snapshot)
        memoryNumber = Int(record.memory_area)
    }

    /// Return addresses are never zero: where one is, the record was cut off.
    private static func frames(_ record: RecordView<HFRecord>, placedAt place: UInt64?) -> [UInt64] {
        let frames = record.numbers(\.frames, of: UInt64.self, count: record.clamped(\.frame_count))
        // The program counter may be: that is a call of a null pointer.
        let hasPlace = frames.first == place || frames.first != 0
        return hasPlace ? Array(frames.prefix(1) + frames.dropFirst().prefix { $0 != 0 }) : []
    }

    /// Forgets what may be of an earlier fault in the same slot.
    ///
    /// A handler overwrites a slot from its start, and died. Its first steps, up to the registers, touch only memory that is
    /// sure to be there; whatever it died of came later.
    ///
    /// - Parameter hasOwnStart: Whether the start is of this fault.
    mutating func dropLeftovers(hasOwnStart: Bool) {
        let all = self
        self = FaultRecord(stage: stage)
        guard hasOwnStart else { return }
        (number, time, uptimeNanoseconds) = (all.number, all.time, all.uptimeNanoseconds)
        (signal, code, address, sender) = (all.signal, all.code, all.address, all.sender)
        (pid, thread, threadName, facts, registers) = (all.pid, all.thread, all.threadName, all.facts, all.registers)
        sender?.name = nil
    }

    /// Adds what other sections of the spool file have of this fault.
    ///
    /// Takes any bytes, as an entry of each section has them; those of another fault are left out.
    package mutating func attach(threads: [UInt8], memory: [UInt8]) {
        attach(threads: RecordBytes(threads[...]), entrySize: MemoryLayout<HFThreadEntry>.size)
        attach(memory: RecordBytes(memory[...]))
    }

    /// Returns whether it was of this fault.
    @discardableResult
    mutating func attach(threads: RecordBytes, entrySize: Int) -> Bool {
        guard let snapshot = ThreadSnapshot(threads, entrySize: entrySize), snapshot.faultNumber == number,
            number > 0
        else { return false }
        self.threads = snapshot
        return true
    }

    @discardableResult
    mutating func attach(memory: RecordBytes) -> Bool {
        let area = RecordView<HFMemoryArea>(memory)
        guard number > 0, Int(area.fault_number) == number else { return false }
        self.memory = MemoryPiece.pieces(area)
        return true
    }
}

/// The code around the place of a fault.
package struct CodeBytes: Sendable, Hashable {
    /// What lies before the program counter, up to it.
    package var before: [UInt8]
    /// What lies from the program counter on; empty when it could not be read.
    package var from: [UInt8]
}

extension FaultRecord.CrashThread {
    fileprivate init(_ record: RecordView<HFRecord>) {
        let letter = record.decider_state
        state = letter > 32 && letter < 127 ? Unicode.Scalar(letter) : nil
        let number = Int(record.decider_system_call)
        systemCall = state != nil && number >= 0 ? number : nil
    }
}

extension CodeBytes {
    fileprivate init(_ record: RecordView<HFRecord>) {
        from = record.bytes(\.code_bytes, first: record.code_length)
        before = from.isEmpty ? [] : record.bytes(\.code_before, last: record.code_before_length)
    }
}

extension CrashReport.Fault.Mapping {
    /// Further away, a mapping has nothing to do with an address.
    private static let farthest: UInt64 = 1 << 24

    /// Reads the mapping of a record; nil if there is none, or one too far away to have to do with the address.
    fileprivate init?(_ mapping: RecordView<HFMapping>, address: UInt64) {
        let (start, end) = (mapping.start, mapping.end)
        guard start < end else { return nil }
        let (place, distance): (Place, UInt64) =
            if address < start { (.before, start - address) } else if address < end {
                (.inside, address - start)
            } else { (.after, address - end) }
        guard place == .inside || distance <= Self.farthest else { return nil }
        let bits = mapping.permissions
        self.init(
            place: place,
            distance: Int(clamping: distance),
            name: mapping.text(\.name),
            start: HexAddress(start),
            end: HexAddress(end),
            permissions: String(zip("rwx", 0..<3).map { bits & 1 << $1 != 0 ? $0 : "-" })
                + (bits & 8 != 0 ? "s" : "p")
        )
    }
}

extension CrashReport.LoopState {
    /// Makes it of what a loop's thread keeps of its callout (`HFCalloutInfo`); nil outside of callouts.
    ///
    /// - Parameters:
    ///   - calloutKind: `HFCalloutKind`.
    ///   - activity: A bit of CFRunLoopActivity.
    ///   - mode: The mode of the innermost run.
    ///   - label: The item's label.
    ///   - item: The item's identity.
    ///   - nesting: How many runs were active.
    ///   - pass: The pass, counted from 1.
    package init?(
        calloutKind: UInt32,
        activity: UInt32,
        mode: String,
        label: String,
        item: UInt64,
        nesting: Int,
        pass: UInt64
    ) {
        guard let kind = Callout.Kind(ofRecord: calloutKind) else { return nil }
        let name =
            switch activity {
            case 1 << 0: "entry"
            case 1 << 1: "beforeTimers"
            case 1 << 2: "beforeSources"
            case 1 << 5: "beforeWaiting"
            case 1 << 6: "afterWaiting"
            case 1 << 7: "exit"
            default: "unknown"
            }
        self.init(
            mode: mode,
            activity: name,
            callout: Callout(kind: kind, label: label, item: Int(clamping: item)),
            nesting: nesting,
            pass: Int(clamping: pass)
        )
    }
}

extension CrashReport.LoopState.Callout.Kind {
    /// Reads the number that a record or an event has for a kind (`HFCalloutKind`); nil outside of callouts.
    init?(ofRecord number: UInt32) {
        switch number {
        case HFCalloutKind.source.rawValue: self = .source
        case HFCalloutKind.port.rawValue: self = .port
        case HFCalloutKind.timer.rawValue: self = .timer
        case HFCalloutKind.observer.rawValue: self = .observer
        case HFCalloutKind.block.rawValue: self = .block
        case HFCalloutKind.mainQueue.rawValue: self = .mainQueue
        case HFCalloutKind.task.rawValue: self = .task
        default: return nil
        }
    }
}
