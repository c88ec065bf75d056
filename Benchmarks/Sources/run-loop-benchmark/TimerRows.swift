import CBenchmark
import RunLoops

/// Timers, many and few.
enum TimerRows {
    private static let second: Int64 = 1_000_000_000

    /// Adding timers whose dates are random.
    static func adding(_ count: Int, _: Int) {
        each(count, "add") { loop, timers in
            let start = now()
            for timer in timers { timer.with { _ = loop.add($0) } }
            return start
        } check: { loop, last in
            check(loop.contains(last), "a timer was not added")
        }
    }

    /// Cancelling timers whose dates are random, the oldest first.
    static func cancelling(_ count: Int, _: Int) {
        each(count, "cancel") { loop, timers in
            for timer in timers { timer.with { _ = loop.add($0) } }
            let start = now()
            for timer in timers { timer.with { $0.invalidate() } }
            return start
        } check: { loop, last in
            check(!loop.contains(last), "a timer was not cancelled")
        }
    }

    /// A timer that somebody else keeps alive.
    @safe
    private struct Reference {
        private let reference: Unmanaged<HostRunLoop.Timer>

        init(_ timer: HostRunLoop.Timer) {
            unsafe reference = .passUnretained(timer)
        }

        func with(_ body: (HostRunLoop.Timer) -> Void) { unsafe reference._withUnsafeGuaranteedRef(body) }
    }

    /// Does something with timers again and again, from a start that it gives.
    private static func each(
        _ count: Int,
        _ name: StaticString,
        _ body: (HostRunLoop, [Reference]) -> Int64,
        check: (HostRunLoop, HostRunLoop.Timer) -> Void
    ) {
        let dates = randomNumbers(count, below: 1000 * second)
        let loop = HostRunLoop.current
        var time: Int64 = 0
        for cycle in 0..<timer_cycles(count) {
            let timers = makeTimers(dates, from: now() + 1000 * second) { _ in }
            // As in the other programs, walking over the timers counts no references.
            let references = timers.map { Reference($0) }
            time += cycle_time(body(loop, references), cycle, count)
            check(loop, timers[count - 1])
            for timer in timers { timer.invalidate() }
        }
        tell(name, Double(time) / Double(timed_operations(count)))
    }

    /// Timers with random dates, all of which have passed.
    static func firing(_ count: Int, _: Int) {
        let dates = randomNumbers(count, below: timer_spread(count))
        var time: Int64 = 0
        for cycle in 0..<timer_cycles(count) {
            let measurement = Measurement(count)
            // A date that has passed when the timer is made would become the time at which it is made.
            let first = now() + timer_lead(count)
            let timers = makeTimers(dates, from: first) { _ in measurement.goesOn() }
            if now() > first { unsafe note("some dates had passed before the timers were made") }
            for timer in timers { measurement.loop.add(timer) }
            wait_until(first + timer_spread(count))
            let start = now()
            measurement.loop.run(for: .seconds(10_000_000_000))
            time += cycle_time(start, cycle, count)
            expect_count(measurement.calls, count)
            // As in the other programs, they are freed after the measurement.
            withExtendedLifetime(timers) {}
        }
        tell("fire", Double(time) / Double(timed_operations(count)))
    }

    /// Making, adding and cancelling one timer after another.
    static func life(_ count: Int, _: Int) {
        let loop = HostRunLoop.current
        let far = addFarTimer(to: loop)
        let start = now()
        for _ in 0..<count {
            let timer = HostRunLoop.Timer(label: "benchmark", after: .seconds(1000)) { _ in }
            loop.add(timer)
            timer.invalidate()
        }
        tell("life", Double(now() - start) / Double(count))
        check(loop.contains(far), "the timer that stays is gone")
        far.invalidate()
    }

    /// A timer that is set to the present by its own callout.
    static func due(_ count: Int, _: Int) {
        let measurement = Measurement(count)
        let timer = HostRunLoop.Timer(label: "benchmark", after: .zero, repeating: .seconds(1000)) { timer in
            if measurement.goesOn() { timer.nextFireDate = .now }
        }
        measurement.loop.add(timer)
        measurement.runAndReport("due")
        timer.invalidate()
    }

    /// How late the fires of a repeating timer of one millisecond are.
    static func lateness(_ count: Int, _: Int) {
        let measurement = Measurement(count)
        let millisecond: Int64 = 1_000_000
        let lateness = Box<[Int64]>()
        lateness.value = []
        lateness.value?.reserveCapacity(count)
        let first = now() + 10 * millisecond
        let expected = Box<Int64>()
        expected.value = first
        let timer = HostRunLoop.Timer(
            label: "benchmark",
            fireAt: instant(first),
            interval: .milliseconds(1)
        ) { _ in
            let time = now()
            var next = expected.value ?? 0
            // A date that came after the loop had looked at the clock, and before this, was taken for a missed one here.
            while time < next - 3000 { next -= millisecond }
            lateness.value?.append(time - next)
            while next <= time { next += millisecond }
            expected.value = next
            measurement.goesOn()
        }
        measurement.loop.add(timer)
        measurement.loop.run(for: .seconds(10_000_000_000))
        expect_count(measurement.calls, count)
        var times = lateness.value ?? []
        unsafe report_lateness(&times, count)
        timer.invalidate()
    }

    /// A time of the harness' clock, which is the loop's, too.
    private static func instant(_ time: Int64) -> HostRunLoop.Instant {
        .now.advanced(by: .nanoseconds(time - now()))
    }

    private static func randomNumbers(_ count: Int, below bound: Int64) -> [Int64] {
        var numbers = [Int64](repeating: 0, count: count)
        unsafe fill_random(&numbers, count, bound, 1)
        return numbers
    }

    private static func makeTimers(
        _ dates: [Int64],
        from first: Int64,
        _ perform: @escaping @Sendable (HostRunLoop.Timer) -> Void
    ) -> [HostRunLoop.Timer] {
        dates.map { date in
            HostRunLoop.Timer(
                label: "benchmark",
                fireAt: instant(first + date),
                perform: perform
            )
        }
    }
}
