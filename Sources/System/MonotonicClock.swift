import CLinuxShims
import Glibc

/// The clock that nobody can set: `CLOCK_MONOTONIC`.
public enum MonotonicClock {
    /// Nanoseconds since an arbitrary point, usually the start of the machine; stands still in suspend.
    ///
    /// The corresponding C function is `clock_gettime`.
    @inline(__always)
    public static var nanoseconds: Int64 { read(CLOCK_MONOTONIC) }

    /// The same at the kernel's last tick: up to ten milliseconds behind, and five times cheaper.
    ///
    /// The corresponding clock is `CLOCK_MONOTONIC_COARSE`.
    @inline(__always)
    public static var coarseNanoseconds: Int64 { read(CLOCK_MONOTONIC_COARSE) }

    @inline(__always)
    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        // Cannot fail: the clocks exist on every Linux, and the pointer is good.
        unsafe clock_gettime(clock, &time)
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}
