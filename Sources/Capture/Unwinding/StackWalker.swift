internal import CCrashCapture
internal import CLibunwind
internal import LinuxSystem

/// Walks the stack of a parked thread, without a lock and without a load that could fault.
///
/// Ordinary frames are walked by rows of their call frame tables (`CallFrameRow`). libunwind goes on from the first frame that is not
/// ordinary: of a signal handler, of hand-written code, without a table.
///
/// libunwind 1.6.2 on its own calls `dl_iterate_phdr` for every frame, which blocks while another thread holds the loader's lock (measured:
/// until SIGKILL). Here it gets its unwind tables from `LoadedImages` and its memory from `MemoryWindow`. Only the crash thread uses a
/// walker.
@safe final class StackWalker {
    /// More than any stack of 8 MiB holds.
    static let maximumSteps = 400_000

    var library: HFUnwindLibrary
    private(set) var images: LoadedImages
    /// The context at which a walk begins.
    ///
    /// Allocated once and never freed: walks must not allocate.
    private let start = UnsafeMutablePointer<ucontext_t>.allocate(capacity: 1)
    /// Stack memory, and memory of images that may be unloaded: separate, because a walk goes back and forth between them.
    private var window = MemoryWindow()
    private var imageWindow = MemoryWindow()

    private static let rowCount = 1024
    /// Rows that were read before, each at the index of its address.
    private let rows = UnsafeMutablePointer<CallFrameRow>.allocate(capacity: rowCount)
    private static let startCount = 256
    /// Addresses that were found to be the first ones of functions, each at its index.
    private let starts = UnsafeMutablePointer<UInt64>.allocate(capacity: startCount)
    private let rules = CallFrameRules()
    /// The registers of the frame that the walk has come to.
    private let registers = UnsafeMutablePointer<UInt64>.allocate(capacity: CallFrameRow.Register.count)

    /// Loads libunwind and gives it our accessors; nil if it is not installed.
    init?(spool: UnsafeMutablePointer<HFSpoolHeader>) {
        unsafe library = HFUnwindLibrary()
        guard unsafe hf_unwind_load(&library),
            let space = unsafe library.local_address_space,
            let accessors = unsafe library.get_accessors?(space)
        else { return nil }
        unsafe images = LoadedImages(spool: spool)
        unsafe rows.initialize(repeating: CallFrameRow(), count: Self.rowCount)
        unsafe starts.initialize(repeating: 0, count: Self.startCount)
        unsafe registers.initialize(repeating: 0, count: CallFrameRow.Register.count)
        unsafe accessors.pointee.find_proc_info = { space, address, info, needsUnwindInfo, argument in
            guard let info = unsafe info else { return CInt(HF_UNWIND_INVALID) }
            return unsafe activeWalker.find(address, space, info, needsUnwindInfo, argument)
        }
        unsafe accessors.pointee.access_mem = { _, address, value, write, _ in
            guard write == 0, let value = unsafe value, let word = unsafe activeWalker.load(address) else {
                return CInt(HF_UNWIND_INVALID)
            }
            unsafe value.pointee = word
            return 0
        }
        // The cache is keyed by program counter and belongs to this copy of the library, which nobody else uses.
        _ = unsafe library.set_caching_policy?(space, UNW_CACHE_GLOBAL)
    }

    /// Calls `body` for each program counter of the context's stack, innermost first, up to a limit.
    ///
    /// - Parameters:
    ///   - context: Where the walk begins.
    ///   - stack: Memory that is sure to be there: the callout stack of a parked thread.
    ///   - limit: How many frames it walks at most.
    ///   - body: Takes a program counter.
    /// - Returns: Whether the outermost frame was reached.
    func walk(
        context: UnsafeMutablePointer<ucontext_t>,
        stack: Range<UInt64> = 0..<0,
        limit: Int = maximumSteps,
        _ body: (UInt64) -> Void
    ) -> Bool {
        unsafe activeWalker = self
        window.reset(safe: stack)
        imageWindow.reset()
        // A copy, which libunwind reads until the end of the walk: the parked thread's own context must not change.
        unsafe start.pointee = unsafe context.pointee
        var isExact = unsafe undoWildCall(&start.pointee, body)
        unsafe hf_unwind_get_registers(start, registers)
        var steps = 0
        while steps < limit {
            let address = unsafe registers[CallFrameRow.Register.returnAddress]
            // A call can be the last instruction of its function.
            let known = unsafe row(at: isExact ? address : address &- 1)?.pointee
            guard let row = known ?? (isExact ? rowByCode(at: address) : nil) else { break }
            body(address)
            if row.base == CallFrameRow.outermost { return true }
            guard unsafe row.apply(to: registers, reading: &window) else { return false }
            if unsafe registers[CallFrameRow.Register.returnAddress] == 0 { return true }
            isExact = false
            steps += 1
        }
        unsafe hf_unwind_set_registers(start, registers)
        return finishWalk(isExact: isExact, steps: steps, limit: limit, body)
    }

