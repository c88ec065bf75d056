internal import CLinuxShims

/// Memory that malloc(3) keeps for later.
package enum FreeMemory {
    /// Gives it back to the kernel, page by page.
    ///
    /// The corresponding C function is `malloc_trim`, which leaves the free end of the calling thread's arena: that goes, too. Takes the lock
    /// of each arena in turn: some milliseconds for tens of megabytes.
    package static func giveBack() { hf_return_free_memory() }
}
