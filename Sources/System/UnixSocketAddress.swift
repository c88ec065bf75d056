import CLinuxShims
import Glibc
public import SystemPackage

/// The name of a Unix socket: a file, or an abstract name, which lives as long as its socket (unix(7)).
public enum UnixSocketAddress: Sendable, Hashable {
    /// A file.
    case path(FilePath)
    /// A name without a file, which every user of the network namespace can connect to.
    case abstract(String)

    /// How many bytes a path or an abstract name may have: `sun_path` less one.
    public static let longest = 107

    /// The bytes for `sun_path`, without a terminator; `nil` if the name is empty, too long or has a NUL.
    private var bytes: [CChar]? {
        let name: [UInt8]
        switch self {
        case .path(let path): name = Array(path.string.utf8)
        case .abstract(let text): name = Array(text.utf8)
        }
        guard !name.isEmpty, name.count <= Self.longest, !name.contains(0) else { return nil }
        let prefix: [CChar]
        if case .abstract = self { prefix = [0] } else { prefix = [] }
        // An abstract name needs one byte for the NUL before it, a path one for the NUL behind it.
        return prefix + name.map { CChar(bitPattern: $0) }
    }

    /// Whether it can be the name of a socket.
    public var isValid: Bool { bytes != nil }

    /// Gives a socket this name; a file is made with mode 0600.
    ///
    /// The corresponding C function is `bind`.
    ///
    /// - Parameter socket: The number of a socket that has no name.
    /// - Throws: The error of the call: `EADDRINUSE` if the name is taken, `ENAMETOOLONG` if it is not valid.
    package func bind(_ socket: CInt) throws(Errno) {
        guard let bytes else { throw .fileNameTooLong }
        try SystemCall.checked { unsafe hf_unix_socket_bind(socket, bytes, bytes.count, 0o600) }
    }

    /// Connects a socket to the one that has this name.
    ///
    /// The corresponding C function is `connect`.
    ///
    /// - Parameter socket: The number of a socket that is not connected.
    /// - Throws: The error of the call: `ECONNREFUSED` if nobody listens, `EAGAIN` if the time that the socket may wait is
    ///   over, `EINTR`.
    package func connect(_ socket: CInt) throws(Errno) {
        guard let bytes else { throw .fileNameTooLong }
        try SystemCall.checked(retryOnInterrupt: false) {
            unsafe hf_unix_socket_connect(socket, bytes, bytes.count)
        }
    }
}
