internal import Glibc
internal import LinuxSystem
internal import SystemPackage

/// Where a socket is: a host and a port, or the name of a Unix socket.
public enum Endpoint: Hashable, Sendable, CustomStringConvertible {
    /// TCP over IPv4 or IPv6; "0.0.0.0" and "::" are all addresses of the host, port 0 is any free one.
    ///
    /// A name that is no address is looked up, which may block.
    case tcp(host: String = "127.0.0.1", port: UInt16)
    /// A Unix socket that is a file.
    case unix(String)
    /// A Unix socket with a name in the kernel only, which lives as long as the socket.
    case abstract(String)

    /// As it is usually written: "127.0.0.1:80", "[::1]:80", a path, "@name".
    public var description: String {
        switch self {
        case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): path
        case .abstract(let name): "@\(name)"
        }
    }

    /// The port; `nil` for a Unix socket.
    public var port: UInt16? {
        if case .tcp(_, let port) = self { port } else { nil }
    }

    // MARK: Sockets

    /// Opens a nonblocking socket that listens here.
    ///
    /// One that a supervisor has handed down for this address is taken instead: the supervisor holds it, so nobody else could listen here.
    func listen(backlog: CInt) throws(IOError) -> OwnedDescriptor {
        // Its own number stays with the host, which keeps it across restarts.
        if let number = handedDown, case let socket = fcntl(number, F_DUPFD_CLOEXEC, 3), socket >= 0 {
            _ = fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK)
            return OwnedDescriptor(takingOver: socket)
        }
        do throws(Errno) {
            let socket: OwnedDescriptor
            switch self {
            case .tcp(let host, let port): socket = try Self.bind(host, port)
            case .unix(let path): socket = try Self.bind(.path(FilePath(path)))
            case .abstract(let name): socket = try Self.bind(.abstract(name))
            }
            let number = socket.rawValue
            try SystemCall.checked { Glibc.listen(number, backlog) }
            return socket
        } catch {
            throw IOError("listen at \(self)", error)
        }
    }

    /// The socket that was handed down for this address, which the host keeps; `nil` for none.
    var handedDown: CInt? {
        var variables: [String: String] = [:]
        for name in ["LISTEN_FDS", "LISTEN_PID"] {
            if let value = unsafe getenv(name) { variables[name] = unsafe String(cString: value) }
        }
        return HandedDownSockets.all(environment: variables).first { _, number in
            Endpoint(of: number, peer: false).map(isServed(by:)) ?? false
        }?.number
    }

    /// Whether a socket at another endpoint serves this one, too: at the same, or at all addresses.
    private func isServed(by other: Endpoint) -> Bool {
        guard case .tcp(let host, let port) = self, case .tcp(let otherHost, let otherPort) = other else {
            return self == other
        }
        let all: Set = ["0.0.0.0", "::"]
        return port == otherPort && (host == otherHost || all.contains(host) && all.contains(otherHost))
    }

    private static func socket(_ family: CInt) throws(Errno) -> OwnedDescriptor {
        let type = CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        return OwnedDescriptor(takingOver: try SystemCall.checked { Glibc.socket(family, type, 0) })
    }

    private static func bind(_ host: String, _ port: UInt16) throws(Errno) -> OwnedDescriptor {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        unsafe hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(host, "\(port)", &hints, &list) == 0, let first = unsafe list else {
            throw .addressNotAvailable
        }
        defer { unsafe freeaddrinfo(first) }
        let socket = try unsafe Self.socket(first.pointee.ai_family)
        let number = socket.rawValue
        var yes: CInt = 1
        _ = unsafe setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<CInt>.size))
        try SystemCall.checked { unsafe Glibc.bind(number, first.pointee.ai_addr, first.pointee.ai_addrlen) }
        return socket
    }

    private static func bind(_ address: UnixSocketAddress) throws(Errno) -> OwnedDescriptor {
        let socket = try Self.socket(AF_UNIX)
        do {
            try address.bind(socket.rawValue)
        } catch .addressInUse {
            // The file of one that is dead is replaced; of a live one it is not.
            guard UnixSocketListener.removeDeadFile(address) else { throw .addressInUse }
            try address.bind(socket.rawValue)
        }
        return socket
    }

    /// Where a socket is, or its peer; `nil` where the kernel does not say.
    init?(of socket: CInt, peer: Bool) {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let endpoint: Endpoint? = unsafe withUnsafeMutableBytes(of: &storage) { bytes in
            guard let base = bytes.baseAddress else { return nil }
            let address = unsafe base.assumingMemoryBound(to: sockaddr.self)
            let result = unsafe peer ? getpeername(socket, address, &size) : getsockname(socket, address, &size)
            guard result == 0 else { return nil }
            let bytes = unsafe UnsafeRawBufferPointer(start: base, count: min(Int(size), bytes.count))
            if unsafe address.pointee.sa_family == sa_family_t(AF_UNIX) { return unsafe Self.unixName(bytes) }
            return unsafe Self.tcpName(address, size)
        }
        guard let endpoint else { return nil }
        self = endpoint
    }

    private static func unixName(_ bytes: UnsafeRawBufferPointer) -> Endpoint? {
        let name = unsafe bytes.dropFirst(MemoryLayout<sa_family_t>.size)
        guard let first = unsafe name.first else { return nil }
        if first == 0 { return unsafe .abstract(String(decoding: name.dropFirst(), as: UTF8.self)) }
        return unsafe .unix(String(decoding: name.prefix { $0 != 0 }, as: UTF8.self))
    }

    private static func tcpName(_ address: UnsafeMutablePointer<sockaddr>, _ size: socklen_t) -> Endpoint? {
        let length = 64
        return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 2 * length) { text in
            guard let host = text.baseAddress else { return nil }
            let port = unsafe host + length
            let flags = NI_NUMERICHOST | NI_NUMERICSERV
            let result = unsafe getnameinfo(address, size, host, socklen_t(length), port, socklen_t(length), flags)
            guard result == 0, let number = unsafe UInt16(String(cString: port)) else { return nil }
            return unsafe .tcp(host: String(cString: host), port: number)
        }
    }
}
