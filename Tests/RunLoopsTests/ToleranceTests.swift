import LinuxSystem
import Synchronization
import Testing

@testable import RunLoops

@Suite("Timer tolerance")
struct ToleranceTests {
    private typealias Timer = HostRunLoop.Timer
    private typealias Instant = HostRunLoop.Instant

    /// The time that nothing here reaches.
    private static let base = Instant.now.advanced(by: .seconds(1000))

    /// Makes a timer that is far from due, and some milliseconds later than `base`.
    private func timer(at milliseconds: Int, tolerance: Int = 0, every interval: Duration = .zero) -> Timer {
        let timer = Timer(
            label: "\(milliseconds)",
            fireAt: Self.base.advanced(by: .milliseconds(milliseconds)),
            interval: interval
        ) { _ in }
        timer.tolerance = .milliseconds(tolerance)
        return timer
    }

    /// When a loop with these timers would end its sleep, in milliseconds after `base`.
    private func wakeTime(_ timers: [Timer]) throws -> Int64 {
        try onNewThread { loop in
            for timer in timers { loop.add(timer) }
            defer { for timer in timers { timer.invalidate() } }
            let mode = try #require(loop.modes[.default])
            let deadline = loop.lock.withLock { mode.coalescedDeadline }
            return (deadline - Self.base.nanoseconds) / 1_000_000
        }
    }

    @Test("It is zero at first, never negative, and at most half the interval")
    func clamped() {
        let once = timer(at: 0)
        #expect(once.tolerance == .zero)
        once.tolerance = .milliseconds(-5)
        #expect(once.tolerance == .zero)
        once.tolerance = .seconds(1000)
        #expect(once.tolerance == .seconds(1000))
        let repeating = timer(at: 0, every: .milliseconds(100))
        repeating.tolerance = .milliseconds(30)
        #expect(repeating.tolerance == .milliseconds(30))
        repeating.tolerance = .seconds(1)
        #expect(repeating.tolerance == .milliseconds(50))
    }

    @Test("A sleep ends at the first fire date without tolerances, and when there is nobody to share it with")
    func alone() throws {
        #expect(try wakeTime([timer(at: 10), timer(at: 20)]) == 10)
        #expect(try wakeTime([timer(at: 10, tolerance: 100)]) == 10)
        #expect(try wakeTime([timer(at: 10, tolerance: 5), timer(at: 20)]) == 10)
    }

    @Test("A sleep ends at the last fire date that makes no timer too late")
    func shared() throws {
        #expect(try wakeTime([timer(at: 10, tolerance: 15), timer(at: 20)]) == 20)
        #expect(try wakeTime([timer(at: 10, tolerance: 50), timer(at: 20), timer(at: 30), timer(at: 70)]) == 20)
        #expect(try wakeTime([timer(at: 10, tolerance: 50), timer(at: 20, tolerance: 9), timer(at: 30)]) == 20)
        #expect(try wakeTime([timer(at: 10, tolerance: 50), timer(at: 20, tolerance: 10), timer(at: 30)]) == 30)
        #expect(try wakeTime([timer(at: 10, tolerance: 50), timer(at: 60, tolerance: 50), timer(at: 61)]) == 60)
    }

