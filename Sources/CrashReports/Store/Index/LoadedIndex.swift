/// What an index file says, the last word of it on each report.
struct LoadedIndex {
    /// What was made of an identifier that a folder has.
    enum Match {
        /// The index does not know it.
        case unknown
        /// The index knows it, from a file with this mark.
        case known(Reference)
    }

    /// Where an entry is.
    struct Reference {
        var block: Int32
        var index: Int32
    }

    private struct Located {
        var id: PackedID
        var reference: Reference
    }

    private let bytes: [UInt8]
    private let blocks: [DecodedBlock]
    /// The oldest report first, each once.
    private let located: [Located]
    /// Whether there is something after the last good block.
    let isDamaged: Bool
    /// Whether it is of another version, or no index at all.
    let isForeign: Bool

    /// An index that knows nothing.
    static let empty = LoadedIndex([])

    /// - Parameter bytes: A whole index file; any bytes.
    init(_ bytes: [UInt8]) {
        var blocks: [DecodedBlock] = []
        var located: [Located] = []
        var damage: IndexDamage?
        unsafe bytes.withUnsafeBytes { file in
            do throws(IndexDamage) {
                var start = 0
                while start < file.count {
                    let block = unsafe try DecodedBlock(file, at: start)
                    let number = Int32(truncatingIfNeeded: blocks.count)
                    for index in 0..<block.entryCount {
                        let reference = Reference(block: number, index: Int32(truncatingIfNeeded: index))
                        located.append(Located(id: unsafe block.id(file, index), reference: reference))
                    }
                    blocks.append(block)
                    start = block.end
                }
            } catch {
                damage = error
            }
        }
        self.bytes = bytes
        self.blocks = blocks
        isDamaged = damage != nil
        isForeign = blocks.isEmpty && damage == .wrongForm
        self.located = Self.merged(located, sorted: blocks.first?.entryCount ?? 0)
    }

    /// Sorts by identifier; of several entries for one, the last stays.
    private static func merged(_ all: [Located], sorted: Int) -> [Located] {
        var all = all
        let isSorted = zip(all, all.dropFirst()).allSatisfy { $0.id < $1.id }
        guard !isSorted else { return all }
        // The first block is sorted when this package wrote it, and most entries are in it: only the rest costs time.
        let order: (Located, Located) -> Bool = {
            ($0.id, $0.reference.block, $0.reference.index) < ($1.id, $1.reference.block, $1.reference.index)
        }
        let head = all[..<sorted]
        if zip(head, head.dropFirst()).allSatisfy({ $0.id < $1.id }) {
            var tail = all[sorted...].sorted(by: order)[...]
            var result: [Located] = []
            result.reserveCapacity(all.count)
            for entry in head {
                while let next = tail.first, next.id < entry.id { result.append(tail.removeFirst()) }
                result.append(entry)
            }
            result += tail
            all = result
        } else {
            all.sort(by: order)
        }
        var last: [Located] = []
        last.reserveCapacity(all.count)
        for entry in all {
            if last.last?.id == entry.id { last[last.count - 1] = entry } else { last.append(entry) }
        }
        return last
    }

    /// The last tally.
    var tally: StoreTally? { blocks.last?.tally }

    /// How many reports it knows.
    var count: Int { located.count }

    /// Calls a closure for each identifier of a sorted list, with the place of its entry if there is one.
    func match(_ files: [FolderListing.File], _ body: (FolderListing.File, Match) -> Void) {
        var next = 0
        for file in files {
            while next < located.count, located[next].id < file.id { next += 1 }
            if next < located.count, located[next].id == file.id {
                body(file, .known(located[next].reference))
            } else {
                body(file, .unknown)
            }
        }
    }

    /// Where the entry of a report is, if there is one.
    func find(_ id: PackedID) -> Reference? {
        var low = 0
        var high = located.count
        while low < high {
            let middle = (low + high) / 2
            if located[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low < located.count && located[low].id == id ? located[low].reference : nil
    }

    func mark(_ reference: Reference) -> FileMark {
        unsafe bytes.withUnsafeBytes {
            unsafe blocks[Int(reference.block)].mark($0, Int(reference.index))
        }
    }

    func entry(_ reference: Reference) -> IndexEntry {
        unsafe bytes.withUnsafeBytes {
            unsafe blocks[Int(reference.block)].entry($0, Int(reference.index))
        }
    }

    /// The entry of a file, if the folder has the file that it was made of.
    func entry(of file: FolderListing.File, at place: StorePlace) -> IndexEntry? {
        guard let reference = find(file.id), mark(reference).inode == file.inode,
            self.place(reference).isSame(as: place)
        else { return nil }
        return entry(reference)
    }

    /// Where an entry was written.
    func place(_ reference: Reference) -> StorePlace { blocks[Int(reference.block)].place }
}
