internal import CCrashCapture

/// Looks for a `Synchronization.Mutex` that a parked thread holds.
///
/// Nobody counts these locks: they are taken by an instruction in the code that uses them. But one that is held has its owner's
/// thread id in it (LinuxImpl.swift of the Synchronization module: the word is that of futex(2), FUTEX_LOCK_PI), and the code that
/// is going to let go of it has its address, or that of the object it lies in, in a register or on the stack; unless it is a
/// global, which lies in the data of the executable. So every such place is looked at that can be written to. A number that happens
/// to be the thread's id, and has not been there from the beginning, is taken for a lock: then nothing is resumed that could have been.
///
/// Used on the crash thread, for a stack without a library's frame: what it reads may change meanwhile, but not its own locks.
struct MutexSearch {
    /// How far into an object its locks are looked for, in bytes.
    private static let reach = 1024
    /// FUTEX_TID_MASK of futex(2): the top bits say that somebody waits, or that the owner died.
    private static let ownerMask: UInt32 = 0x3fff_ffff

    private let thread: UInt32
    private let ignored: (Range<UInt64>, Range<UInt64>, Range<UInt64>)
    private let initialData: InitialData
    private var buffer = [UInt8](repeating: 0, count: 64 * 1024)

    /// Prepares a search for the locks of a thread, in a program whose executable's data began as `initialData`.
    init(thread: CInt, initialData: InitialData) {
        self.initialData = initialData
        self.thread = UInt32(bitPattern: thread)
        // The first thread's id is the process's, which we note ourselves; whom we asked for a sample, we note, too.
        ignored = (
            unsafe Self.range(hf_capture_own_state(), hf_capture_own_state_size()),
            unsafe Self.range(hf_signal_own_state(), hf_signal_own_state_size()),
            unsafe Self.range(hf_sample_own_state(), hf_sample_own_state_size())
        )
    }

    private static func range(_ start: UnsafeRawPointer, _ size: Int) -> Range<UInt64> {
        let start = UInt64(UInt(bitPattern: start))
        return start..<start + UInt64(size)
    }

    /// Whether a lock is found from the registers, from a stack, or in the executable's data.
    ///
    /// There is none in code and constants, to which most of a stack refers, and which are full of small numbers like a thread's id.
    mutating func findsLock(
        registers: [UInt64],
        stack: Range<UInt64>,
        images: borrowing LoadedImages
    ) -> Bool {
        if !initialData.isComplete { return true }
        for range in initialData.ranges where hasOwner(in: range) { return true }
        var seen = Set<UInt64>()
        for address in registers + words(of: stack) where isPlausible(address) && seen.insert(address).inserted {
            if isConstant(address, images) { continue }
            // On the abandoned stack itself there is no lock that anybody will want, but many a copy of the thread's id.
            let end = address + UInt64(Self.reach)
            if end <= stack.lowerBound || address >= stack.upperBound, hasOwner(in: address..<end) { return true }
        }
        return false
    }

    /// Whether nobody writes there: to code and constants of what is never unloaded.
    ///
    /// Where another image was there may be a heap now.
    private func isConstant(_ address: UInt64, _ images: borrowing LoadedImages) -> Bool {
        guard let image = unsafe images.image(at: address), unsafe image.pointee.kind != .other else { return false }
        return images.isReadOnlyImageMemory(address, count: 4)
    }

    /// Whether it could be a pointer of a program: aligned for a lock, not in page zero, in the lower half (x86-64).
    private func isPlausible(_ address: UInt64) -> Bool {
        address % 4 == 0 && address >= 4096 && address < 1 << 47 - UInt64(Self.reach)
    }

    private mutating func words(of range: Range<UInt64>) -> [UInt64] {
        var words: [UInt64] = []
        read(range) { piece, _ in
            for place in stride(from: 0, to: piece.byteCount - 7, by: 8) {
                words.append(unsafe piece.unsafeLoadUnaligned(fromByteOffset: place, as: UInt64.self))
            }
            return false
        }
        return words
    }

    private mutating func hasOwner(in range: Range<UInt64>) -> Bool {
        let (thread, ignored, initialData) = (thread, ignored, initialData)
        return read(range) { piece, start in
            for place in stride(from: 0, to: piece.byteCount - 3, by: 4) {
                let word = unsafe piece.unsafeLoadUnaligned(fromByteOffset: place, as: UInt32.self)
                let address = start + UInt64(place)
                if word & Self.ownerMask == thread, !ignored.0.contains(address), !ignored.1.contains(address),
                    !ignored.2.contains(address), !initialData.holds(word, at: address)
                {
                    return true
                }
            }
            return false
        }
    }

    /// Reads a range in pieces, as far as there is memory, until `body` says that it has seen enough.
    @discardableResult
    private mutating func read(_ range: Range<UInt64>, _ body: (RawSpan, UInt64) -> Bool) -> Bool {
        var start = range.lowerBound
        while start < range.upperBound {
            let size = min(buffer.count, Int(range.upperBound - start))
            let count = unsafe buffer.withUnsafeMutableBytes { bytes in
                unsafe bytes.baseAddress.map { unsafe hf_async_read_memory(start, $0, size) } ?? 0
            }
            if count == 0 { return false }
            if unsafe body(buffer.span.bytes.extracting(first: count), start) { return true }
            start += UInt64(count)
        }
        return false
    }
}
