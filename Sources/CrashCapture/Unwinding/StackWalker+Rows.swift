internal import CCrashCapture

/// Where the rows come from: the tables that compilers write for exceptions (`.eh_frame`).
///
/// libunwind knows more, but takes 0.7 us for a frame that it has seen before, 0.5 of them in two system calls for a lock of
/// its cache (Debian's 1.6.2; strace shows them). So ordinary frames are walked here, and it is asked for all others.
extension StackWalker {
    /// The row for an address, remembered or read; nil where libunwind has to be asked.
    func row(at address: UInt64) -> UnsafePointer<CallFrameRow>? {
        // 0 marks an empty place: nothing is there to look up.
        guard address != 0 else { return nil }
        let place = unsafe rows + Int(truncatingIfNeeded: (address &* 0x9e37_79b9_7f4a_7c15) >> 54)
        if unsafe place.pointee.address == address { return unsafe UnsafePointer(place) }
        guard let row = read(address) else { return nil }
        unsafe place.pointee = row
        return unsafe UnsafePointer(place)
    }

    /// The row for an instruction at the start or the end of a function that no table describes, told by its code.
    ///
    /// Some functions of the Swift overlay of the C library have none. In between, the frame pointer leads on; here it is the
    /// caller's, and would pass over it.
    func rowByCode(at address: UInt64) -> CallFrameRow? {
        guard images.isCode(address), let code = load(address), let before = load(address &- 1) else { return nil }
        // push %rbp; mov %rsp, %rbp
        let beginning: UInt64 = 0xe589_4855
        var row = CallFrameRow()
        row.address = address
        row.base = UInt8(CallFrameRow.Register.stackPointer)
        if code & 0xffff_ffff == beginning {
            row.offset = 8
        } else if before & 0xffff_ffff == beginning {
            row.offset = 16
            row.rbp = -16
        } else if before & 0xffff == 0xc35d {
            // pop %rbp; ret
            row.offset = 8
        } else {
            return nil
        }
        return row
    }

    /// Forgets all rows: an image may be gone, and another in its place.
    func forgetRows() {
        unsafe rows.update(repeating: CallFrameRow(), count: Self.rowCount)
    }

    /// The function that an address lies in, by its description; nil where there is none.
    func function(at address: UInt64) -> Range<UInt64>? {
        guard let description = description(for: address), description.count < 1 << 24 else { return nil }
        return description.start..<description.start + description.count
    }

    private func read(_ address: UInt64) -> CallFrameRow? {
        guard let description = description(for: address) else { return nil }
        var cursor = description.cursor
        if description.common.hasAugmentation { cursor.skip(cursor.unsignedLEB()) }
        var program = CallFrameProgram(description.common, rules, from: description.start, to: address)
        guard program.run(&cursor) else { return nil }
        return rules.row(at: address)
    }

    /// Reads the description of the function that an address lies in, up to its instructions.
    private func description(
        for address: UInt64
    ) -> (cursor: CallFrameCursor, common: CallFrameProgram.Common, start: UInt64, count: UInt64)? {
        guard let table = searchTable(for: address), let entry = entry(for: address, in: table) else { return nil }
        var cursor = CallFrameCursor(in: self, from: entry, to: entry &+ 4)
        let length = cursor.single()
        // 0 ends the table, and all ones begin a 64-bit length, which nobody writes.
        guard !cursor.hasFailed, length > 4, length < 1 << 24 else { return nil }
        cursor = CallFrameCursor(in: self, from: entry &+ 4, to: entry &+ 4 &+ UInt64(length))
        let commonAddress = cursor.address &- UInt64(cursor.single())
        guard !cursor.hasFailed else { return nil }
        rules.reset()
        guard let common = readCommon(commonAddress), let start = pointer(&cursor, common.encoding) else { return nil }
        let count = UInt64(cursor.single())
        guard address >= start, address - start < count else { return nil }
        return (cursor, common, start, count)
    }

