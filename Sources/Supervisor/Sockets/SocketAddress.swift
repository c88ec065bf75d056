internal import Glibc
internal import LinuxSystem
internal import SystemPackage

/// An address of IPv4 or IPv6, as the kernel takes it.
///
/// By inet_pton(3) alone: getaddrinfo(3) loads libraries, which a static program cannot.
struct SocketAddress: Equatable {
    /// The family: AF_INET or AF_INET6.
    let family: CInt
    /// The bytes of a `sockaddr_in` or `sockaddr_in6`.
    private let bytes: [UInt8]

    /// Makes the address; nil if the host is not an address in numbers.
    init?(host: String, port: UInt16) {
        var four = sockaddr_in()
        var six = sockaddr_in6()
        if unsafe inet_pton(AF_INET, host, &four.sin_addr) == 1 {
            four.sin_family = sa_family_t(AF_INET)
            four.sin_port = port.bigEndian
            family = AF_INET
            bytes = unsafe withUnsafeBytes(of: &four) { unsafe Array($0) }
        } else if unsafe inet_pton(AF_INET6, host, &six.sin6_addr) == 1 {
            six.sin6_family = sa_family_t(AF_INET6)
            six.sin6_port = port.bigEndian
            family = AF_INET6
            bytes = unsafe withUnsafeBytes(of: &six) { unsafe Array($0) }
        } else {
            return nil
        }
    }

    /// Gives a socket this address.
    ///
    /// - Throws: The error of bind(2).
    func bind(_ socket: CInt) throws(Errno) {
        try SystemCall.checked {
            unsafe bytes.withUnsafeBytes { bytes -> CInt in
                guard let base = bytes.baseAddress else { return -1 }
                return unsafe Glibc.bind(socket, base.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
            }
        }
    }

    /// Connects a socket.
    ///
    /// - Throws: The error of connect(2): `EINPROGRESS` for one that does not block.
    func connect(_ socket: CInt) throws(Errno) {
        try SystemCall.checked {
            unsafe bytes.withUnsafeBytes { bytes -> CInt in
                guard let base = bytes.baseAddress else { return -1 }
                return unsafe Glibc.connect(socket, base.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
            }
        }
    }

    /// Whether a socket has this address.
    func isThat(of socket: CInt) -> Bool {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return unsafe withUnsafeMutableBytes(of: &storage) { storage in
            guard let base = storage.baseAddress else { return false }
            guard unsafe getsockname(socket, base.assumingMemoryBound(to: sockaddr.self), &size) == 0 else {
                return false
            }
            // Beyond the address itself a sockaddr_in6 has a flow label and a scope, which are zeros for one that was bound as here.
            return unsafe Int(size) == bytes.count && storage.prefix(bytes.count).elementsEqual(bytes)
        }
    }
}
