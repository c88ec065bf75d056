internal import Glibc

/// Finds descriptors whose peers would notice that this process has ended.
enum OpenConnection {
    /// Whether a descriptor is a connection: a stream or packet socket that does not listen.
    ///
    /// Callable from any thread. Others are not: the next process makes anew what a process makes for itself (eventfd, timerfd, inotify).
    /// Most pipes lead back into the process. A listening socket has no peer, and a datagram socket no connection.
    static func isOne(_ descriptor: CInt) -> Bool {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return false }
        guard let type = option(SO_TYPE, of: descriptor) else { return false }
        guard type == CInt(SOCK_STREAM.rawValue) || type == CInt(SOCK_SEQPACKET.rawValue) else { return false }
        return option(SO_ACCEPTCONN, of: descriptor) == 0
    }

    private static func option(_ name: CInt, of descriptor: CInt) -> CInt? {
        var value: CInt = 0
        var size = socklen_t(MemoryLayout<CInt>.size)
        return unsafe getsockopt(descriptor, SOL_SOCKET, name, &value, &size) == 0 ? value : nil
    }
}