    @Test("It agrees with a scan in fire order, for random timers")
    func random() throws {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            let specs = (0..<Int.random(in: 1...30, using: &generator)).map { _ in
                (fire: Int.random(in: 0...100, using: &generator), tolerance: [0, 3, 10, 40].randomElement()!)
            }
            // CFRunLoop.c:2380, in words: as long as a timer's date is within the window of those before it.
            var latest = Int.max
            var wake = 0
            for spec in specs.sorted(by: { $0.fire < $1.fire }) where spec.fire <= latest {
                latest = min(latest, spec.fire + spec.tolerance)
                wake = spec.fire
            }
            let timers = specs.map { timer(at: $0.fire, tolerance: $0.tolerance) }
            #expect(try wakeTime(timers) == Int64(wake), "\(specs)")
        }
    }

    @Test("Timers that share a wake-up fire in it in their order, none early, with one sleep before")
    func oneWakeUp() throws {
        let trace = Trace()
        let early = Cell(false)
        try onNewThread { loop in
            // Far enough away for a machine that stands still for a moment before the loop sleeps.
            let start = Instant.now
            for (label, delay, tolerance) in [("a", 1500, 600), ("b", 1650, 400), ("c", 1800, 0)] {
                let due = start.advanced(by: .milliseconds(delay))
                let timer = Timer(label: label, fireAt: due) { _ in
                    early.value = early.value || Instant.now < due
                    trace.add(label)
                }
                timer.tolerance = .milliseconds(tolerance)
                loop.add(timer)
            }
            loop.traceStages(trace)
            #expect(loop.run(for: .seconds(60)) == .finished)
        }
        #expect(!early.value)
        #expect(trace.entries == ["entry", "timers?", "sources?", "sleep", "woke", "a", "b", "c", "exit"])
    }

    @Test("A loop that is awake anyway fires a timer at its date, however large its tolerance")
    func awake() throws {
        let fired = Cell(false)
        try onNewThread { loop in
            let timer = Timer(label: "t", after: .milliseconds(1)) { _ in fired.value = true }
            timer.tolerance = .seconds(1000)
            loop.add(timer)
            while timer.nextFireDate > .now {}
            loop.run(for: .zero)
        }
        #expect(fired.value)
    }

    @Test("The phase of a repeating timer stays")
    func phase() throws {
        let dates = Mutex<[Instant]>([])
        let interval = Duration.milliseconds(4)
        let start = try onNewThread { loop in
            let timer = Timer(label: "t", after: .milliseconds(5), repeating: interval) { timer in
                dates.withLock { $0.append(timer.nextFireDate) }
                if dates.withLock({ $0.count }) == 5 { timer.invalidate() }
            }
            timer.tolerance = .milliseconds(2)
            let start = timer.nextFireDate
            loop.add(timer)
            #expect(loop.run(for: .seconds(60)) == .finished)
            return start
        }
        for date in dates.withLock({ $0 }) {
            #expect(start.duration(to: date).components.attoseconds % interval.components.attoseconds == 0)
        }
    }

    @Test("A timer that tolerates less ends a sleep that was to last longer")
    func interrupted() throws {
        let fired = Cell(false)
        let thread = NewThread { loop in
            let patient = Timer(label: "patient", after: .seconds(500)) { _ in }
            patient.tolerance = .seconds(1000)
            loop.add(patient)
            loop.add(Timer(label: "last", after: .seconds(600)) { _ in })
            return loop.run(for: .seconds(60))
        }
        waitUntilAsleep(thread.loop)
        let loop = thread.loop
        loop.add(
            Timer(label: "now", after: .milliseconds(1)) { _ in
                fired.value = true
                loop.stop()
            }
        )
        #expect(try thread.join() == .stopped)
        #expect(fired.value)
    }

    @Test("However many timers there are, a sleep looks at 64 of them, and at none again until one of those changes")
    func looks() throws {
        let looks = try onNewThread { loop in
            let timers = (0..<5000).map { timer(at: $0 * 10, tolerance: 6000) }
            for timer in timers.shuffled() { loop.add(timer) }
            defer { for timer in timers { timer.invalidate() } }
            let mode = try #require(loop.modes[.default])
            let pipe = TestPipe()
            pipe.fill()
            // It is never read: always ready.
            try loop.add(pipe.portSource("busy") { _ in })
            var looks: [Int] = []
            func note(_ rounds: Int, _ change: (Int) -> Void) {
                let before = mode.timers.looks
                for round in 0..<rounds {
                    change(round)
                    loop.run(in: .default, for: .seconds(60), returnAfterSourceHandled: true)
                    // A run that finds the port ready does not sleep.
                    _ = loop.timerDeadline(of: mode)
                }
                looks.append(mode.timers.looks - before)
            }
            note(1000) { _ in }
            // Far behind the first ones.
            note(1000) { timers[1000 + $0].nextFireDate = Self.base.advanced(by: .seconds(60 + $0)) }
            // The first one each time: what an idle limit does that is moved with every request.
            note(640) { timers[$0].nextFireDate = Self.base.advanced(by: .seconds(2000 + $0)) }
            return looks
        }
        #expect(looks[0] == TimerHeap<Timer>.looksPerSearch)
        #expect(looks[1] == 0)
        #expect(looks[2] <= 11 * TimerHeap<Timer>.looksPerSearch)
    }

    @Test("Among many timers that could share a wake-up, it ends at the date of the 64th")
    func many() throws {
        func end(_ count: Int) throws -> Int64 {
            try wakeTime((0..<count).map { timer(at: $0, tolerance: 60_000) }.shuffled())
        }
        #expect(try end(1000) == 63)
        #expect(try end(64) == 63)
        #expect(try end(40) == 39)
    }
}
