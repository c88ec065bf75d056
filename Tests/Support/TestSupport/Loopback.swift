import Glibc

/// The machine's address for itself.
public enum Loopback {
    /// Connects a socket of IPv4 to a port of 127.0.0.1.
    ///
    /// - Parameters:
    ///   - descriptor: The socket.
    ///   - port: The port.
    /// - Returns: What connect(2) returned; `errno` says why it is not 0.
    public static func connect(_ descriptor: CInt, to port: UInt16) -> CInt {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                Glibc.connect(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    /// A port for a server that binds it with SO_REUSEADDR.
    ///
    /// It stays bound here, so that the kernel gives it to nobody else until the server listens: neither to bind(2) nor to connect(2)
    /// (net/ipv4/inet_hashtables.c, __inet_hash_connect()).
    public static func freePort() throws -> UInt16 {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, size) == 0 ? getsockname(descriptor, pointer, &size) : -1
            }
        }
        guard result == 0 else { throw HarnessError("bind: error \(errno)") }
        // Afterwards: with it the kernel may choose a port that another such socket has.
        var yes: CInt = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<CInt>.size))
        return UInt16(bigEndian: address.sin_port)
    }
}