    /// Finds the last entry of the search table that begins at or before an address: the start of a function and where its
    /// description is, each relative to the header of the table (LSB, "The .eh_frame_hdr section").
    private func entry(for address: UInt64, in table: (header: UInt64, count: UInt64)) -> UInt64? {
        func pair(_ index: UInt64) -> UInt64? { load(table.header &+ 12 &+ 8 * index) }
        let wanted = Int64(bitPattern: address &- table.header)
        var (low, high) = (UInt64(0), table.count)
        while low < high {
            let middle = (low + high) / 2
            guard let pair = pair(middle) else { return nil }
            if Int64(Int32(truncatingIfNeeded: pair)) <= wanted { low = middle + 1 } else { high = middle }
        }
        guard low > 0, let pair = pair(low - 1) else { return nil }
        return table.header &+ UInt64(bitPattern: Int64(Int32(truncatingIfNeeded: pair >> 32)))
    }

    /// Reads what functions share, and runs its instructions.
    private func readCommon(_ address: UInt64) -> CallFrameProgram.Common? {
        var cursor = CallFrameCursor(in: self, from: address, to: address &+ 4)
        let length = cursor.single()
        guard !cursor.hasFailed, length > 8, length < 1 << 16 else { return nil }
        cursor = CallFrameCursor(in: self, from: address &+ 4, to: address &+ 4 &+ UInt64(length))
        guard cursor.single() == 0 else { return nil }
        let version = cursor.byte()
        guard version == 1 || version == 3 else { return nil }
        // At most "zPLRS", and the end.
        var augmentation: UInt64 = 0
        var letters = 0
        while case let letter = cursor.byte(), letter != 0 {
            guard letters < 7 else { return nil }
            augmentation |= UInt64(letter) << (8 * letters)
            letters += 1
        }
        var common = CallFrameProgram.Common()
        common.codeAlignment = cursor.unsignedLEB()
        common.dataAlignment = cursor.signedLEB()
        let returnAddress = version == 1 ? UInt64(cursor.byte()) : cursor.unsignedLEB()
        guard !cursor.hasFailed, returnAddress == CallFrameRow.Register.returnAddress else { return nil }
        if letters > 0 {
            guard readAugmentation(augmentation, letters, &cursor, &common) else { return nil }
        }
        var program = CallFrameProgram(common, rules, from: 0, to: 0)
        guard program.run(&cursor) else { return nil }
        rules.endCommonPart()
        return common
    }

    private func readAugmentation(
        _ augmentation: UInt64,
        _ letters: Int,
        _ cursor: inout CallFrameCursor,
        _ common: inout CallFrameProgram.Common
    ) -> Bool {
        guard UInt8(truncatingIfNeeded: augmentation) == UInt8(ascii: "z") else { return false }
        common.hasAugmentation = true
        let length = cursor.unsignedLEB()
        let (end, overflow) = cursor.address.addingReportingOverflow(length)
        guard !overflow else { return false }
        for index in 1..<max(letters, 1) {
            switch UInt8(truncatingIfNeeded: augmentation >> (8 * index)) {
            case UInt8(ascii: "R"): common.encoding = cursor.byte()
            case UInt8(ascii: "L"): _ = cursor.byte()
            case UInt8(ascii: "P"):
                let encoding = cursor.byte()
                guard let size = Self.size(of: encoding) else { return false }
                cursor.skip(size)
            // "S" is the frame of a signal handler, whose caller was interrupted anywhere.
            default: return false
            }
        }
        guard cursor.address <= end else { return false }
        cursor.skip(end - cursor.address)
        return !cursor.hasFailed
    }

    /// DW_EH_PE_absptr, udata4, sdata4 and the 8-byte forms, whatever they are relative to (LSB, "DWARF Exception Header
    /// Encoding").
    private static func size(of encoding: UInt8) -> UInt64? {
        switch encoding & 0x0f {
        case 0x00, 0x04, 0x0c: 8
        case 0x03, 0x0b: 4
        default: nil
        }
    }

    /// Reads an address that is relative to its own place, in 4 bytes with a sign: what every linker writes here.
    private func pointer(_ cursor: inout CallFrameCursor, _ encoding: UInt8) -> UInt64? {
        guard encoding == 0x1b else { return nil }
        let place = cursor.address
        let offset = Int32(bitPattern: cursor.single())
        return cursor.hasFailed ? nil : place &+ UInt64(bitPattern: Int64(offset))
    }
}
