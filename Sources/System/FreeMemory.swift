internal import CLinuxShims

/// Memory that malloc(3) keeps for later.
package enum FreeMemory {
    /// Gives it back to the kernel, page by page.
    ///
    /// The corresponding C function is `malloc_trim`, which leaves the free end of the calling thread's arena: that goes, too. Takes the lock
    /// of each arena in turn: some milliseconds for tens of megabytes.
    package static func giveBack() { hf_return_free_memory() }

    /// Takes memory from the kernel that the calling thread's next allocations use.
    ///
    /// - Parameter bytes: Less than malloc(3) takes from the kernel by itself (128 KiB, mallopt(3), M_MMAP_THRESHOLD).
    package static func reserve(bytes: Int) {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: 16)
        unsafe memory.initializeMemory(as: UInt8.self, repeating: 0, count: bytes)
        unsafe memory.deallocate()
    }
}
