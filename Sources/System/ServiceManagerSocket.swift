import Glibc
import SystemPackage

/// The service manager above this process, if there is one that wants to hear how it is: systemd, or `holdfast run`.
///
/// The protocol is that of sd_notify(3).
package final class ServiceManagerSocket: Sendable {
    private let descriptor: OwnedDescriptor
    /// How often it wants to hear `WATCHDOG=1`; nil if it does not.
    package let watchdog: Duration?

    /// Finds it; nil if there is none, or it does not listen.
    ///
    /// - Parameter environment: The environment that the process began with: NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
    package init?(environment: [String: String]) {
        guard let name = environment["NOTIFY_SOCKET"], let socket = Self.connected(to: name) else { return nil }
        descriptor = OwnedDescriptor(takingOver: socket)
        // Not if it is another process that is to say so (sd_watchdog_enabled(3)).
        let isMeant = environment["WATCHDOG_PID"].map { CInt($0) == getpid() } ?? true
        let interval = environment["WATCHDOG_USEC"].flatMap { Int64($0) }.flatMap {
            (1...1 << 50).contains($0) ? $0 : nil
        }
        watchdog = isMeant ? interval.map { .microseconds($0) } : nil
    }

    private static func connected(to name: String) -> CInt? {
        let address: UnixSocketAddress =
            name.hasPrefix("@") ? .abstract(String(name.dropFirst())) : .path(FilePath(name))
        let kind = CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard let number = try? SystemCall.checked({ socket(AF_UNIX, kind, 0) }) else { return nil }
        do {
            try address.connect(number)
            return number
        } catch {
            close(number)
            return nil
        }
    }

    /// Tells it something; lost if it has no room.
    ///
    /// - Parameters:
    ///   - message: Assignments, a line each.
    ///   - descriptors: What it is to keep for us (`FDSTORE=1`).
    package func tell(_ message: String, descriptors: [CInt] = []) {
        try? PacketSocket.send(Array(message.utf8), [], descriptors: descriptors, to: descriptor.rawValue)
    }
}

/// Sockets that the parent of this process has opened for it: LISTEN_FDS, LISTEN_PID and LISTEN_FDNAMES of sd_listen_fds(3).
package enum HandedDownSockets {
    /// The descriptors, from 3 on, with their names.
    ///
    /// - Parameter environment: The environment that the process began with.
    /// - Returns: Those that are open; none if they are meant for another process.
    package static func all(environment: [String: String]) -> [(name: String, number: CInt)] {
        guard environment["LISTEN_PID"].flatMap({ CInt($0) }) == getpid(),
            let count = environment["LISTEN_FDS"].flatMap({ CInt($0) }), (1...253).contains(count)
        else { return [] }
        let names = environment["LISTEN_FDNAMES"]?.split(separator: ":", omittingEmptySubsequences: false)
        return (0..<count).compactMap { index in
            let number = 3 + index
            guard fcntl(number, F_GETFD) >= 0 else { return nil }
            let name = names.flatMap { Int(index) < $0.count ? String($0[Int(index)]) : nil } ?? ""
            return (name.isEmpty ? "unknown" : name, number)
        }
    }
}
