import LinuxSystem

extension HostRunLoop {
    /// A point on the clock of all run loops: `CLOCK_MONOTONIC`, in nanoseconds.
    ///
    /// It does not follow changes of the wall clock and stands still in suspend.
    public struct Instant: InstantProtocol, Sendable, CustomStringConvertible {
        /// Nanoseconds on the monotonic clock.
        package let nanoseconds: Int64

        /// Makes a point from a reading of the monotonic clock.
        ///
        /// - Parameter nanoseconds: Nanoseconds on `CLOCK_MONOTONIC`.
        package init(nanoseconds: Int64) {
            self.nanoseconds = nanoseconds
        }

        /// The present.
        public static var now: Instant { Instant(nanoseconds: MonotonicClock.nanoseconds) }

        /// A point that is never reached.
        public static let distantFuture = Instant(nanoseconds: .max)

        /// A point in the past.
        public static let distantPast = Instant(nanoseconds: .min)

        /// Returns the point that lies some time later; it saturates instead of overflowing.
        ///
        /// - Parameter duration: How much later; may be negative.
        /// - Returns: The later point.
        public func advanced(by duration: Duration) -> Instant {
            let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.saturatingNanoseconds)
            guard overflow else { return Instant(nanoseconds: sum) }
            return Instant(nanoseconds: duration < .zero ? .min : .max)
        }

        /// Returns the time from this point to another; saturates instead of overflowing.
        ///
        /// - Parameter other: The other point.
        /// - Returns: The time; negative when the other point is earlier.
        public func duration(to other: Instant) -> Duration {
            let (difference, overflow) = other.nanoseconds.subtractingReportingOverflow(nanoseconds)
            guard overflow else { return .nanoseconds(difference) }
            return .nanoseconds(other.nanoseconds < nanoseconds ? Int64.min : Int64.max)
        }

        /// Whether one point comes before another.
        ///
        /// - Parameters:
        ///   - left: One point.
        ///   - right: The other point.
        /// - Returns: Whether the first is earlier.
        public static func < (left: Instant, right: Instant) -> Bool {
            left.nanoseconds < right.nanoseconds
        }

        /// The reading of the clock in nanoseconds.
        public var description: String { "\(nanoseconds) ns" }
    }
}

extension Duration {
    /// Makes a duration from seconds.
    ///
    /// `Duration.seconds(_:)` would end the process if the number is not finite. The result is rounded to nanoseconds and limited
    /// to 292 years in either direction.
    ///
    /// - Parameter seconds: The number of seconds; may be negative.
    /// - Throws: `RunLoopError` with the code `invalidDate` if the number is infinite or not a number.
    public init(seconds: Double) throws(RunLoopError) {
        guard seconds.isFinite else { throw RunLoopError(code: .invalidDate) }
        let nanoseconds = (seconds * 1e9).rounded()
        self = .nanoseconds(Int64(exactly: nanoseconds) ?? (nanoseconds < 0 ? .min : .max))
    }

    /// Whole nanoseconds, clamped to 292 years either way.
    package var saturatingNanoseconds: Int64 {
        let attoseconds = attoseconds
        // The quotient of a few hundred years fits one word: then one machine division is enough. The general one is ten times slower.
        let high = attoseconds >> 64
        guard high >= 0, high < 500_000_000 else { return Int64(clamping: attoseconds / 1_000_000_000) }
        let low = UInt64(truncatingIfNeeded: attoseconds)
        return Int64(UInt64(1_000_000_000).dividingFullWidth((UInt64(high), low)).quotient)
    }
}
