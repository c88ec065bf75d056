import Glibc
import Synchronization

/// Lines from a descriptor, with a deadline for each.
public final class LineReader: Sendable {
    private struct Buffer {
        var bytes: [UInt8] = []
        /// What comes before was returned.
        var start = 0
        var isAtEnd = false
        var isOpen = true
    }

    private let descriptor: CInt
    /// Protected by its lock: one reader at a time.
    private let buffer = Mutex(Buffer())

    /// Takes over a descriptor and closes it in the end.
    public init(takingOver descriptor: CInt) {
        self.descriptor = descriptor
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    }

    deinit {
        close()
    }

    /// Reads no more: whoever writes finds nobody there.
    public func close() {
        buffer.withLock { buffer in
            if buffer.isOpen { _ = Glibc.close(descriptor) }
            buffer.isOpen = false
            buffer.isAtEnd = true
        }
    }

    /// The next line without its end; nil at the end of the stream, to which a reset counts, too.
    ///
    /// - Throws: `HarnessError` when there is none in time.
    public func next(within limit: Duration = Deadline.patience) throws -> String? {
        let deadline = Deadline(limit)
        return try buffer.withLock { buffer in
            var searched = buffer.start
            while true {
                if let end = buffer.bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                    let line = String(decoding: buffer.bytes[buffer.start..<end], as: UTF8.self)
                    buffer.start = end + 1
                    if buffer.start == buffer.bytes.count || buffer.start > 1 << 20 {
                        buffer.bytes.removeFirst(buffer.start)
                        buffer.start = 0
                    }
                    return line
                }
                if buffer.isAtEnd { return nil }
                searched = buffer.bytes.count
                try fill(&buffer, deadline)
            }
        }
    }

    /// What is left up to the end of the stream, with the ends of its lines.
    ///
    /// - Parameter limit: How long to wait for each piece.
    /// - Returns: The text.
    /// - Throws: `HarnessError` when nothing comes in time.
    public func rest(within limit: Duration = Deadline.patience) throws -> String {
        try buffer.withLock { buffer in
            while !buffer.isAtEnd { try fill(&buffer, Deadline(limit)) }
            defer {
                buffer.bytes = []
                buffer.start = 0
            }
            return String(decoding: buffer.bytes[buffer.start...], as: UTF8.self)
        }
    }

    private func fill(_ buffer: inout Buffer, _ deadline: Deadline) throws {
        try deadline.wait(for: descriptor, POLLIN, "output")
        let count = withUnsafeTemporaryAllocation(byteCount: 64 * 1024, alignment: 16) { piece in
            let count = read(descriptor, piece.baseAddress, piece.count)
            if count > 0 { buffer.bytes.append(contentsOf: piece[..<count]) }
            return count
        }
        if count == 0 || count < 0 && errno == ECONNRESET {
            buffer.isAtEnd = true
        } else if count < 0, errno != EAGAIN, errno != EINTR {
            throw HarnessError(call: "read", code: errno)
        }
    }
}
