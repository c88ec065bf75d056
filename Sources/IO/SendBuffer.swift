internal import Glibc
internal import SystemPackage

/// What a connection has to send, and the peer has not taken yet.
struct SendBuffer {
    private var bytes: [UInt8]
    /// How many of them are gone.
    private var written = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// How many bytes wait.
    var count: Int { bytes.count - written }

    /// The bytes that wait.
    var rest: ArraySlice<UInt8> { bytes[written...] }

    /// Adds bytes; those that are gone make room when they are more than so many.
    mutating func append(_ more: some Collection<UInt8>, keepingGone limit: Int) {
        if written > limit {
            bytes.removeFirst(written)
            written = 0
        }
        bytes += more
    }

    /// Writes as much as the peer takes.
    ///
    /// - Parameters:
    ///   - descriptor: Where to.
    ///   - isSocket: Whether that is a socket: a write to one whose peer is gone is an error, and no SIGPIPE.
    ///   - capacity: How much memory stays when all is gone.
    /// - Returns: Whether the peer took anything.
    /// - Throws: The error of a call, but for `EAGAIN` and `EINTR`.
    mutating func write(to descriptor: CInt, isSocket: Bool, keeping capacity: Int) throws(Errno) -> Bool {
        let before = count
        while count > 0 {
            let taken = unsafe rest.withUnsafeBytes { bytes in
                guard isSocket else { return unsafe Glibc.write(descriptor, bytes.baseAddress, bytes.count) }
                return unsafe Glibc.send(descriptor, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL))
            }
            if taken > 0 {
                written += taken
            } else if errno == EAGAIN {
                break
            } else if errno != EINTR {
                throw Errno(rawValue: errno)
            }
        }
        defer {
            if count == 0, written > 0 {
                bytes.removeAll(keepingCapacity: bytes.capacity <= capacity)
                written = 0
            }
        }
        return count < before
    }
}
