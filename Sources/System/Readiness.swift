import CLinuxShims
import Glibc

/// Checks single descriptors, without an epoll instance.
public enum Readiness {
    /// Checks whether a descriptor is ready now for one of some conditions, or in error.
    ///
    /// Does not wait.
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

    /// Sleeps until one of some descriptors can be read, or is in error; may end without a reason.
    ///
    /// The corresponding C function is `poll`.
    ///
    /// - Parameters:
    ///   - descriptors: The descriptors; without any, only the time ends it.
    ///   - nanoseconds: How long at most, rounded up to milliseconds; `nil` for no limit. Zero or less does not wait.
    public static func wait(forAny descriptors: [CInt], atMost nanoseconds: Int64? = nil) {
        var requests = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        let milliseconds = nanoseconds.map { CInt(clamping: (min(max(0, $0), 1 << 50) + 999_999) / 1_000_000) } ?? -1
        // A signal ends it, too (EINTR), and so does a descriptor that is not open.
        _ = try? SystemCall.checked(retryOnInterrupt: false) {
            unsafe poll(&requests, nfds_t(descriptors.count), milliseconds)
        }
    }
}
