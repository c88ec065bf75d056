import CLinuxShims
import Glibc
public import SystemPackage

/// Unix sockets that keep packets apart and in order: `SOCK_SEQPACKET`.
///
/// No call here waits unless it says so, whatever the mode of the socket, which somebody else may share.
public enum PacketSocket {
    private static let kind = CInt(SOCK_SEQPACKET.rawValue) | CInt(SOCK_CLOEXEC.rawValue)

    /// Makes two sockets that are connected to each other, closed on exec, with credentials on what they receive.
    ///
    /// The corresponding C function is `socketpair`.
    ///
    /// - Returns: The numbers of the two ends, which belong to the caller.
    /// - Throws: The error of the call: `EMFILE`, `ENFILE`, `ENOBUFS` or `ENOMEM`.
    public static func pair() throws(Errno) -> (CInt, CInt) {
        var ends: [CInt] = [-1, -1]
        try SystemCall.checked { unsafe socketpair(AF_UNIX, kind, 0, &ends) }
        for end in ends { askForCredentials(end) }
        return (ends[0], ends[1])
    }

    /// Makes a socket that others can connect to.
    ///
    /// The corresponding C functions are `socket`, `bind` and `listen`.
    ///
    /// - Parameter address: Its name, which nobody else may have; a file is made with mode 0600.
    /// - Returns: The socket; what is connected to it has credentials on what it receives.
    /// - Throws: The error of a call: `EADDRINUSE` if the name is taken.
    public static func listen(at address: UnixSocketAddress) throws(Errno) -> OwnedDescriptor {
        let number = try SystemCall.checked { socket(AF_UNIX, kind | CInt(SOCK_NONBLOCK.rawValue), 0) }
        let descriptor = OwnedDescriptor(takingOver: number)
        askForCredentials(number)
        try address.bind(number)
        // As many as the kernel lets wait by default, net.core.somaxconn.
        try SystemCall.checked { Glibc.listen(number, 4096) }
        return descriptor
    }

    /// Takes a connection that waits.
    ///
    /// The corresponding C function is `accept4`.
    ///
    /// - Parameter listener: The number of a listening socket that does not block.
    /// - Returns: The connected socket, closed on exec.
    /// - Throws: The error of the call: `EAGAIN` if none waits, `EMFILE` or `ENFILE`.
    public static func accept(from listener: CInt) throws(Errno) -> OwnedDescriptor {
        let number = try SystemCall.checked { hf_unix_socket_accept(listener) }
        return OwnedDescriptor(takingOver: number)
    }

    /// Connects to a socket, and waits until the other side has room for one more connection.
    ///
    /// The corresponding C functions are `socket` and `connect`.
    ///
    /// - Parameters:
    ///   - address: The name of a listening socket.
    ///   - deadline: When the wait ends, in nanoseconds on the monotonic clock; `Int64.max` for never.
    /// - Returns: The connected socket, closed on exec.
    /// - Throws: The error of a call: `ETIMEDOUT` when the time is over, `ENOENT` or `ECONNREFUSED` if nobody listens.
    public static func connect(to address: UnixSocketAddress, before deadline: Int64) throws(Errno) -> OwnedDescriptor {
        let number = try SystemCall.checked { socket(AF_UNIX, kind, 0) }
        let descriptor = OwnedDescriptor(takingOver: number)
        askForCredentials(number)
        while true {
            if deadline != .max {
                // At least 1 us: a limit of zero would mean none (socket(7)).
                let left = max(1000, timeLeft(before: deadline))
                var limit = timeval(tv_sec: Int(left / 1_000_000_000), tv_usec: Int(left % 1_000_000_000) / 1000)
                try SystemCall.checked {
                    unsafe setsockopt(
                        number,
                        SOL_SOCKET,
                        SO_SNDTIMEO,
                        &limit,
                        socklen_t(MemoryLayout<timeval>.size)
                    )
                }
            }
            do {
                try address.connect(number)
                return descriptor
            } catch .resourceTemporarilyUnavailable {
                if deadline <= MonotonicClock.nanoseconds { throw .timedOut }
            } catch .interrupted {
                if deadline <= MonotonicClock.nanoseconds { throw .timedOut }
            }
        }
    }

    /// Says whether a descriptor is a Unix socket of this kind.
    ///
    /// The corresponding C function is `getsockopt`.
    ///
    /// - Parameter number: Any descriptor.
    /// - Returns: Whether it is one.
    public static func isPacketSocket(_ number: CInt) -> Bool {
        option(SO_DOMAIN, of: number) == AF_UNIX && option(SO_TYPE, of: number) == CInt(SOCK_SEQPACKET.rawValue)
    }

    private static func option(_ name: CInt, of number: CInt) -> CInt? {
        var value: CInt = 0
        var size = socklen_t(MemoryLayout<CInt>.size)
        guard unsafe getsockopt(number, SOL_SOCKET, name, &value, &size) == 0 else { return nil }
        return value
    }

    /// Asks the kernel for the sender's credentials with every packet that a socket receives.
    ///
    /// The corresponding C option is `SO_PASSCRED`.
    ///
    /// - Parameter number: A Unix socket.
    public static func askForCredentials(_ number: CInt) {
        var isOn: CInt = 1
        // Cannot fail for an open Unix socket: EOPNOTSUPP is for other families.
        _ = unsafe setsockopt(number, SOL_SOCKET, SO_PASSCRED, &isOn, socklen_t(MemoryLayout<CInt>.size))
    }

    /// Closes a socket, and at the same moment gives its number to a duplicate of another descriptor.
    ///
    /// The corresponding C function is `dup3`. Does nothing if the number is free.
    ///
    /// - Parameters:
    ///   - number: The number of the socket.
    ///   - other: The number of another descriptor.
    /// - Returns: Whether that was possible.
    public static func replace(_ number: CInt, with other: CInt) -> Bool {
        (try? SystemCall.checked { hf_replace_descriptor(number, other) }) != nil
    }

    /// Ends a connection in both directions, for everybody who shares the socket.
    ///
    /// The corresponding C function is `shutdown`.
    ///
    /// - Parameter number: A connected socket.
    public static func disconnect(_ number: CInt) {
        // ENOTCONN means that it is already disconnected.
        _ = shutdown(number, CInt(SHUT_RDWR))
    }

    /// Waits until a socket has room for a packet, the peer is gone, or the time is over.
    ///
    /// The corresponding C function is `poll`.
    ///
    /// - Parameters:
    ///   - number: A connected socket.
    ///   - deadline: When the wait ends, in nanoseconds on the monotonic clock; `Int64.max` for never.
    /// - Returns: Whether it ended before its time.
    public static func waitForRoom(in number: CInt, before deadline: Int64) -> Bool {
        var request = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
        while true {
            // Whole milliseconds, rounded up so that nothing is early.
            let left = timeLeft(before: deadline)
            let milliseconds = deadline == .max ? -1 : (left + 999_999) / 1_000_000
            let count = unsafe poll(&request, 1, CInt(clamping: milliseconds))
            // If a signal handler interrupted the call, look at the clock again.
            if count > 0 { return true }
            if deadline <= MonotonicClock.nanoseconds { return false }
        }
    }

    /// Nanoseconds until a point in time; zero when it has passed, and at most some centuries.
    private static func timeLeft(before deadline: Int64) -> Int64 {
        let now = MonotonicClock.nanoseconds
        return deadline <= now ? 0 : min(deadline - now, .max - 999_999)
    }
}
