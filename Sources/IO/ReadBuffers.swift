internal import Glibc
internal import LinuxSystem
internal import Synchronization
internal import SystemPackage

/// What is read goes through here, for all connections, and for ever: what a callout allocates for itself is lost when it faults
/// (measured: 16 KiB more for each of 10,000 faults).
enum ReadBuffers {
    /// How much is read at once.
    static let size = 16 * 1024

    /// The address of one that no thread is reading into, or 0.
    private static let idle = Atomic<UInt>(0)

    /// Reads once, and appends what came.
    ///
    /// - Returns: How many bytes came: 0 at the end.
    static func read(_ descriptor: CInt, appendingTo input: inout LineBuffer) throws(Errno) -> Int {
        let taken = unsafe UnsafeMutableRawPointer(bitPattern: idle.exchange(0, ordering: .acquiring))
        let bytes = unsafe taken ?? .allocate(byteCount: size, alignment: 16)
        defer {
            // Two threads that read at once leave two; one is enough.
            let other = idle.exchange(UInt(bitPattern: bytes), ordering: .acquiringAndReleasing)
            unsafe UnsafeMutableRawPointer(bitPattern: other)?.deallocate()
        }
        let count = try SystemCall.checked { unsafe Glibc.read(descriptor, bytes, size) }
        unsafe input.append(UnsafeRawBufferPointer(start: bytes, count: count))
        return count
    }
}
