internal import CCrashCapture
internal import Glibc
internal import LinuxSystem
package import SystemPackage

/// A table of descriptors by name, with bytes of the program, for the process that takes this one's place.
///
/// A restart may come between any two instructions: the next process sees the state from before a change or from after it (kept_table.h). A
/// change costs two writes to the kernel's memory. Once a restart has begun, a change returns only if the restart fails. For one thread at
/// a time.
package final class KeptTable {
    /// How many names there can be.
    package static var nameLimit: Int { Int(HF_KEPT_SLOT_LIMIT) }
    /// How many bytes of UTF-8 a name can have.
    package static var nameSizeLimit: Int { 4096 }
    /// How many bytes the program can keep with a descriptor.
    package static var stateSizeLimit: Int { 16 << 20 }

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
    package let descriptor: CInt
    private let startTime = ProcessImage.startTime
    private var places: [String: Place] = [:]
    private var freeSlots: [Int] = []
    private var usedSlots = 0
    /// How many of them the header tells of: some more.
    private var announcedSlots = 0
    private var freeBlocks: [[Int]] = Array(repeating: [], count: 32)
    private var endOfBlocks = 0

    /// Makes an empty table.
    ///
    /// - Throws: `EMFILE`, `ENFILE` or `ENOMEM`.
    package init() throws(Errno) {
        let result = hf_kept_create()
        guard result >= 0 else { throw Errno(rawValue: -result) }
        descriptor = result
        do {
            try FileSizeLimit.withoutSignal { () throws(Errno) in try writeHeader() }
        } catch {
            close(result)
            throw error
        }
    }

    deinit {
        close(descriptor)
    }

    /// The names that are kept, in no order.
    package var names: [String] { Array(places.keys) }

    /// Whether the descriptor of a name is still open on the file that was kept.
    package func isOpen(_ name: String) -> Bool {
        guard let place = places[name] else { return false }
        return (try? FileIdentity(of: place.descriptor)) == place.identity
    }

    /// Keeps a descriptor under a name; replaces the one that was kept under it.
    ///
    /// - Parameters:
    ///   - entry: An open descriptor, and bytes within `stateSizeLimit`.
    ///   - name: Any text within `nameSizeLimit`.
    /// - Throws: `EBADF`, `EINVAL` for a name or bytes beyond their limits, `ENOSPC` beyond `nameLimit`, `ENOMEM`. Then nothing has
    ///   changed.
    package func keep(_ entry: KeptEntry, as name: String) throws(Errno) {
        let identity = try FileIdentity(of: entry.descriptor)
        try FileSizeLimit.withoutSignal { () throws(Errno) in try set(entry, identity, name) }
    }

    /// Changes the bytes of a descriptor.
    ///
    /// - Returns: False when nothing is kept under the name.
    /// - Throws: As `keep`, except `EBADF`.
    package func setState(_ state: [UInt8], of name: String) throws(Errno) -> Bool {
        guard let place = places[name] else { return false }
        let entry = KeptEntry(descriptor: place.descriptor, state: state)
        try FileSizeLimit.withoutSignal { () throws(Errno) in try set(entry, place.identity, name) }
        return true
    }

    /// Removes a name; the descriptor stays open.
    package func remove(_ name: String) throws(Errno) {
        guard let place = places[name] else { return }
        try FileSizeLimit.withoutSignal { () throws(Errno) in try writeSlot(place.slot, 0) }
        places[name] = nil
        freeSlots.append(place.slot)
        freeBlocks[place.sizeClass].append(place.block)
    }

    /// Ends all changes, as a restart does.
    package func freeze() { hf_async_freeze_kept_table(descriptor) }

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
        // The record is complete before a slot names it. A thread that dies by a restart leaves the kernel first.
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

    /// The smallest power of two of blocks that holds `size` bytes.
    private static func sizeClass(of size: Int) -> Int {
        let blocks = (size + Int(HF_KEPT_BLOCK_SIZE) - 1) / Int(HF_KEPT_BLOCK_SIZE)
        return Int.bitWidth - (max(1, blocks) - 1).leadingZeroBitCount
    }

    /// A slot that was never used; it is in the list of free ones until it is taken.
    private func nextSlot() throws(Errno) -> Int {
        guard usedSlots < Self.nameLimit else { throw .noSpace }
        if usedSlots == announcedSlots {
            announcedSlots = min(usedSlots + 64, Self.nameLimit)
            do {
                try writeHeader()
            } catch {
                announcedSlots = usedSlots
                throw error
            }
        }
        freeSlots.append(usedSlots)
        usedSlots += 1
        return usedSlots - 1
    }

    /// If a restart has frozen the table and failed, makes it changeable again.
    ///
    /// Does not return while the restart goes on.
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
        header.slots_used = UInt32(announcedSlots)
        try write(unsafe withUnsafeBytes(of: header) { unsafe Array($0) }, at: 0)
    }

    private func writeSlot(_ slot: Int, _ value: UInt64) throws(Errno) {
        try write(unsafe withUnsafeBytes(of: value) { unsafe Array($0) }, at: Int(HF_KEPT_SLOTS_OFFSET) + slot * 8)
    }

    private func write(_ bytes: [UInt8], at offset: Int) throws(Errno) {
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

/// A descriptor that is kept across restarts, and the program's bytes that go with it.
package struct KeptEntry: Sendable, Hashable {
    /// The descriptor's number.
    package var descriptor: CInt
    /// The program's bytes.
    package var state: [UInt8]

    /// Makes an entry.
    package init(descriptor: CInt, state: [UInt8]) {
        self.descriptor = descriptor
        self.state = state
    }
}

/// What was to be kept across a restart and is not there: it was closed, and its number may be another file's.
package struct LostDescriptor: Sendable, Hashable {
    /// The name that it was kept under.
    package let name: String
    /// Its bytes, which are there.
    package let state: [UInt8]
}

/// The file that a descriptor is open on: the number may be another file's tomorrow.
struct FileIdentity: Hashable {
    var device: UInt64
    var inode: UInt64
    var mode: UInt32

    init(device: UInt64, inode: UInt64, mode: UInt32) {
        self.device = device
        self.inode = inode
        self.mode = mode
    }

    /// - Throws: `EBADF`.
    init(of descriptor: CInt) throws(Errno) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw Errno(rawValue: errno) }
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        mode = UInt32(status.st_mode)
    }
}
