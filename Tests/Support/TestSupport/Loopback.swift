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
}
