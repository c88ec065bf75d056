import CLinuxShims
import Glibc

/// The clock of the calendar, which an administrator may set: `CLOCK_REALTIME`.
package enum RealtimeClock {
    /// Nanoseconds since 1970.
    package static var nanoseconds: Int64 {
        var time = timespec()
        // Cannot fail: the clock exists on every Linux, and the pointer is good.
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}
