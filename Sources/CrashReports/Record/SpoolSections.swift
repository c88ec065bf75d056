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

        /// Reads offset, size and count from three words of the header.
        init(_ file: RecordBytes, at place: Int) {
            offset = Int(file.integer(place, as: UInt32.self))
            size = Int(file.integer(place + 4, as: UInt32.self))
            count = min(Int(file.integer(place + 8, as: UInt32.self)), 64)
            if size > 1 << 20 { count = 0 }
        }

        /// The entry of a number from 1; empty where there is none.
        func entry(_ number: Int, of file: RecordBytes) -> RecordBytes {
            guard number >= 1, number <= count else { return RecordBytes([]) }
            return file.slice(offset + (number - 1) * size, size)
        }
    }

    init(_ file: RecordBytes) {
        self.file = file
        threads = Section(file, at: 3192)
        entrySize = Int(file.integer(3204, as: UInt32.self))
        memory = Section(file, at: 3208)
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
