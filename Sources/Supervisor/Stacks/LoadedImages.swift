/// The programs and libraries in a process's memory: its maps of proc(5).
struct LoadedImages {
    /// One of them.
    struct Image {
        /// Its file as the process sees it; also `[vdso]`.
        let path: String
        /// Where its first byte is.
        let base: UInt64
        /// Behind its last mapping.
        fileprivate(set) var end: UInt64
        /// What is to be added to the addresses in its file; 0 until it is known.
        fileprivate(set) var bias: UInt64 = 0
        fileprivate(set) var table: UnwindTable?

        /// The name of its file.
        var name: String { path.split(separator: "/").last.map(String.init) ?? path }
    }

    private(set) var images: [Image] = []
    private let memory: RemoteMemory
    private var seen: Set<Int> = []

    /// Reads them.
    ///
    /// - Parameters:
    ///   - maps: The text of `/proc/PID/maps`.
    ///   - memory: The process's.
    init(maps: String, _ memory: RemoteMemory) {
        self.memory = memory
        for line in maps.split(separator: "\n").prefix(65_536) {
            let words = line.split(separator: " ", maxSplits: 5)
            guard words.count == 6 else { continue }
            let path = String(words[5].drop { $0 == " " })
            let ends = words[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
            guard ends.count == 2, ends[0] < ends[1], path.hasPrefix("/") || path == "[vdso]" else { continue }
            if let last = images.last, last.path == path, words[2].contains(where: { $0 != "0" }) {
                images[images.count - 1].end = ends[1]
            } else if words[2].allSatisfy({ $0 == "0" }) {
                images.append(Image(path: path, base: ends[0], end: ends[1]))
            }
        }
    }

    /// The image that an address is in, with its unwind table, if that can be read.
    ///
    /// - Parameter address: The address.
    /// - Returns: Its place among the images; nil if it is in none.
    mutating func index(of address: UInt64) -> Int? {
        guard let index = images.lastIndex(where: { $0.base <= address && address < $0.end }) else { return nil }
        if seen.insert(index).inserted { try? readHeaders(index) }
        return index
    }

    private mutating func readHeaders(_ index: Int) throws(RemoteMemory.Unreadable) {
        let base = images[index].base
        // ELF, 64 bits, lowest byte first (elf(5)).
        guard try memory.integer(at: base) as UInt32 == 0x464c_457f,
            try memory.integer(at: base &+ 4) as UInt16 == 0x0102
        else {
            return
        }
        let headers = base &+ (try memory.integer(at: base &+ 32) as UInt64)
        let size = UInt64(try memory.integer(at: base &+ 54) as UInt16)
        let count = UInt64(try memory.integer(at: base &+ 56) as UInt16)
        guard size >= 56, count < 256 else { return }
        var first: UInt64?
        var table: UInt64?
        for number in 0..<count {
            let header = headers &+ number &* size
            let address: UInt64 = try memory.integer(at: header &+ 16)
            switch try memory.integer(at: header) as UInt32 {
            // PT_LOAD
            case 1: first = first ?? address & ~4095
            // PT_GNU_EH_FRAME
            case 0x6474_e550: table = address
            default: break
            }
        }
        guard let first else { return }
        images[index].bias = base &- first
        guard let table else { return }
        images[index].table = try UnwindTable(memory, header: table &+ images[index].bias)
    }
}
