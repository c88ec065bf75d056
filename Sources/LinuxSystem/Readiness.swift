import CLinuxShims
import Glibc

/// Asks after single descriptors, without waiting.
public enum Readiness {
    /// Says whether a descriptor is ready right now for one of some conditions, or in error.
    ///
    /// The corresponding C function is `poll`.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor.
    ///   - events: The conditions; `poll` and `epoll` share their values on Linux.
    /// - Returns: Which conditions hold; empty when none does or the descriptor is closed.
    public static func now(of descriptor: CInt, for events: Epoll.Events) -> Epoll.Events {
        var request = pollfd(fd: descriptor, events: Int16(truncatingIfNeeded: events.rawValue), revents: 0)
        let count = try? SystemCall.checked { unsafe poll(&request, 1, 0) }
        guard count == 1, request.revents & Int16(POLLNVAL) == 0 else { return [] }
        return Epoll.Events(rawValue: UInt32(UInt16(bitPattern: request.revents)))
    }
}