    /// Goes on with libunwind, from the registers in `start`.
    private func finishWalk(isExact: Bool, steps: Int, limit: Int, _ body: (UInt64) -> Void) -> Bool {
        var cursor = unw_cursor_t()
        guard unsafe hf_unwind_begin(&library, &cursor, start, isExact) == 0 else { return false }
        for _ in steps..<max(steps, limit) {
            var address: UInt64 = 0
            guard unsafe library.get_reg?(&cursor, CInt(HF_UNWIND_REGISTER_IP), &address) == 0 else { return false }
            noteAsyncFrame(&cursor)
            body(address)
            let result = unsafe library.step?(&cursor) ?? -1
            if result == 0 { return true }
            if result < 0 { return false }
        }
        return false
    }

    /// Takes the registers of libunwind's frame that `asyncFrame` needs; 0 for one that is not known.
    private func noteAsyncFrame(_ cursor: inout unw_cursor_t) {
        take(HF_UNWIND_REGISTER_SP, CallFrameRow.Register.stackPointer, &cursor)
        take(HF_UNWIND_REGISTER_RBP, CallFrameRow.Register.rbp, &cursor)
        take(HF_UNWIND_REGISTER_RBX, CallFrameRow.Register.rbx, &cursor)
        take(HF_UNWIND_REGISTER_R12, CallFrameRow.Register.r12, &cursor)
        take(HF_UNWIND_REGISTER_R13, CallFrameRow.Register.r13, &cursor)
        take(HF_UNWIND_REGISTER_R14, CallFrameRow.Register.r14, &cursor)
        take(HF_UNWIND_REGISTER_R15, CallFrameRow.Register.r15, &cursor)
    }

    private func take(_ number: Int, _ register: Int, _ cursor: inout unw_cursor_t) {
        var value: UInt64 = 0
        unsafe registers[register] = library.get_reg?(&cursor, CInt(number), &value) == 0 ? value : 0
    }

    /// Undoes a call through a bad pointer.
    ///
    /// Such a call leaves no frame: there is no unwind table for its target, but the return address is on top of the stack.
    ///
    /// Without this the walk would skip the caller itself, which is the one at fault.
    ///
    /// Returns whether the context's program counter is exact.
    private func undoWildCall(_ context: inout ucontext_t, _ body: (UInt64) -> Void) -> Bool {
        let address = unsafe hf_unwind_program_counter(&context)
        guard !images.isCode(address),
            let returnAddress = unsafe window.word(at: hf_unwind_stack_pointer(&context)),
            images.isCode(returnAddress)
        else { return true }
        body(address)
        unsafe hf_unwind_undo_call(&context, returnAddress)
        return false
    }

    /// The frame that the walk has come to, as far as it is one that may have a context; valid while `body` is called for it.
    var asyncFrame: AwaitChain.Frame {
        unsafe AwaitChain.Frame(
            stackPointer: registers[CallFrameRow.Register.stackPointer],
            framePointer: registers[CallFrameRow.Register.rbp],
            contextRegister: registers[CallFrameRow.Register.r14],
            savedRegisters: (
                registers[CallFrameRow.Register.rbx], registers[CallFrameRow.Register.rbp],
                registers[CallFrameRow.Register.r12], registers[CallFrameRow.Register.r13],
                registers[CallFrameRow.Register.r15]
            )
        )
    }

    /// Whether an address lies in the executable.
    func isApplication(_ address: UInt64) -> Bool {
        guard let image = unsafe images.image(at: address) else { return false }
        return unsafe image.pointee.kind == .application
    }

    /// Lists the images again, because an address lies in none of them; takes the loader's lock.
    func refreshImages() {
        images.refresh()
        forgetRows()
        unsafe library.flush_cache?(library.local_address_space, 0, 0)
    }

