internal import CCrashCapture
internal import Glibc
internal import LinuxSystem

/// Reading what another program, or another process, has left.
extension KeptTable {
    /// What an earlier process kept.
    package struct Contents: Sendable, Hashable {
        /// The descriptors that are open, by name.
        package var entries: [String: KeptEntry]
        /// The descriptors that are not.
        package var lost: [LostDescriptor]

        /// Nothing.
        package static let none = Contents(entries: [:], lost: [])
    }

    /// Reads the table that the program before this one left in this very process, and closes it.
    ///
    /// From now on every descriptor that is taken over is closed on exec, except the standard three. Anybody may have chosen the number: a
    /// descriptor that is not a table of this process is left alone.
    ///
    /// - Parameter number: Any number.
    /// - Returns: Nil if it is no table of this process, or a damaged one.
    package static func takeOver(_ number: CInt) -> Contents? {
        // The process's start time says whose the table is. If proc(5) is not mounted, or was not, the seal shows that a restart left it.
        // With the pid, which only a restart keeps, that is as much as can be known.
        guard number > 2, hf_kept_is_table(number) != 0, let image = Image(of: number),
            let records = records(in: image, mayBeUntimed: hf_kept_is_frozen(number) != 0)
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

    /// The bytes of a table, without the slots that were never used: half a megabyte.
    struct Image {
        /// The header and the slots.
        private let head: [UInt8]
        private let blocks: [UInt8]

        /// Takes the bytes of a whole table, or of anything else.
        init(_ bytes: [UInt8]) {
            head = Array(bytes.prefix(Int(HF_KEPT_BLOCKS_OFFSET)))
            blocks = Array(bytes.dropFirst(Int(HF_KEPT_BLOCKS_OFFSET)))
        }

        /// Reads a file; nil if it cannot be read, or not be believed.
        init?(of number: CInt) {
            var status = stat()
            guard unsafe fstat(number, &status) == 0, hf_kept_is_trusted(status.st_uid, status.st_gid),
                status.st_size < 1 << 40,
                let header = Self.read(number, 0..<min(Int(status.st_size), MemoryLayout<HFKeptHeader>.size))
            else { return nil }
            let size = Int(status.st_size)
            let used = header.count < 28 ? 0 : Int(Self.load(24, of: header, as: UInt32.self))
            let end = min(size, Int(HF_KEPT_SLOTS_OFFSET) + min(used, KeptTable.nameLimit) * 8)
            let begin = min(size, Int(HF_KEPT_BLOCKS_OFFSET))
            guard let head = Self.read(number, 0..<end), let blocks = Self.read(number, begin..<size) else {
                return nil
            }
            self.head = head
            self.blocks = blocks
        }

        private static func read(_ number: CInt, _ range: Range<Int>) -> [UInt8]? {
            var isWhole = true
            let bytes = unsafe [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
                while count < range.count {
                    let rest = unsafe UnsafeMutableBufferPointer(rebasing: buffer[count...])
                    let limit = range.count - count
                    let more = unsafe pread(number, rest.baseAddress, limit, off_t(range.lowerBound + count))
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

        fileprivate static func load<Value: BitwiseCopyable>(
            _ offset: Int,
            of bytes: [UInt8],
            as type: Value.Type
        ) -> Value {
            unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(fromByteOffset: offset, as: type) }
        }

        /// Whether it is of a process, as its header says.
        fileprivate func isOf(_ pid: CInt, _ startTime: UInt64, mayBeUntimed: Bool) -> Bool {
            guard head.count >= MemoryLayout<HFKeptHeader>.size, Self.load(12, of: head, as: Int32.self) == pid else {
                return false
            }
            let written = Self.load(16, of: head, as: UInt64.self)
            return written == startTime || mayBeUntimed && (written == 0 || startTime == 0)
        }

        /// Its records by slot; nil if it is something else than a table, or if anything in it is wrong.
        func slots() -> [Int: (name: String, record: Record)]? {
            guard head.count >= MemoryLayout<HFKeptHeader>.size, Array(head[..<8]) == Array("HFKEPT\0\0".utf8),
                Self.load(8, of: head, as: UInt32.self) == UInt32(HF_KEPT_VERSION)
            else { return nil }
            let used = Int(Self.load(24, of: head, as: UInt32.self))
            guard used <= KeptTable.nameLimit else { return nil }
            // A table that ends before its slots do: a restart came before the first record.
            guard head.count >= Int(HF_KEPT_SLOTS_OFFSET) + used * 8 else {
                return head.dropFirst(Int(HF_KEPT_SLOTS_OFFSET)).allSatisfy { $0 == 0 } ? [:] : nil
            }
            var names: Set<String> = []
            var slots: [Int: (name: String, record: Record)] = [:]
            for slot in 0..<used {
                let block = Self.load(Int(HF_KEPT_SLOTS_OFFSET) + slot * 8, of: head, as: UInt64.self)
                guard block > 0 else { continue }
                guard let (name, record) = record(at: block - 1), names.insert(name).inserted else { return nil }
                slots[slot] = (name, record)
            }
            return slots
        }

        private func record(at block: UInt64) -> (name: String, record: Record)? {
            let header = MemoryLayout<HFKeptRecord>.size
            guard block < UInt64(blocks.count), case let offset = Int(block) * Int(HF_KEPT_BLOCK_SIZE),
                offset + header <= blocks.count
            else { return nil }
            let descriptor = Self.load(offset + 20, of: blocks, as: Int32.self)
            let nameLength = Int(Self.load(offset + 24, of: blocks, as: UInt32.self))
            let stateLength = Int(Self.load(offset + 28, of: blocks, as: UInt32.self))
            let state = offset + header + nameLength
            guard nameLength <= KeptTable.nameSizeLimit, stateLength <= KeptTable.stateSizeLimit,
                state + stateLength <= blocks.count,
                let name = String(validating: blocks[(offset + header)..<state], as: UTF8.self), descriptor >= 0
            else { return nil }
            let identity = FileIdentity(
                device: Self.load(offset, of: blocks, as: UInt64.self),
                inode: Self.load(offset + 8, of: blocks, as: UInt64.self),
                mode: Self.load(offset + 16, of: blocks, as: UInt32.self)
            )
            let bytes = Array(blocks[state..<(state + stateLength)])
            return (name, Record(descriptor: descriptor, identity: identity, state: bytes))
        }
    }

    /// The records in a table of this process; nil if it is something else, or if anything in it is wrong.
    static func records(
        in image: Image,
        pid: CInt = getpid(),
        startTime: UInt64 = ProcessImage.startTime,
        mayBeUntimed: Bool = false
    ) -> [String: Record]? {
        guard image.isOf(pid, startTime, mayBeUntimed: mayBeUntimed), let slots = image.slots() else { return nil }
        return Dictionary(uniqueKeysWithValues: slots.values.map { ($0.name, $0.record) })
    }
}
