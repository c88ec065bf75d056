internal import LinuxSystem
package import RunLoops
internal import Synchronization

/// Lets a loop tick and measures how late the ticks come: what a frame-rate monitor is to a screen.
///
/// It needs no thread of its own and tells of a stall when that is over. What counts against the limits is the time for which the loop
/// itself held a tick up: not that between the moment when a sleeping loop was to wake and the moment when it did, in which the
/// machine was busy or the process stood still. It ticks until it is stopped or released. Callable from any thread.
package final class TickMonitor: Sendable {
    /// What is told to the handler.
    package struct Limits: Sendable, Hashable {
        /// For how long one tick may be held up; nil for any time.
        package var perTick: Duration?
        /// For how long all ticks of a window may be held up together; nil for any time.
        package var perWindow: Duration?
        /// How long a window is; it is counted in 32nds.
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

    /// What has gone beyond a limit.
    package enum Event: Sendable, Hashable {
        /// One tick: how late it came, and for how long of that the loop held it up.
        case tick(lateness: Duration, heldUp: Duration)
        /// All ticks of a window together; another window begins.
        case window(heldUp: Duration)
    }

    private final class Shared: Sendable {
        /// Protected by its lock.
        let ledger: Mutex<TickLedger>
        /// The last wait: written by the loop's thread, before the tick that reads it.
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
    ///   - limits: What is told to the handler.
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
        // Next to the wait: others may take their time.
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

    /// What was measured so far.
    package var statistics: TickStatistics { shared.ledger.withLock { $0.statistics } }

    /// Ticks no more.
    package func stop() {
        timer.invalidate()
        for observer in observers { observer.invalidate() }
    }
}

/// How regularly a loop ticked so far.
public struct TickStatistics: Sendable, Hashable {
    /// Ticks that came.
    package let ticks: Int
    /// Ticks that did not come, because the one before was late by more than the time between two.
    package let missed: Int
    /// For how long the loop held ticks up, all together.
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

    /// How late the latest tick came.
    package var latest: Duration { lateness.longest }

    /// How late this part of the ticks came at most, in steps of 1, 2 and 5: `0.5` for the median.
    ///
    /// - Parameter part: From 0 to 1.
    /// - Returns: Nil where nothing has ticked yet.
    public func lateness(ofPart part: Double) -> Duration? { lateness.quantile(part) }

    /// Which part of the ticks came, from 0 to 1: 1 is smooth.
    public var smoothness: Double { ticks + missed == 0 ? 1 : Double(ticks) / Double(ticks + missed) }

    /// For how many milliseconds of each second ticks were held up, as display frameworks count hitches.
    public var hitchRatio: Double { elapsed > .zero ? 1000 * (heldUp / elapsed) : 0 }
}
