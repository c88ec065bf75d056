internal import CCrashCapture
internal import Glibc

extension KeptTable {
    /// What a process before this one kept.
    public struct Contents: Sendable, Hashable {
        /// What is there, by name.
        public var entries: [String: KeptEntry]
        /// What is not there.
        public var lost: [LostDescriptor]

        /// Nothing.
        public static let none = Contents(entries: [:], lost: [])
    }

    /// Reads the table that the program before this one left in this very process, and closes it.
    ///
    /// Every descriptor that is taken over is closed on exec from now on, but for the standard three. The number may come from anybody: what is not a
    /// table of this process is left alone.
    ///
    /// - Parameter number: Any number.
    /// - Returns: Nil when it is no table of this process, or a damaged one.
    public static func takeOver(_ number: CInt) -> Contents? {
        // A process's start time says whose the table is. Where proc(5) was or is not mounted, the seal says that a restart left it: with
        // the pid, which only a restart keeps, that is as much as can be known.
        guard number > 2, hf_kept_is_table(number) != 0, let bytes = contents(of: number),
            let records = records(in: bytes, mayBeUntimed: hf_kept_is_frozen(number) != 0)
        else { return nil }
        var contents = Contents.none
        for (name, record) in records where record.descriptor != number {
            guard (try? FileIdentity(of: record.descriptor)) == record.identity,
                record.descriptor <= STDERR_FILENO || fcntl(record.descriptor, F_SETFD, FD_CLOEXEC) == 0
            else {
                // Not closed: the number may be that of a library's file.
                contents.lost.append(LostDescriptor(name: name, state: record.state))
                continue
            }
            contents.entries[name] = KeptEntry(descriptor: record.descriptor, state: record.state)
        }
        close(number)
        return contents
    }

    /// A record as it was written.
    struct Record: Hashable {
        var descriptor: CInt
        var identity: FileIdentity
        var state: [UInt8]
    }

    /// The records in the bytes of a table of this process; nil when they are not, or when anything in them is wrong.
    static func records(
        in bytes: [UInt8],
        pid: CInt = getpid(),
        startTime: UInt64 = ProcessImage.startTime,
        mayBeUntimed: Bool = false
    ) -> [String: Record]? {
        func load<Value: BitwiseCopyable>(_ offset: Int, as type: Value.Type) -> Value {
            unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(fromByteOffset: offset, as: type) }
        }
        guard bytes.count >= MemoryLayout<HFKeptHeader>.size, Array(bytes[..<8]) == Array("HFKEPT\0\0".utf8),
            load(8, as: UInt32.self) == UInt32(HF_KEPT_VERSION), load(12, as: Int32.self) == pid,
            case let written = load(16, as: UInt64.self),
            written == startTime || mayBeUntimed && (written == 0 || startTime == 0)
        else { return nil }
        let used = Int(load(24, as: UInt32.self))
        guard used <= nameLimit else { return nil }
        // A table whose slots were never written ends before them.
        guard used == 0 || bytes.count >= Int(HF_KEPT_BLOCKS_OFFSET) else {
            return unusedOnly(bytes) ? [:] : nil
        }
        var records: [String: Record] = [:]
        let header = MemoryLayout<HFKeptRecord>.size
        for slot in 0..<used {
            let block = load(Int(HF_KEPT_SLOTS_OFFSET) + slot * 8, as: UInt64.self)
            guard block > 0 else { continue }
            guard block <= UInt64(bytes.count) else { return nil }
            let offset = Int(HF_KEPT_BLOCKS_OFFSET) + (Int(block) - 1) * Int(HF_KEPT_BLOCK_SIZE)
            guard offset + header <= bytes.count else { return nil }
            let descriptor = load(offset + 20, as: Int32.self)
            let nameLength = Int(load(offset + 24, as: UInt32.self))
            let stateLength = Int(load(offset + 28, as: UInt32.self))
            let state = offset + header + nameLength
            guard nameLength <= nameSizeLimit, stateLength <= stateSizeLimit, state + stateLength <= bytes.count,
                let name = String(validating: bytes[(offset + header)..<state], as: UTF8.self),
                descriptor >= 0, records[name] == nil
            else { return nil }
            records[name] = Record(
                descriptor: descriptor,
                identity: FileIdentity(
                    device: load(offset, as: UInt64.self),
                    inode: load(offset + 8, as: UInt64.self),
                    mode: load(offset + 16, as: UInt32.self)
                ),
                state: Array(bytes[state..<(state + stateLength)])
            )
        }
        return records
    }

    /// Whether a table that ends before its blocks names none: a restart came before its first record.
    private static func unusedOnly(_ bytes: [UInt8]) -> Bool {
        bytes.dropFirst(Int(HF_KEPT_SLOTS_OFFSET)).allSatisfy { $0 == 0 }
    }

    private static func contents(of number: CInt) -> [UInt8]? {
        var status = stat()
        guard unsafe fstat(number, &status) == 0, hf_kept_is_trusted(status.st_uid, status.st_gid),
            status.st_size < 1 << 40
        else { return nil }
        let size = Int(status.st_size)
        var isWhole = true
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            while count < size {
                let rest = unsafe UnsafeMutableBufferPointer(rebasing: buffer[count...])
                let more = unsafe pread(number, rest.baseAddress, rest.count, off_t(count))
                if more < 0, errno == EINTR { continue }
                guard more > 0 else {
                    isWhole = false
                    return
                }
                count += more
            }
        }
        return isWhole ? bytes : nil
    }
}
