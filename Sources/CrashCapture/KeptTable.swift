internal import CCrashCapture
internal import Glibc
internal import LinuxSystem
public import SystemPackage

/// Descriptors by name, with bytes of the program's, for the process that takes this one's place.
///
/// A restart may come between any two instructions: the next process sees what was there before a change or what is there
/// after it (kept_table.h). A change costs two writes to memory of the kernel's; once a restart has begun it returns only if
/// that fails. For one thread at a time.
public final class KeptTable {
    /// How many names there can be.
    public static var nameLimit: Int { Int(HF_KEPT_SLOT_LIMIT) }
    /// How many bytes of UTF-8 a name can have.
    public static var nameSizeLimit: Int { 4096 }
    /// How many bytes can go with a descriptor.
    public static var stateSizeLimit: Int { 16 << 20 }

    /// A stretch of blocks that holds a record.
    private struct Place {
        var slot: Int
        var block: Int
        /// The stretch has 2 to the power of this many blocks.
        var sizeClass: Int
        var identity: FileIdentity
        var descriptor: CInt
    }

    /// The table, for `CrashCapture.prepareRestart` and the next process.
    public let descriptor: CInt
    private let startTime = ProcessImage.startTime
    private var places: [String: Place] = [:]
    private var freeSlots: [Int] = []
    private var usedSlots = 0
    private var freeBlocks: [[Int]] = Array(repeating: [], count: 32)
    private var endOfBlocks = 0

    /// Makes an empty table.
    ///
    /// - Throws: `EMFILE`, `ENFILE` or `ENOMEM`.
    public init() throws(Errno) {
        let result = hf_kept_create()
        guard result >= 0 else { throw Errno(rawValue: -result) }
        descriptor = result
        do {
            try writeHeader()
        } catch {
            close(result)
            throw error
        }
    }

    deinit {
        close(descriptor)
    }

    /// The names that are kept, in no order.
    public var names: [String] { Array(places.keys) }

    /// Keeps a descriptor under a name, in the place of what was kept under it.
    ///
    /// - Parameters:
    ///   - entry: An open descriptor, and bytes within `stateSizeLimit`.
    ///   - name: Any text within `nameSizeLimit`.
    /// - Throws: `EBADF`, `EINVAL` for a name or bytes beyond their limits, `ENOSPC` beyond `nameLimit`, `ENOMEM`; then
    ///   what was kept is as before.
    public func keep(_ entry: KeptEntry, as name: String) throws(Errno) {
        try set(entry, FileIdentity(of: entry.descriptor), name)
    }

    /// Changes the bytes that go with a descriptor.
    ///
    /// - Returns: False when nothing is kept under the name.
    /// - Throws: As `keep`, but for `EBADF`.
    public func setState(_ state: [UInt8], of name: String) throws(Errno) -> Bool {
        guard let place = places[name] else { return false }
        try set(KeptEntry(descriptor: place.descriptor, state: state), place.identity, name)
        return true
    }

    /// Keeps nothing under a name any more; the descriptor stays open.
    public func remove(_ name: String) throws(Errno) {
        guard let place = places[name] else { return }
        try writeSlot(place.slot, 0)
        places[name] = nil
        freeSlots.append(place.slot)
        freeBlocks[place.sizeClass].append(place.block)
    }

    private func set(_ entry: KeptEntry, _ identity: FileIdentity, _ name: String) throws(Errno) {
        let text = Array(name.utf8)
        guard text.count <= Self.nameSizeLimit, entry.state.count <= Self.stateSizeLimit else {
            throw .invalidArgument
        }
        let header = HFKeptRecord(
            device: identity.device,
            inode: identity.inode,
            mode: identity.mode,
            descriptor: entry.descriptor,
            name_length: UInt32(text.count),
            state_length: UInt32(entry.state.count)
        )
        let record = unsafe withUnsafeBytes(of: header) { unsafe Array($0) } + text + entry.state
        let old = places[name]
        let slot: Int
        if let known = old?.slot ?? freeSlots.last { slot = known } else { slot = try nextSlot() }
        let sizeClass = Self.sizeClass(of: record.count)
        let block = freeBlocks[sizeClass].last ?? endOfBlocks
        try write(record, at: Int(HF_KEPT_BLOCKS_OFFSET) + block * Int(HF_KEPT_BLOCK_SIZE))
        // The record is whole before a slot names it: a thread that dies by a restart leaves the kernel first.
        try writeSlot(slot, UInt64(block) + 1)

        if freeBlocks[sizeClass].popLast() == nil { endOfBlocks += 1 << sizeClass }
        if let old {
            freeBlocks[old.sizeClass].append(old.block)
        } else {
            _ = freeSlots.popLast()
        }
        places[name] = Place(
            slot: slot,
            block: block,
            sizeClass: sizeClass,
            identity: identity,
            descriptor: entry.descriptor
        )
    }

    /// The smallest power of two of blocks that holds so many bytes.
    private static func sizeClass(of size: Int) -> Int {
        let blocks = (size + Int(HF_KEPT_BLOCK_SIZE) - 1) / Int(HF_KEPT_BLOCK_SIZE)
        return Int.bitWidth - (max(1, blocks) - 1).leadingZeroBitCount
    }

    /// A slot that was never used; it goes to the list of free ones until it is taken.
    private func nextSlot() throws(Errno) -> Int {
        guard usedSlots < Self.nameLimit else { throw .noSpace }
        usedSlots += 1
        do {
            try writeHeader()
        } catch {
            usedSlots -= 1
            throw error
        }
        freeSlots.append(usedSlots - 1)
        return usedSlots - 1
    }

    /// Makes a table that a restart has frozen one that can be changed, when the restart has failed.
    ///
    /// Does not return while it goes on.
    private func thaw() throws(Errno) {
        let error = hf_kept_thaw(descriptor)
        guard error == 0 else { throw Errno(rawValue: error) }
    }

    private func writeHeader() throws(Errno) {
        var header = HFKeptHeader()
        unsafe withUnsafeMutableBytes(of: &header.magic) { unsafe $0.copyBytes(from: "HFKEPT".utf8) }
        header.version = UInt32(HF_KEPT_VERSION)
        header.pid = getpid()
        header.start_time = startTime
        header.slots_used = UInt32(usedSlots)
        try write(unsafe withUnsafeBytes(of: header) { unsafe Array($0) }, at: 0)
    }

    private func writeSlot(_ slot: Int, _ value: UInt64) throws(Errno) {
        try write(unsafe withUnsafeBytes(of: value) { unsafe Array($0) }, at: Int(HF_KEPT_SLOTS_OFFSET) + slot * 8)
    }

    private func write(_ bytes: [UInt8], at offset: Int) throws(Errno) {
        try FileSizeLimit.withoutSignal { () throws(Errno) in try writeAll(bytes, at: offset) }
    }

    private func writeAll(_ bytes: [UInt8], at offset: Int) throws(Errno) {
        var done = 0
        while done < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { bytes in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[done...])
                return unsafe pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset + done))
            }
            if count < 0 {
                let error = errno
                if error == EPERM { try thaw() } else if error != EINTR { throw Errno(rawValue: error) }
                continue
            }
            done += count
        }
    }
}
