import Glibc
import RunLoops
import StallDetection
import Synchronization

/// Lets one loop make callouts of random length, one after the other, each in a busy period of its own.
final class StallPlayer: @unchecked Sendable {
    /// A callout that was made.
    struct Callout: Sendable {
        /// When the one before it ended.
        var after: HostRunLoop.Instant
        var begin: HostRunLoop.Instant
        var end: HostRunLoop.Instant

        var length: Duration { begin.duration(to: end) }
        /// It must be told.
        var isStall: Bool { length >= RandomStalls.threshold * 1.5 }
        /// It may be told: the machine may have made it longer than it was to be.
        var mayBeStall: Bool { length >= RandomStalls.threshold }

        /// Whether a stall that was told is this one: the busy period, which is its own, begins before the callout.
        func contains(_ stall: Stall) -> Bool { stall.begin > after && stall.begin <= end }
    }

    private let loop: HostRunLoop
    private let mode = HostRunLoop.Mode("nested")
    // Touched by the loop's thread only, until it is done.
    private var stallsLeft: Int
    private var dice: Dice
    private var made: [Callout] = []
    private let isDone = Atomic<Bool>(false)
    /// One loop at a time keeps a processor busy: the others must find one.
    private static let isAnyBusy = Atomic<Bool>(false)

    init(loop: HostRunLoop, stalls: Int, dice: Dice) {
        self.loop = loop
        self.dice = dice
        stallsLeft = stalls
        loop.add(HostRunLoop.Source(label: "keep alive") { _ in }, to: mode)
    }

    func start() { loop.perform { self.next() } }

    /// Waits until all are made.
    func wait() -> [Callout] {
        while !isDone.load(ordering: .acquiring) { usleep(1000) }
        return made
    }

    private func next() {
        guard stallsLeft > 0 else { return isDone.store(true, ordering: .releasing) }
        if Int.random(in: 0..<4, using: &dice) == 0 {
            loop.perform(in: mode) { self.act() }
            loop.run(in: mode, for: .milliseconds(1))
        } else {
            act()
        }
        // After a sleep, or in the next pass; never in the same one: that would be the same busy period.
        let pause = Bool.random(using: &dice) ? 0 : Int.random(in: 1...30_000, using: &dice)
        loop.add(HostRunLoop.Timer(label: "next", after: .microseconds(pause)) { _ in self.next() })
    }

    private func act() {
        let isStall = Bool.random(using: &dice)
        let part = isStall ? Double.random(in: 1.51...4, using: &dice) : .random(in: 0...0.5, using: &dice)
        let isBusy =
            Int.random(in: 0..<2, using: &dice) == 0
            && !Self.isAnyBusy.exchange(true, ordering: .acquiringAndReleasing)
        let begin = HostRunLoop.Instant.now
        let end = begin.advanced(by: RandomStalls.threshold * part)
        while .now < end {
            let rest = HostRunLoop.Instant.now.duration(to: end)
            if !isBusy { usleep(UInt32(max(1, rest / .microseconds(1)))) }
        }
        if isBusy { Self.isAnyBusy.store(false, ordering: .releasing) }
        made.append(Callout(after: made.last?.end ?? .distantPast, begin: begin, end: .now))
        if isStall { stallsLeft -= 1 }
    }
}

extension Duration {
    /// The duration a broken number of times.
    static func * (duration: Duration, factor: Double) -> Duration {
        .nanoseconds(Int64(duration / .nanoseconds(1) * factor))
    }
}
