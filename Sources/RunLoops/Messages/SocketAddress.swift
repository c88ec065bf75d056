import LinuxSystem
import SystemPackage

extension HostRunLoop {
    /// Where a message port listens for other processes.
    public enum SocketAddress: Sendable, Hashable {
        /// A file, made with mode 0600 and removed when the port is invalidated: 1 to 107 bytes.
        ///
        /// Whoever may write to the file may connect. The file of a listener that is dead is replaced.
        case path(String)
        /// A name without a file: 1 to 106 bytes.
        ///
        /// Every process of the network namespace may connect, whoever its user is: look at the sender of each message.
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
    /// Makes two sockets that are connected to each other, for two message ports: one for a child, for example.
    ///
    /// Both are closed on exec; `posix_spawn_file_actions_adddup2` gives one to a child, which makes its port of the number.
    ///
    /// - Returns: The two ends.
    /// - Throws: `MessageError`: `system` if there are no descriptors or no memory left.
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

    /// Connects to a port that listens, possibly in another process; every connection is one of its own.
    ///
    /// - Parameters:
    ///   - address: Where it listens.
    ///   - limit: How long to wait while it has too many connections that it did not take yet.
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
