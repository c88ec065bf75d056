import CLinuxShims
import Glibc

/// The clock that no administrator sets: `CLOCK_MONOTONIC`.
public enum MonotonicClock {
    /// Nanoseconds since an arbitrary point, usually the start of the machine; stands still in suspend.
    ///
    /// The corresponding C function is `clock_gettime`.
    @inline(__always)
    public static var nanoseconds: Int64 {
        var time = timespec()
        // Cannot fail: the clock exists on every Linux, and the pointer is good.
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}
