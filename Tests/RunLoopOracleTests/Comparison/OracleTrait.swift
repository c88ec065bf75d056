import Glibc
import Testing

extension Trait where Self == ConditionTrait {
    /// Skips where the CFRunLoop of Swift 6.3 cannot be relied on: it takes the clock's resolution for its unit
    /// (swift-corelibs-foundation#5485).
    static var oracle: ConditionTrait {
        .enabled("CFRunLoop needs a clock of 1 ns") {
            var resolution = timespec()
            return clock_getres(CLOCK_MONOTONIC, &resolution) == 0 && resolution.tv_sec == 0 && resolution.tv_nsec == 1
        }
    }
}
