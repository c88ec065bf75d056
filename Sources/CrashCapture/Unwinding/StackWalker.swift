internal import CCrashCapture
internal import CLibunwind

/// Walks the stack of a parked thread, without a lock and without a load that could fault.
///
/// Ordinary frames are walked by rows of their call frame tables (`CallFrameRow`), and libunwind goes on from the first that is
/// not: of a signal handler, of hand-written code, without a table.
///
/// libunwind 1.6.2 on its own asks `dl_iterate_phdr` for every frame, which blocks while another thread holds the loader's
/// lock (measured: until SIGKILL). Here it is given its unwind tables from `LoadedImages` and its memory from `MemoryWindow`.
/// Used by the crash thread alone.
@safe final class StackWalker {
    /// More than any stack of 8 MiB holds.
    static let maximumSteps = 400_000

    var library: HFUnwindLibrary
    private(set) var images: LoadedImages
    /// The context that a walk begins with.
    ///
    /// Allocated once, for ever: walks must not allocate.
    private let start = UnsafeMutablePointer<ucontext_t>.allocate(capacity: 1)
    /// Stack memory, and memory of images that may be unloaded: apart, for a walk goes back and forth between them.
    private var window = MemoryWindow()
    private var imageWindow = MemoryWindow()

    static let rowCount = 1024
    /// Rows that were read before, each in the place that its address says.
    let rows = UnsafeMutablePointer<CallFrameRow>.allocate(capacity: rowCount)
    let rules = CallFrameRules()
    /// The registers of the frame that the walk has come to.
    private let registers = UnsafeMutablePointer<UInt64>.allocate(capacity: CallFrameRow.Register.count)

    /// Loads libunwind and gives it our accessors; nil when it is not there.
    init?(spool: UnsafeMutablePointer<HFSpoolHeader>) {
        unsafe library = HFUnwindLibrary()
        guard unsafe hf_unwind_load(&library),
            let space = unsafe library.local_address_space,
            let accessors = unsafe library.get_accessors?(space)
        else { return nil }
        unsafe images = LoadedImages(spool: spool)
        unsafe rows.initialize(repeating: CallFrameRow(), count: Self.rowCount)
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
    ///   - limit: How many frames it goes at most.
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
        // A copy, which libunwind reads to the end of the walk: what is parked is resumed or reported as it was.
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
            body(address)
            let result = unsafe library.step?(&cursor) ?? -1
            if result == 0 { return true }
            if result < 0 { return false }
        }
        return false
    }

    /// A call through a bad pointer leaves no frame: there is no unwind table for where it went, but the return address
    /// is on top of the stack.
    ///
    /// Without this the caller itself, which is the one at fault, would be passed over.
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

    /// Lists the images again when an address lies in none of them; takes the loader's lock.
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
        guard let image = unsafe images.image(at: address), let table = searchTable(for: address) else {
            return CInt(HF_UNWIND_NO_INFORMATION)
        }
        return unsafe hf_unwind_search(
            &library,
            space,
            address,
            image.pointee.base,
            image.pointee.end,
            table.header,
            table.header + 12,
            table.count,
            info,
            needsUnwindInfo,
            argument
        )
    }

    /// The table of the functions of the image that an address lies in: where its header is, and how many entries it has.
    func searchTable(for address: UInt64) -> (header: UInt64, count: UInt64)? {
        guard let image = unsafe images.image(at: address) else { return nil }
        let header = unsafe image.pointee.unwind_table
        // Version 1, then the encodings of the frame pointer, the count (udata4) and the table (sdata4, data-relative): the
        // only ones that linkers write (LSB, "The .eh_frame_hdr section").
        guard header != 0, images.isReadOnlyImageMemory(header, count: 16),
            let encodings = load(header), encodings & 0xff == 1, encodings >> 16 & 0xffff == 0x3b03,
            let counts = load(header + 8)
        else { return nil }
        let count = counts & 0xffff_ffff
        // It is searched by loads that are not checked: both ends must be there, of an image that may be unloaded, too.
        guard count > 0, images.isReadOnlyImageMemory(header + 12, count: count * 8),
            load(header + 12) != nil, load(header + 12 + (count - 1) * 8) != nil
        else { return nil }
        return (header, count)
    }

    /// The word at an address of an image or of a stack, or nil where there is no memory.
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
}

/// The walker whose walk is under way.
///
/// Protected by: walks happen on the crash thread alone, one at a time.
private nonisolated(unsafe) var activeWalker: StackWalker! = nil
