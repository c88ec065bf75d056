import LinuxSystem

/// When a run ends for want of time.
struct RunDeadline: Equatable {
    /// Nanoseconds on the monotonic clock: `Int64.max` for never, `Int64.min` for a run of one pass that does not wait.
    let time: Int64
    /// Whether it has interrupted a wait: it does that once, also for runs that are nested in its own.
    var hasWoken = false

    /// A run of one pass that does not wait.
    static let poll = RunDeadline(time: .min)

    /// CFRunLoop's `TIMER_INTERVAL_LIMIT` (CFRunLoop.c:151): longer means for ever.
    private static let longest = Duration.seconds(504_911_232)

    /// Makes the deadline of a run that begins now.
    init(limit: Duration) {
        if limit <= .zero {
            self = .poll
        } else if limit > Self.longest {
            time = .max
        } else {
            time = Instant.now.advanced(by: limit).nanoseconds
        }
    }

    private init(time: Int64) {
        self.time = time
        hasWoken = true
    }

    private typealias Instant = HostRunLoop.Instant

    /// Whether the time is over: strictly, as in CFRunLoop.
    var isOver: Bool {
        switch time {
        case .min: true
        case .max: false
        default: time < MonotonicClock.nanoseconds
        }
    }
}
