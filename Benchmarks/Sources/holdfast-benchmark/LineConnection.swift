import Glibc

/// A blocking TCP connection to 127.0.0.1 that speaks lines, as anybody would write it.
struct LineConnection {
    let port: UInt16
    private(set) var descriptor: CInt = -1

    init(port: UInt16) {
        self.port = port
    }

    var isOpen: Bool { descriptor >= 0 }

    /// Connects; false if nobody listens.
    mutating func open() -> Bool {
        let socket = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { return false }
        var address = Self.address(port)
        let connected = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe connect(socket, pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else {
            Glibc.close(socket)
            return false
        }
        // A request is one small packet: it must not wait for the answer to the one before (tcp(7), TCP_NODELAY).
        var yes: CInt = 1
        unsafe setsockopt(socket, CInt(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<CInt>.size))
        descriptor = socket
        return true
    }

    /// Sends a line; false if the connection is gone.
    func send(_ line: String) -> Bool {
        let request = Array((line + "\n").utf8)
        return unsafe Glibc.send(descriptor, request, request.count, CInt(MSG_NOSIGNAL)) == request.count
    }

    /// Waits for a line, which has to be short; nil if the connection ends before.
    func receive() -> String? {
        var answer = [UInt8](repeating: 0, count: 1024)
        var length = 0
        while length < answer.count {
            let count = unsafe answer.withUnsafeMutableBytes { bytes in
                unsafe recv(descriptor, bytes.baseAddress.map { unsafe $0 + length }, bytes.count - length, 0)
            }
            guard count > 0 else { return nil }
            length += count
            if answer[length - 1] == UInt8(ascii: "\n") { break }
        }
        return String(decoding: answer[..<(length - 1)], as: UTF8.self)
    }

    mutating func close() {
        guard isOpen else { return }
        Glibc.close(descriptor)
        descriptor = -1
    }

    /// A port that nobody listens at now.
    ///
    /// Below those that the kernel gives to clients (ip(7), ip_local_port_range): one of these that nobody listens at can get a
    /// connection to itself.
    static func freePort() -> UInt16? {
        let first = 20000 + Int(getpid()) % 5000
        return (first..<first + 5000).lazy.map(UInt16.init).first { port in
            let socket = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
            defer { Glibc.close(socket) }
            var address = address(port)
            return unsafe withUnsafePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                    unsafe bind(socket, pointer, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
        }
    }

    private static func address(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return address
    }
}
