import LinuxSystem
import SystemPackage

extension HostRunLoop {
    /// The address at which a message port listens for other processes.
    public enum SocketAddress: Sendable, Hashable {
        /// A file, made with mode 0600 and removed when the port is invalidated; the path has 1 to 107 bytes.
        ///
        /// Anybody who may write to the file may connect. A file left by a dead listener is replaced.
        case path(String)
        /// A name without a file, of 1 to 106 bytes.
        ///
        /// Any process of the network namespace may connect, whoever its user is: check the sender of each message.
        case abstract(String)

        var unixAddress: UnixSocketAddress {
            switch self {
            case .path(let path): .path(FilePath(path))
            case .abstract(let name): .abstract(name)
            }
        }
    }
}

extension HostRunLoop.Message.Descriptor {
    /// Makes two connected sockets for two message ports, for example one in a child process.
    ///
    /// Both are closed on exec. `posix_spawn_file_actions_adddup2` gives one to a child, which makes its port from the number.
    ///
    /// - Returns: The two ends.
    /// - Throws: `MessageError`: `system` if there are no descriptors or memory left.
    public static func socketPair() throws(HostRunLoop.MessageError) -> (
        HostRunLoop.Message.Descriptor, HostRunLoop.Message.Descriptor
    ) {
        do {
            let (first, second) = try PacketSocket.pair()
            return (
                Self(takingOver: FileDescriptor(rawValue: first)), Self(takingOver: FileDescriptor(rawValue: second))
            )
        } catch {
            throw HostRunLoop.MessageError(error)
        }
    }

    /// Connects to a listening port, possibly in another process; each call makes a new connection.
    ///
    /// - Parameters:
    ///   - address: Where the port listens.
    ///   - limit: How long to wait while the port's queue of connections to accept is full.
    /// - Returns: The connected socket, for a message port or a send right.
    /// - Throws: `MessageError`: `portInvalid` if nobody listens there, `timedOut`, `addressInvalid` or `system`.
    package static func connect(
        to address: HostRunLoop.SocketAddress,
        within limit: Duration
    ) throws(HostRunLoop.MessageError) -> HostRunLoop.Message.Descriptor {
        do throws(Errno) {
            let deadline = HostRunLoop.Instant.now.advanced(by: max(.zero, limit)).nanoseconds
            return Self(owning: try PacketSocket.connect(to: address.unixAddress, before: deadline))
        } catch {
            throw HostRunLoop.MessageError(error)
        }
    }
}
