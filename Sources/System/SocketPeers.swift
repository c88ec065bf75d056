import Glibc

/// From how many peers a descriptor gets its input.
public enum SocketPeers: UInt8, Sendable {
    /// The descriptor is no socket.
    case notASocket
    /// From one: it is a connection, or a connected datagram socket.
    case one
    /// From anybody: it listens, or takes datagrams from all.
    case many

    /// Looks at a descriptor as it is now; a later `listen` or `connect` changes the answer.
    ///
    /// The corresponding C functions are `getsockopt` and `getpeername`. Callable from any thread.
    ///
    /// - Parameter number: Any descriptor.
    /// - Returns: The answer; `.notASocket` if the descriptor is closed.
    public static func of(_ number: CInt) -> SocketPeers {
        guard let type = option(SO_TYPE, of: number) else { return .notASocket }
        if type == CInt(SOCK_STREAM.rawValue) || type == CInt(SOCK_SEQPACKET.rawValue) {
            return option(SO_ACCEPTCONN, of: number) == 0 ? .one : .many
        }
        var address = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let isConnected = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe getpeername(number, pointer, &size) == 0
            }
        }
        return isConnected ? .one : .many
    }

    private static func option(_ name: CInt, of number: CInt) -> CInt? {
        var value: CInt = 0
        var size = socklen_t(MemoryLayout<CInt>.size)
        return unsafe getsockopt(number, SOL_SOCKET, name, &value, &size) == 0 ? value : nil
    }
}
