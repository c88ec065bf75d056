internal import Glibc

/// The guards of an executable's thread-local variables of C++: bytes that say, for each thread, whether the variables are made.
///
/// Compilers name the guard of a file's variables `__tls_guard`, and that of a template's variable by the mangling of a guard (Itanium C++
/// ABI, 5.1.4.4, "Special Names"). A program without them makes no such variables.
@safe
package struct ThreadLocalGuards: Sendable {
    /// Where they are, counted from the thread pointer: below zero.
    ///
    /// Nil where the file does not name what is local to it. Kept for ever: the crash thread reads it without counting references.
    private nonisolated(unsafe) let offsets: UnsafeBufferPointer<Int32>?

    /// Guards at these offsets; nil where nothing is known.
    package init(offsets: [Int32]?) {
        guard let offsets else {
            unsafe self.offsets = nil
            return
        }
        let copy = UnsafeMutableBufferPointer<Int32>.allocate(capacity: offsets.count)
        _ = unsafe copy.initialize(from: offsets)
        unsafe self.offsets = UnsafeBufferPointer(copy)
    }

    /// Reads the symbols of an executable's file, or of its debug file.
    init(of file: ELFFile) {
        guard let storage = file.threadStorage else {
            self.init(offsets: [])
            return
        }
        var guards: [Int32] = []
        var isNamed = false
        var places: [(name: Int, offset: Int32)] = []
        let names = file.forEachSymbol { symbol, type, _ in
            guard type == STT_TLS, symbol.st_value < storage.p_memsz else { return }
            // Guards of files are local, and programs may be stripped of what is.
            if CInt(symbol.st_info >> 4) == STB_LOCAL { isNamed = true }
            // The storage ends at the thread pointer, but for what the alignment adds (lld's getTlsTpOffset).
            let gap = (0 &- storage.p_vaddr &- storage.p_memsz) & (max(storage.p_align, 1) - 1)
            let (below, overflow) = (storage.p_memsz - symbol.st_value).addingReportingOverflow(gap)
            guard !overflow, let offset = Int32(exactly: below) else { return }
            places.append((Int(symbol.st_name), -offset))
        }
        for (place, offset) in places where names[place] == "__tls_guard" || names[place].hasPrefix("_ZGV") {
            guards.append(offset)
        }
        self.init(offsets: isNamed ? guards : nil)
    }

    /// The offsets; nil where nothing is known.
    var list: [Int32]? { unsafe offsets.map { unsafe Array($0) } }

    /// Whether there are none.
    package var isEmpty: Bool { unsafe offsets?.isEmpty == true }

    /// Whether the file names what is local to it; else any place below the thread pointer may be a guard.
    package var isKnown: Bool { unsafe offsets != nil }

    /// Whether one may be at an offset from the thread pointer.
    ///
    /// Allocates nothing.
    package func mayContain(_ offset: Int32) -> Bool {
        guard let offsets = unsafe offsets else { return offset < 0 }
        for index in 0..<offsets.count where unsafe offsets[index] == offset { return true }
        return false
    }
}
