import Glibc
import RunLoops

/// A listening TCP socket on 127.0.0.1.
struct Listener {
    let descriptor: CInt
    let port: UInt16

    /// Opens the socket; port 0 takes any free one.
    init(port: UInt16) throws {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SystemError("socket", errno) }
        var yes: CInt = 1
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<CInt>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let bound = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe bind(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard bound == 0 else { throw SystemError("bind to 127.0.0.1:\(port)", errno) }
        guard listen(descriptor, SOMAXCONN) == 0 else { throw SystemError("listen", errno) }
        self.descriptor = descriptor
        self.port = try Self.port(of: descriptor)
    }

    /// Takes over a socket that the process before this one kept open.
    init(keptDescriptor: CInt) throws {
        descriptor = keptDescriptor
        port = try Self.port(of: keptDescriptor)
    }

    /// The next connection, nonblocking; nil when there is none.
    ///
    /// - Throws: `SystemError` when none can be taken now: no descriptor or no memory is left. The connection stays in the backlog, so
    ///   the socket stays readable: see `rest`.
    func accept() throws(SystemError) -> CInt? {
        while true {
            let connection = Glibc.accept(descriptor, nil, nil)
            if connection >= 0 {
                // The overlay has no accept4(2). Nothing forks in between: the agent starts no process.
                _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
                _ = fcntl(connection, F_SETFL, O_NONBLOCK)
                return connection
            }
            // A connection that was reset before it was accepted is no reason to stop (accept(2), "Error handling").
            let error = errno
            if error == EAGAIN { return nil }
            guard error == EINTR || error == ECONNABORTED || error == EPROTO else {
                throw SystemError("accept", error)
            }
        }
    }

    /// Takes no connection for a tenth of a second: a socket from which none can be taken would keep the loop busy all the time.
    ///
    /// - Parameters:
    ///   - source: The socket's source.
    ///   - loop: The loop that the source is in.
    ///   - isOver: Whether no connections are wanted any more.
    @MainActor
    static func rest(
        _ source: HostRunLoop.PortSource,
        on loop: HostRunLoop,
        unless isOver: @escaping @MainActor () -> Bool = { false }
    ) {
        source.interest = []
        let again = HostRunLoop.Timer(label: "listen again", after: .milliseconds(100)) { _ in
            MainActor.assumeIsolated { if !isOver() { source.interest = .readable } }
        }
        loop.add(again, to: .common)
    }

    private static func port(of descriptor: CInt) throws -> UInt16 {
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let found = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(descriptor, $0, &size)
            }
        }
        guard found == 0 else { throw SystemError("getsockname", errno) }
        return UInt16(bigEndian: address.sin_port)
    }
}
