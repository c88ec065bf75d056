extension FaultRecord {
    /// What became of the other threads when a record was decided.
    public enum Sampling: UInt32, Sendable, Hashable {
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

    /// Adds what other sections of the spool file have of this fault.
    ///
    /// Takes any bytes, as an entry of each section has them; those of another fault are left out.
    public mutating func attach(threads: [UInt8], memory: [UInt8]) {
        attach(threads: RecordBytes(threads[...]), entrySize: ThreadSnapshot.entrySize)
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
        guard memory.count > 0, Int(memory.integer(0, as: UInt32.self)) == number, number > 0 else { return false }
        self.memory = MemoryPiece.pieces(memory)
        return true
    }
}
