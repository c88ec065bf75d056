import Glibc
public import SystemPackage

/// Reading and writing whole files.
extension OwnedDescriptor {
    /// Opens a file.
    ///
    /// The corresponding C function is `open`, with `O_CLOEXEC`, `O_NOCTTY` and `O_NONBLOCK` so that a FIFO or a device
    /// in the place of a file does no harm.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - followingLinks: Whether a symbolic link at its end is followed; if not, the error is `ELOOP`.
    /// - Throws: The error of the call, such as `ENOENT`.
    public init(reading path: FilePath, followingLinks: Bool) throws(Errno) {
        let flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (followingLinks ? 0 : O_NOFOLLOW)
        self.init(
            takingOver: try SystemCall.checked { unsafe path.withPlatformString { unsafe Glibc.open($0, flags) } }
        )
    }

    /// Reads from the current position to the end of the file.
    ///
    /// The corresponding C function is `read`.
    ///
    /// - Parameter limit: How many bytes to read at most.
    /// - Returns: The bytes; one more than the limit if the file has more.
    /// - Throws: The error of a call.
    public func readAll(limit: Int) throws(Errno) -> [UInt8] {
        let number = rawValue
        var bytes: [UInt8] = []
        // What most files need, so that a large one is not copied again and again; files in /proc have no size.
        let size = (try? FileStatus(of: self).size) ?? 0
        bytes.reserveCapacity(max(0, min(limit, Int(clamping: size))))
        // Not an array: most files are small, and zeros would touch all pages of it.
        let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: 65536, alignment: 1)
        defer { unsafe chunk.deallocate() }
        while bytes.count <= limit {
            let wanted = min(chunk.count, limit - bytes.count + 1)
            let count = try SystemCall.checked { unsafe read(number, chunk.baseAddress, wanted) }
            guard count > 0 else { break }
            unsafe bytes.append(contentsOf: chunk[..<count])
        }
        return bytes
    }

    /// Reads a part of the file, as much of it as is there and can be read.
    ///
    /// The corresponding C function is `pread`.
    ///
    /// - Parameters:
    ///   - offset: Where the part begins.
    ///   - count: How many bytes it has.
    /// - Returns: The bytes; none if they cannot be read.
    public func bytes(at offset: Int, count: Int) -> [UInt8] {
        guard offset >= 0, count > 0 else { return [] }
        let number = rawValue
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            filled = max(0, unsafe pread(number, buffer.baseAddress, count, off_t(offset)))
        }
    }

    /// Writes all of some bytes.
    ///
    /// The corresponding C function is `write`.
    ///
    /// - Parameter bytes: What to write.
    /// - Throws: The error of a call, such as `ENOSPC`; some of the bytes may be written.
    public func writeAll(_ bytes: [UInt8]) throws(Errno) {
        let number = rawValue
        var written = 0
        while written < bytes.count {
            let rest = bytes[written...]
            written += try SystemCall.checked {
                unsafe rest.withUnsafeBytes { unsafe write(number, $0.baseAddress, $0.count) }
            }
        }
    }

    /// Waits until everything that was written is on the disk.
    ///
    /// The corresponding C function is `fsync`.
    ///
    /// - Throws: The error of the call. Then it is unknown what is on the disk.
    public func synchronize() throws(Errno) {
        let number = rawValue
        try SystemCall.checked { fsync(number) }
    }
}