    private func find(
        _ address: unw_word_t,
        _ space: unw_addr_space_t?,
        _ info: UnsafeMutablePointer<unw_proc_info_t>,
        _ needsUnwindInfo: CInt,
        _ argument: UnsafeMutableRawPointer?
    ) -> CInt {
        guard let image = unsafe images.image(at: address), let table = functions(for: address) else {
            return CInt(HF_UNWIND_NO_INFORMATION)
        }
        return unsafe hf_unwind_search(
            &library,
            space,
            address,
            image.pointee.base,
            image.pointee.end,
            table.address,
            table.entries,
            table.count,
            info,
            needsUnwindInfo,
            argument
        )
    }

    /// The table of the functions of the image that an address lies in.
    func functions(for address: UInt64) -> FunctionTable? {
        guard let image = unsafe images.image(at: address),
            case let header = unsafe image.pointee.unwind_table, images.isReadOnlyImageMemory(header, count: 16),
            let table = FunctionTable(at: header, load)
        else { return nil }
        // The table is searched by unchecked loads: it must be there from end to end, even in an image that may be unloaded.
        guard images.isReadOnlyImageMemory(table.entries, count: table.count * 8),
            load(table.entries) != nil, load(table.entries + (table.count - 1) * 8) != nil
        else { return nil }
        return table
    }

    /// The word at an address of an image or of a stack, or nil if there is no memory.
    func load(_ address: UInt64) -> UInt64? {
        guard let image = unsafe images.image(at: address), images.isReadOnlyImageMemory(address, count: 8) else {
            return window.word(at: address)
        }
        // The executable, libc and the Swift runtime are never unloaded.
        guard unsafe image.pointee.kind != .other, let pointer = unsafe UnsafeRawPointer(bitPattern: UInt(address))
        else {
            return imageWindow.word(at: address)
        }
        return unsafe pointer.loadUnaligned(as: UInt64.self)
    }

    /// Forgets what was read of memory that changes.
    func forgetMemory() { window.reset() }

    // MARK: Rows

    // They come from the tables that compilers write for exceptions (`.eh_frame`).
    //
    // libunwind knows more, but takes 0.7 us for a frame that it has seen before, 0.5 of them in two system calls for a lock of
    // its cache (Debian's 1.6.2; strace shows them). So ordinary frames are walked here, and it is asked for all others.

    /// The row for an address, remembered or read; nil if libunwind has to be asked.
    func row(at address: UInt64) -> UnsafePointer<CallFrameRow>? {
        // 0 marks an empty place, and no code lies there.
        guard address != 0 else { return nil }
        let place = unsafe rows + Int(truncatingIfNeeded: (address &* 0x9e37_79b9_7f4a_7c15) >> 54)
        if unsafe place.pointee.address == address { return unsafe UnsafePointer(place) }
        guard let row = read(address) else { return nil }
        unsafe place.pointee = row
        return unsafe UnsafePointer(place)
    }

    /// The row for an instruction at the start or the end of a function that no table describes, recognised by its code.
    ///
    /// Some functions of the Swift overlay of the C library have no table. In their middle the frame pointer leads on. At their start and
    /// end it is still the caller's, and would skip the caller.
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

    /// Forgets all rows and functions: an image may be gone, and another one in its place.
    private func forgetRows() {
        unsafe rows.update(repeating: CallFrameRow(), count: Self.rowCount)
        unsafe starts.update(repeating: 0, count: Self.startCount)
    }

    /// Whether an address may be the first one of a function.
    ///
    /// A function that uses no stack has no description in the table (seen: parts of `TaskGroup.Iterator.next()`). Its start is aligned.
    func isFunctionStart(_ address: UInt64) -> Bool {
        let place = unsafe starts + Int(truncatingIfNeeded: (address &* 0x9e37_79b9_7f4a_7c15) >> 56)
        if unsafe place.pointee == address { return address != 0 }
        guard images.isCode(address) else { return false }
        let isStart = function(at: address).map { $0.lowerBound == address } ?? (address % 16 == 0)
        if isStart { unsafe place.pointee = address }
        return isStart
    }

    /// The function that an address lies in, by its description; nil if there is none.
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
        guard let table = functions(for: address), let entry = table.description(for: address, load) else { return nil }
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

    /// Reads a CIE, and runs its instructions.
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

/// The walker whose walk is under way.
///
/// Protected by: only the crash thread walks, one walk at a time.
private nonisolated(unsafe) var activeWalker: StackWalker! = nil
