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
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                connect(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
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
