internal import CRecordLayout

/// Where a spool file keeps what belongs to few of its records.
struct SpoolSections {
    private let file: RecordBytes
    private let threads: Section
    private let memory: Section
    private let entrySize: Int

    private struct Section {
        var offset: Int
        var size: Int
        var count: Int

        /// Takes what the header says; a size that no section has is as if there were no entries.
        init(offset: UInt32, size: UInt32, count: UInt32) {
            self.offset = Int(offset)
            self.size = Int(size)
            self.count = size > 1 << 20 ? 0 : min(Int(count), 64)
        }

        /// The entry of a number from 1; empty where there is none.
        func entry(_ number: Int, of file: RecordBytes) -> RecordBytes {
            guard number >= 1, number <= count else { return RecordBytes([]) }
            return file.slice(offset + (number - 1) * size, size)
        }
    }

    init(_ file: RecordBytes) {
        self.file = file
        let header = RecordView<HFSpoolHeader>(file)
        threads = Section(
            offset: header.snapshot_offset,
            size: header.snapshot_size,
            count: header.snapshot_count
        )
        entrySize = Int(header.thread_entry_size)
        memory = Section(offset: header.memory_offset, size: header.memory_size, count: header.memory_count)
    }

    /// Gives each record its entries; an entry is of one record at most, however many name it.
    func attach(to records: inout [FaultRecord]) {
        var usedThreads: Set<Int> = []
        var usedMemory: Set<Int> = []
        for index in records.indices {
            let snapshot = records[index].snapshotNumber
            if snapshot > 0, !usedThreads.contains(snapshot),
                records[index].attach(threads: threads.entry(snapshot, of: file), entrySize: entrySize)
            {
                usedThreads.insert(snapshot)
            }
            let area = records[index].memoryNumber
            if area > 0, !usedMemory.contains(area), records[index].attach(memory: memory.entry(area, of: file)) {
                usedMemory.insert(area)
            }
        }
    }
}

/// The other threads of a process, as they were when one of them had faulted.
package struct ThreadSnapshot: Sendable, Hashable {
    /// One of them.
    package struct Thread: Sendable, Hashable {
        /// What is known of a thread's stack.
        package enum Outcome: Sendable {
            /// It was not asked: it had ended or was stopped, or there was no time left.
            case notAsked
            /// It was walked to its end.
            case walked
            /// The walk ended before.
            case broken
            /// The thread did not answer.
            case silent
        }

        /// The thread's id.
        package var id: Int
        /// Its name, "" for none.
        package var name = ""
        /// What is known of its stack.
        package var outcome = Outcome.notAsked
        /// The letter of its state (proc_pid_stat(5)), nil if that is not known.
        package var kernelState: Unicode.Scalar?
        /// The number of the system call that it was in.
        package var systemCall: Int?
        /// How long after the fault this was taken, in seconds.
        package var sampledAfter = 0.0
        /// Its registers, 0 where they are not known.
        package var stackPointer: UInt64 = 0
        /// See `stackPointer`.
        package var framePointer: UInt64 = 0
        /// Program counters, innermost first.
        package var frames: [UInt64] = []
        /// How many of `frames` are the innermost ones; the rest are the outermost.
        package var headFrameCount = 0
        /// How many frames lie between the head and the tail.
        package var framesOmitted = 0

        /// The async calls behind the first `awaitPosition` frames, as a record has them.
        package var awaits: [UInt64] = []
        /// See `awaits`.
        package var awaitPosition = 0

        /// A thread that nobody has looked at.
        package init(id: Int) { self.id = id }
    }

    /// The fault that it is of.
    package var faultNumber: Int
    /// The threads, in the order of their ids as the kernel lists them.
    package var threads: [Thread]
    /// How many more there were.
    package var omitted: Int
    /// Whether they stood still together.
    package var isStopped: Bool
}

extension ThreadSnapshot {
    /// Decodes a snapshot; nil for one that is of no fault.
    ///
    /// - Parameters:
    ///   - bytes: Any bytes.
    ///   - entrySize: How long the entry of a thread is, which may be longer than this version knows.
    init?(_ bytes: RecordBytes, entrySize: Int) {
        let snapshot = RecordView<HFThreadSnapshot>(bytes)
        faultNumber = Int(snapshot.fault_number)
        let start = RecordView<HFThreadSnapshot>.offset(of: \.threads)
        guard faultNumber > 0, entrySize >= RecordView<HFThreadEntry>.size, bytes.count >= start else { return nil }
        let count = snapshot.clamped(\.thread_count, atMost: (bytes.count - start) / entrySize)
        omitted = Int(snapshot.threads_omitted)
        isStopped = snapshot.is_stopped == 1
        threads = (0..<count).compactMap { index in
            Thread(RecordView<HFThreadEntry>(bytes.slice(start + index * entrySize, entrySize)))
        }
    }
}

extension ThreadSnapshot.Thread {
    fileprivate init?(_ entry: RecordView<HFThreadEntry>) {
        id = Int(entry.id)
        guard id > 0 else { return nil }
        name = entry.text(\.name)
        switch Int(entry.outcome) {
        case HF_THREAD_WALKED: outcome = .walked
        case HF_THREAD_WALK_BROKEN: outcome = .broken
        case HF_THREAD_SILENT: outcome = .silent
        default: outcome = .notAsked
        }
        systemCall = entry.system_call >= 0 ? Int(entry.system_call) : nil
        let letter = entry.kernel_state
        kernelState = letter > 32 && letter < 127 ? Unicode.Scalar(letter) : nil
        sampledAfter = Double(entry.after_nanoseconds) / 1e9
        stackPointer = entry.stack_pointer
        framePointer = entry.frame_pointer
        let all = entry.numbers(\.frames, of: UInt64.self, count: entry.clamped(\.frame_count))
        // Return addresses are never zero: where one is, the entry was cut off.
        frames = Array(all.prefix(1) + all.dropFirst().prefix { $0 != 0 })
        headFrameCount = entry.clamped(\.head_frame_count, atMost: frames.count)
        framesOmitted = Int(entry.frames_omitted)
    }
}

/// A piece of the memory of a process that faulted.
package struct MemoryPiece: Sendable, Hashable {
    /// Why it was taken.
    package enum About: Sendable, Hashable {
        /// What lay above the stack pointer.
        case stack
        /// What lay around the address in a register, by its place in the record's list.
        case register(Int)
    }

    /// The address of the first byte.
    package var address: UInt64
    /// The bytes.
    package var bytes: [UInt8]
    /// Why it was taken.
    package var about: About

    /// Makes a piece.
    package init(address: UInt64, bytes: [UInt8], about: About) {
        self.address = address
        self.bytes = bytes
        self.about = about
    }

    /// The pieces of an area: as many as are whole.
    static func pieces(_ area: RecordView<HFMemoryArea>) -> [MemoryPiece] {
        let contents = area.part(\.bytes).storage
        return area.parts(\.pieces, of: HFMemoryPiece.self, count: area.clamped(\.piece_count)).compactMap { piece in
            let bytes = contents.bytes(Int(piece.offset), Int(piece.length))
            guard !bytes.isEmpty else { return nil }
            let about = Int(piece.about)
            return MemoryPiece(
                address: piece.address,
                bytes: bytes,
                about: about == HF_MEMORY_ABOUT_STACK ? .stack : .register(about)
            )
        }
    }
}
