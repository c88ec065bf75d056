internal import Glibc
internal import LinuxSystem
internal import Synchronization
internal import SystemPackage

/// What is read goes through here, for all connections, and for ever: what a callout allocates for itself is lost when it faults
/// (measured: 16 KiB more for each of 10,000 faults).
@safe
enum ReadBuffers {
    /// How much is read at once.
    static let size = 16 * 1024

    @safe
    private struct Buffer: @unchecked Sendable {
        let bytes = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
    }

    /// Those that no thread is reading into.
    private static let idle = Mutex<[Buffer]>([])

    /// Reads once, and appends what came.
    ///
    /// - Returns: How many bytes came: 0 at the end.
    static func read(_ descriptor: CInt, appendingTo input: inout LineBuffer) throws(Errno) -> Int {
        let buffer = idle.withLock { $0.popLast() } ?? Buffer()
        defer { idle.withLock { $0.append(buffer) } }
        let count = try SystemCall.checked { unsafe Glibc.read(descriptor, buffer.bytes, size) }
        unsafe input.append(UnsafeRawBufferPointer(start: buffer.bytes, count: count))
        return count
    }
}
