internal import CLinuxShims
internal import Glibc
internal import LinuxSystem
internal import SystemPackage

/// The sockets at which programs are to be reached.
///
/// They are open as long as the supervisor lives, whatever becomes of the programs.
@MainActor
final class ListeningSockets {
    /// A socket, with the name that it has in LISTEN_FDNAMES.
    struct Socket {
        let name: String
        let descriptor: CInt
        /// Where it listens; nil for one that was given by our parent and has another kind of address.
        let address: ListenAddress?
        /// The program that gets it; nil for all.
        var owner: String?
    }

    private(set) var sockets: [Socket] = []
    /// The descriptors that we were given and nobody has asked for yet.
    private var inherited: [Socket]

    /// As many as the kernel lets wait by default, net.core.somaxconn.
    private static let backlog: CInt = 4096

    /// Takes over what our own parent has given us: LISTEN_FDS, LISTEN_PID and LISTEN_FDNAMES of sd_listen_fds(3).
    ///
    /// - Parameter environment: The environment that we began with.
    init(environment: [String: String]) {
        inherited = HandedDownSockets.all(environment: environment).map { name, number in
            // Children get copies.
            _ = fcntl(number, F_SETFD, FD_CLOEXEC)
            return Socket(name: name, descriptor: number, address: nil)
        }
    }

    /// Opens a socket at an address, or takes the one that is open there already.
    ///
    /// - Parameters:
    ///   - address: The address.
    ///   - name: Its name for the program.
    ///   - program: The program that gets it.
    /// - Throws: The error of a call, such as `EADDRINUSE`.
    func open(_ address: ListenAddress, name: String, for program: Program) throws(Errno) {
        if let index = inherited.firstIndex(where: { Self.listens($0.descriptor, at: address) }) {
            let given = inherited.remove(at: index)
            sockets.append(
                Socket(name: given.name, descriptor: given.descriptor, address: address, owner: program.name)
            )
            return
        }
        let descriptor = try Self.listen(at: address, mode: program.socketMode)
        sockets.append(Socket(name: name, descriptor: descriptor, address: address, owner: program.name))
    }

    /// Takes those that we were given under a name that begins so, with the rest of their names.
    func takeInherited(prefix: String) -> [(name: String, number: CInt)] {
        let taken = inherited.filter { $0.name.hasPrefix(prefix) }
        inherited.removeAll { $0.name.hasPrefix(prefix) }
        return taken.map { (String($0.name.dropFirst(prefix.count)), $0.descriptor) }
    }

    /// What a program gets.
    func sockets(for program: String) -> [Socket] { sockets.filter { $0.owner == nil || $0.owner == program } }

    /// Hands on what is left of those that we were given.
    func keepInherited() {
        sockets = inherited + sockets
        inherited = []
    }

    private static func listen(at address: ListenAddress, mode: UInt32) throws(Errno) -> CInt {
        switch address {
        case .tcp(let host, let port):
            guard let place = SocketAddress(host: host, port: port) else { throw .invalidArgument }
            let socket = try stream(place.family)
            var yes: CInt = 1
            let size = socklen_t(MemoryLayout<CInt>.size)
            _ = unsafe setsockopt(socket.rawValue, SOL_SOCKET, SO_REUSEADDR, &yes, size)
            // Every address is every one, whatever net.ipv6.bindv6only says (ipv6(7)).
            var no: CInt = 0
            if place.family == AF_INET6 {
                _ = unsafe setsockopt(socket.rawValue, CInt(IPPROTO_IPV6), IPV6_V6ONLY, &no, size)
            }
            try place.bind(socket.rawValue)
            try SystemCall.checked { Glibc.listen(socket.rawValue, backlog) }
            return socket.release()
        case .unix(let path):
            let socket = try stream(AF_UNIX)
            let name = UnixSocketAddress.path(FilePath(path))
            do {
                try name.bind(socket.rawValue)
            } catch .addressInUse {
                guard UnixSocketListener.removeDeadFile(name) else { throw .addressInUse }
                try name.bind(socket.rawValue)
            }
            // Whatever the umask is. Nobody is served before listen(2).
            if mode != 0o600 { try SystemCall.checked { unsafe chmod(path, mode) } }
            try SystemCall.checked { Glibc.listen(socket.rawValue, backlog) }
            return socket.release()
        }
    }

    private static func stream(_ family: CInt) throws(Errno) -> OwnedDescriptor {
        let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        return OwnedDescriptor(takingOver: try SystemCall.checked { socket(family, type, 0) })
    }

    private static func listens(_ descriptor: CInt, at address: ListenAddress) -> Bool {
        switch address {
        case .tcp(let host, let port): SocketAddress(host: host, port: port)?.isThat(of: descriptor) ?? false
        case .unix(let path): unixPath(of: descriptor) == path
        }
    }

    private static func unixPath(of descriptor: CInt) -> String? {
        var address = sockaddr_un()
        var size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe getsockname(descriptor, address, &size)
            }
        }
        guard result == 0, address.sun_family == sa_family_t(AF_UNIX) else { return nil }
        return unsafe withUnsafeBytes(of: &address.sun_path) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }

    // MARK: Nobody there

    /// Ends the connections that wait at a socket, so that their clients hear that nobody will answer.
    ///
    /// Only while no program has the socket: for that time it does not block, a mode that all who have it share.
    ///
    /// - Parameter socket: The socket.
    /// - Returns: Whether it can be done again; not where no connection can be taken, for example for want of descriptors.
    static func turnAway(from socket: Socket) -> Bool {
        let flags = fcntl(socket.descriptor, F_GETFL)
        _ = fcntl(socket.descriptor, F_SETFL, flags | O_NONBLOCK)
        defer { _ = fcntl(socket.descriptor, F_SETFL, flags) }
        // A flood must not keep the supervisor from its other work: what is left comes in the next pass.
        for _ in 0..<256 {
            let connection = hf_connection_accept(socket.descriptor)
            guard connection >= 0 else { return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED }
            // A reset rather than an end: an end would look like an empty answer.
            var now = linger(l_onoff: 1, l_linger: 0)
            _ = unsafe setsockopt(
                connection,
                SOL_SOCKET,
                SO_LINGER,
                &now,
                socklen_t(MemoryLayout<linger>.size)
            )
            _ = close(connection)
        }
        return true
    }
}
