import Glibc

/// A client of a server that speaks lines over TCP, with a deadline for whatever it does.
public final class LineClient: Sendable {
    private let descriptor: CInt
    private let reader: LineReader

    /// Connects to 127.0.0.1.
    ///
    /// - Parameters:
    ///   - port: The port.
    ///   - receiveBuffer: How many bytes the kernel keeps for a client that does not read; nil for its own choice.
    /// - Throws: `HarnessError`.
    public init(port: UInt16, receiveBuffer: Int? = nil) throws {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw HarnessError(call: "socket", code: errno) }
        self.descriptor = descriptor
        if var size = receiveBuffer.map({ CInt($0) }) {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<CInt>.size))
        }
        let connected = Loopback.connect(descriptor, to: port)
        // The reader closes it from here on, also when this throws.
        let error = errno
        reader = LineReader(takingOver: descriptor)
        guard connected == 0 else { throw HarnessError(call: "connect to port \(port)", code: error) }
    }

    /// Sends text as it is.
    public func send(_ text: String, within limit: Duration = Deadline.patience) throws {
        let deadline = Deadline(limit)
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = sendOnce(rest)
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                try deadline.wait(for: descriptor, POLLOUT, "room to send \(rest.count) bytes")
            } else if errno != EINTR {
                throw HarnessError(call: "send", code: errno)
            }
        }
    }

    private func sendOnce(_ bytes: ArraySlice<UInt8>) -> Int {
        bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
    }

    /// The next line; nil when the other side ended the connection.
    public func line(within limit: Duration = Deadline.patience) throws -> String? {
        try reader.next(within: limit)
    }

    /// Sends a line and returns the answer.
    public func ask(_ line: String) throws -> String {
        try send(line + "\n")
        guard let answer = try self.line() else {
            throw HarnessError("the connection ended instead of an answer to \(line)")
        }
        return answer
    }

    /// Says that nothing more will be sent.
    public func finishSending() {
        shutdown(descriptor, CInt(SHUT_WR))
    }
}
