internal import LinuxSystem
package import RunLoops
internal import Synchronization

/// Lets a loop tick and measures how late the ticks come, like a frame-rate monitor for a screen.
///
/// It needs no thread of its own and reports a stall once that is over. Only the time for which the loop itself held a tick up counts
/// against the limits. A delay between the moment when a sleeping loop should have woken and the moment when it did is not counted: the
/// machine was busy, or the process was stopped. It ticks until it is stopped or released. Callable from any thread.
package final class TickMonitor: Sendable {
    /// The limits beyond which the handler is called.
    package struct Limits: Sendable, Hashable {
        /// How long one tick may be held up; nil for no limit.
        package var perTick: Duration?
        /// How long all ticks of a window may be held up together; nil for no limit.
        package var perWindow: Duration?
        /// The length of a window; it is counted in 32nds.
        package var window: Duration

        /// Makes limits.
        package init(
            perTick: Duration? = .milliseconds(100),
            perWindow: Duration? = nil,
            window: Duration = .seconds(10)
        ) {
            self.perTick = perTick
            self.perWindow = perWindow
            self.window = window
        }
    }

    /// A limit that was exceeded.
    package enum Event: Sendable, Hashable {
        /// One tick was too late: how late it came, and how much of that the loop held it up.
        case tick(lateness: Duration, heldUp: Duration)
        /// All ticks of a window together were held up for too long; another window begins.
        case window(heldUp: Duration)
    }

    private final class Shared: Sendable {
        /// Protected by its lock.
        let ledger: Mutex<TickLedger>
        /// The loop's last wait; its thread writes this before the tick that reads it.
        let waitBegin = Atomic<Int64>(0)
        let waitEnd = Atomic<Int64>(0)
        let handler: @Sendable (Event) -> Void

        init(_ ledger: TickLedger, _ handler: @escaping @Sendable (Event) -> Void) {
            self.ledger = Mutex(ledger)
            self.handler = handler
        }

        func tick() {
            let now = MonotonicClock.nanoseconds
            let begin = waitBegin.load(ordering: .relaxed)
            let wait = begin...max(begin, waitEnd.load(ordering: .relaxed))
            if let event = ledger.withLock({ $0.tick(at: now, wait: wait) }) { handler(event) }
        }
    }

    private let shared: Shared
    private let timer: HostRunLoop.Timer
    private let observers: [HostRunLoop.Observer]

    /// Starts to tick.
    ///
    /// - Parameters:
    ///   - loop: The loop.
    ///   - mode: The mode in which it ticks.
    ///   - period: The time between two ticks, from a millisecond to a day.
    ///   - limits: The limits beyond which the handler is called.
    ///   - handler: Called on the loop's thread, in the tick's callout.
    package init(
        on loop: HostRunLoop,
        in mode: HostRunLoop.Mode = .common,
        every period: Duration,
        limits: Limits = Limits(),
        handler: @escaping @Sendable (Event) -> Void = { _ in }
    ) {
        let start = HostRunLoop.Instant.now
        let period = min(max(period, .milliseconds(1)), .seconds(86_400))
        let ledger = TickLedger(period: period.saturatingNanoseconds, limits: limits, start: start.nanoseconds)
        let shared = Shared(ledger, handler)
        self.shared = shared
        // Next to the wait, because other observers may take their time.
        observers = [
            HostRunLoop.Observer(ofHost: "tick monitor", activities: .beforeWaiting, order: .max) { _, _ in
                shared.waitBegin.store(MonotonicClock.nanoseconds, ordering: .relaxed)
            },
            HostRunLoop.Observer(ofHost: "tick monitor", activities: .afterWaiting, order: .min) { _, _ in
                shared.waitEnd.store(MonotonicClock.nanoseconds, ordering: .relaxed)
            },
        ]
        timer = HostRunLoop.Timer(ofHost: "tick monitor", fireAt: start.advanced(by: period), repeating: period) { _ in
            shared.tick()
        }
        for observer in observers { loop.add(observer, to: mode) }
        loop.add(timer, to: mode)
    }

    deinit {
        stop()
    }

    /// The measurements so far.
    package var statistics: TickStatistics { shared.ledger.withLock { $0.statistics } }

    /// Stops ticking.
    package func stop() {
        timer.invalidate()
        for observer in observers { observer.invalidate() }
    }
}

/// How regularly a loop has ticked so far.
public struct TickStatistics: Sendable, Hashable {
    /// The number of ticks that came.
    package let ticks: Int
    /// The number of ticks that were skipped, because the one before was late by more than a period.
    package let missed: Int
    /// How long the loop held ticks up, in total.
    package let heldUp: Duration
    /// The time from the start to the last tick.
    package let elapsed: Duration
    /// How late ticks came.
    package let lateness: DurationHistogram

    package init(ticks: Int, missed: Int, lateness: DurationHistogram, heldUp: Duration, elapsed: Duration) {
        self.ticks = ticks
        self.missed = missed
        self.lateness = lateness
        self.heldUp = heldUp
        self.elapsed = elapsed
    }

    /// The greatest delay of a tick.
    package var latest: Duration { lateness.longest }

    /// The greatest delay within this fraction of the ticks, in steps of 1, 2 and 5: `0.5` for the median.
    ///
    /// - Parameter part: From 0 to 1.
    /// - Returns: Nil before the first tick.
    public func lateness(ofPart part: Double) -> Duration? { lateness.quantile(part) }

    /// The fraction of ticks that came, from 0 to 1: 1 is smooth.
    public var smoothness: Double { ticks + missed == 0 ? 1 : Double(ticks) / Double(ticks + missed) }

    /// For how many milliseconds of each second ticks were held up, as display frameworks count hitches.
    public var hitchRatio: Double { elapsed > .zero ? 1000 * (heldUp / elapsed) : 0 }
}
