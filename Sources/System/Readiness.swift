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

    /// Sleeps until one of some descriptors can be read, or is in error; may end for no reason.
    ///
    /// The corresponding C function is `poll`.
    ///
    /// - Parameters:
    ///   - descriptors: The descriptors; without any, only the time ends it.
    ///   - nanoseconds: How long at most, to the next millisecond; `nil` for any time, and zero or less does not wait.
    public static func wait(forAny descriptors: [CInt], atMost nanoseconds: Int64? = nil) {
        var requests = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        let milliseconds = nanoseconds.map { CInt(clamping: (min(max(0, $0), 1 << 50) + 999_999) / 1_000_000) } ?? -1
        // EINTR ends it, too, and so does a descriptor that is not open.
        _ = try? SystemCall.checked(retryOnInterrupt: false) {
            unsafe poll(&requests, nfds_t(descriptors.count), milliseconds)
        }
    }
}
