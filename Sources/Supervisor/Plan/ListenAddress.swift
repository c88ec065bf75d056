/// An address at which a program is to be reached.
package enum ListenAddress: Sendable, Hashable {
    /// TCP, at an address in numbers; `::` is every address of both kinds.
    case tcp(host: String, port: UInt16)
    /// A Unix socket with a name in the file system.
    case unix(path: String)

    /// A text that is no address, and what is wrong with it.
    package struct Malformed: Error, CustomStringConvertible {
        /// What is wrong with it, and what would be right.
        package let description: String
    }

    /// Reads `tcp:127.0.0.1:8080`, `tcp:[::1]:8080`, `tcp:8080` (every address) or `unix:/run/some.sock`.
    ///
    /// - Parameter text: The text.
    /// - Throws: `Malformed`.
    package init(_ text: String) throws(Malformed) {
        let example = "such as tcp:127.0.0.1:8080, tcp:[::1]:8080, tcp:8080 or unix:/run/some.sock"
        if text.hasPrefix("unix:") {
            let path = String(text.dropFirst(5))
            guard path.hasPrefix("/") else {
                throw Malformed(description: "'\(text)' needs an absolute path, \(example)")
            }
            // sun_path of unix(7), with the byte that ends it.
            guard path.utf8.count < 108 else {
                throw Malformed(description: "'\(text)' is longer than the 107 bytes of a socket's name")
            }
            self = .unix(path: path)
            return
        }
        guard text.hasPrefix("tcp:") else { throw Malformed(description: "'\(text)' is no address, \(example)") }
        let rest = text.dropFirst(4)
        let colon = rest.lastIndex(of: ":")
        guard let port = UInt16(colon.map { rest[rest.index(after: $0)...] } ?? rest), port > 0 else {
            throw Malformed(description: "'\(text)' has no port from 1 to 65535, \(example)")
        }
        var host = colon.map { String(rest[..<$0]) } ?? "::"
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        if host == "*" || host.isEmpty { host = "::" }
        guard SocketAddress(host: host, port: port) != nil else {
            throw Malformed(
                description: "'\(host)' is not an address in numbers; names are not looked up, \(example)"
            )
        }
        self = .tcp(host: host, port: port)
    }
}

extension ListenAddress: CustomStringConvertible {
    /// The address as an option takes it.
    package var description: String {
        switch self {
        case .tcp(let host, let port): host.contains(":") ? "tcp:[\(host)]:\(port)" : "tcp:\(host):\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }
}
