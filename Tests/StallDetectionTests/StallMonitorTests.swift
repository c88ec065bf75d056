import Glibc
import RunLoops
import Synchronization
import TestSupport
import Testing

@testable import StallDetection

/// Stalls of real loops, as they are told.
///
/// Thresholds of what must not stall are long: a test machine keeps threads waiting, and that is a stall, too.
@Suite(.timeLimit(.minutes(10))) struct StallMonitorTests {
    private typealias LoopThread = HostRunLoop.LoopThread

    /// Keeps what a handler is told.
    private final class Told: Sendable {
        private let stalls = Mutex<[Stall]>([])

        var all: [Stall] { stalls.withLock { $0 } }
        func add(_ stall: Stall) { stalls.withLock { $0.append(stall) } }

        /// Waits until there are so many.
        func wait(for count: Int) {
            let isThere = StallMonitorTests.waits { all.count >= count }
            #expect(isThere, "\(count) stalls are told")
        }
    }

    private static let threshold = Duration.seconds(1)

    private func monitor(_ told: Told, after threshold: Duration = threshold) -> StallMonitor {
        StallMonitor(rule: .once(after: threshold)) { told.add($0) }
    }

    /// Waits until a condition holds, with a limit that only a mistake meets; says whether it does.
    private static func waits(until condition: () -> Bool) -> Bool {
        let deadline = Deadline()
        while !condition() {
            if deadline.hasPassed { return false }
            usleep(500)
        }
        return true
    }

    /// Keeps the calling thread busy until a condition holds, with the same limit.
    private static func spin(until condition: () -> Bool) {
        let deadline = Deadline()
        while !condition(), !deadline.hasPassed {}
    }

    @Test func `A callout that does not return is told while it lasts, and when it is over`() throws {
        let told = Told()
        let thread = try LoopThread(name: "stalls")
        let monitor = monitor(told)
        try monitor.watch(thread.loop)
        thread.loop.perform { Self.spin { told.all.count >= 1 } }
        told.wait(for: 2)
        let (lasting, over) = (told.all[0], told.all[1])
        #expect(lasting.phase == .lasting && over.phase == .over)
        #expect(lasting.number == over.number && lasting.begin == over.begin)
        #expect(lasting.length >= Self.threshold && over.length >= lasting.length)
        guard case .loop(let loop) = lasting.subject else {
            Issue.record("it is a loop that stalls")
            return
        }
        #expect(loop === thread.loop)
        thread.stop()
        thread.join()
    }

    @Test func `A callout that waits is told as well, and several looks in a row tell of it, too`() throws {
        let told = Told()
        let thread = try LoopThread(name: "stalls")
        let monitor = StallMonitor(rule: .checks(3, every: .milliseconds(10))) { told.add($0) }
        try monitor.watch(thread.loop)
        thread.loop.perform { told.wait(for: 1) }
        told.wait(for: 2)
        #expect(told.all[0].length >= .milliseconds(30))
        thread.stop()
        thread.join()
    }

    @Test func `The first callout of a loop's life is watched`() throws {
        let told = Told()
        let monitor = monitor(told)
        let thread = try LoopThread(name: "stalls") { loop in
            try? monitor.watch(loop)
            told.wait(for: 1)
        }
        told.wait(for: 2)
        #expect(told.all.map(\.phase) == [.lasting, .over])
        thread.stop()
        thread.join()
    }

    @Test func `A nested run is watched in whatever mode, and while it sleeps nothing stalls`() throws {
        let told = Told()
        let thread = try LoopThread(name: "stalls")
        let monitor = monitor(told)
        try monitor.watch(thread.loop)
        let mode = HostRunLoop.Mode("a mode of its own")
        let isAsleep = Atomic<Bool>(false)
        let loop = thread.loop
        loop.perform {
            // Long before any look, it sleeps in the mode of a nested run.
            loop.add(HostRunLoop.Source(label: "keep alive") { _ in }, to: mode)
            isAsleep.store(true, ordering: .releasing)
            loop.run(in: mode, for: .seconds(1000))
        }
        try #require(Self.waits { isAsleep.load(ordering: .acquiring) && loop.isWaiting })
        // A callout of the nested run stalls, and is the only one.
        loop.perform(in: mode) { told.wait(for: 1) }
        told.wait(for: 2)
        loop.perform(in: mode) { loop.stop() }
        thread.stop()
        thread.join()
        #expect(told.all.map(\.phase) == [.lasting, .over])
    }

    @Test func `After a nested run its caller is watched again`() throws {
        let told = Told()
        let thread = try LoopThread(name: "stalls")
        let monitor = monitor(told)
        try monitor.watch(thread.loop)
        let loop = thread.loop
        loop.perform {
            loop.run(in: .default, for: .zero)
            told.wait(for: 1)
        }
        told.wait(for: 2)
        thread.stop()
        thread.join()
    }

    @Test func `Passes that only poll are no stall, however many follow each other`() throws {
        let told = Told()
        let thread = try LoopThread(name: "polls")
        let loop = thread.loop
        let monitor = monitor(told, after: .seconds(1))
        try monitor.watch(loop)
        let end = HostRunLoop.Instant.now.advanced(by: .milliseconds(1500))
        let source = Mutex<HostRunLoop.Source?>(nil)
        let signalling = HostRunLoop.Source(label: "again and again") { _ in
            // The pass after a source only polls.
            if .now < end {
                source.withLock { $0 }?.signal()
            } else {
                loop.stop()
                thread.stop()
            }
        }
        source.withLock { $0 = signalling }
        loop.add(signalling)
        signalling.signal()
        loop.wakeUp()
        thread.join()
        source.withLock { $0 = nil }
        #expect(told.all.isEmpty)
    }

    @Test func `Two loops stall at once, each on its own`() throws {
        let told = Told()
        let threads = try [LoopThread(name: "one"), LoopThread(name: "two")]
        let monitor = monitor(told)
        for thread in threads {
            try monitor.watch(thread.loop)
            thread.loop.perform { told.wait(for: 2) }
        }
        told.wait(for: 4)
        #expect(Set(told.all.map(\.number)).count == 2)
        #expect(told.all.prefix(2).allSatisfy { $0.phase == .lasting })
        for thread in threads { thread.stop() }
        for thread in threads { thread.join() }
    }

    @Test func `A long interval of one loop does not blind the watcher for another`() throws {
        let told = Told()
        let slow = try LoopThread(name: "slow")
        let quick = try LoopThread(name: "quick")
        let patient = StallMonitor(rule: .once(after: .seconds(1000))) { _ in }
        let isOver = Atomic<Bool>(false)
        slow.loop.perform { _ = Self.waits { isOver.load(ordering: .acquiring) } }
        try patient.watch(slow.loop)
        // Added while the watcher sleeps for the other's interval, and busy after that.
        let monitor = monitor(told)
        try monitor.watch(quick.loop)
        quick.loop.perform { told.wait(for: 1) }
        told.wait(for: 2)
        quick.loop.perform { told.wait(for: 3) }
        told.wait(for: 4)
        isOver.store(true, ordering: .releasing)
        for thread in [slow, quick] { thread.stop() }
        for thread in [slow, quick] { thread.join() }
    }

    @Test func `A callout outside of runs is watched on after it has waited for its loop`() throws {
        let told = Told()
        let monitor = monitor(told)
        let thread = try LoopThread(name: "stalls") { loop in
            _ = loop.waitUntilAnyModeIsReady([.default], for: .milliseconds(1))
            try? monitor.watch(loop)
            told.wait(for: 1)
        }
        told.wait(for: 2)
        thread.stop()
        thread.join()
    }

    @Test func `A post that takes its time blinds nobody, and is a stall of its ping`() throws {
        let told = Told()
        let ofPing = Told()
        let thread = try LoopThread(name: "stalls")
        let pings = self.monitor(ofPing)
        try pings.watch(pinging: "slow", every: .milliseconds(10)) { answer in
            ofPing.wait(for: 1)
            told.wait(for: 1)
            answer()
        }
        let monitor = monitor(told)
        try monitor.watch(thread.loop)
        thread.loop.perform { told.wait(for: 1) }
        told.wait(for: 2)
        ofPing.wait(for: 2)
        pings.stop()
        thread.stop()
        thread.join()
    }

    @Test func `A loop that has gone is forgotten, with its handler`() throws {
        final class Owner: Sendable {}
        weak var owner: Owner?
        let monitor: StallMonitor
        do {
            let made = Owner()
            owner = made
            monitor = StallMonitor { _ in withExtendedLifetime(made) {} }
        }
        let thread = try LoopThread(name: "goes")
        try monitor.watch(thread.loop)
        monitor.stop()
        thread.stop()
        thread.join()
        #expect(owner != nil)
        _ = consume monitor
        // The watcher may be looking.
        #expect(Self.waits { owner == nil })
    }

    @Test func `What is not watched any more is not told`() throws {
        let told = Told()
        let thread = try LoopThread(name: "stalls")
        let monitor = monitor(told)
        try monitor.watch(thread.loop)
        monitor.stopWatching(thread.loop)
        let other = Told()
        let control = self.monitor(other)
        try control.watch(thread.loop)
        thread.loop.perform { other.wait(for: 1) }
        other.wait(for: 2)
        #expect(told.all.isEmpty)
        thread.stop()
        thread.join()
    }

    @Test func `A ping without an answer is a stall, until it is answered`() throws {
        let told = Told()
        let monitor = monitor(told)
        let pings = Atomic<Int>(0)
        let answers = Mutex<[@Sendable () -> Void]>([])
        try monitor.watch(pinging: "a queue", every: .milliseconds(10)) { answer in
            // The first three are answered at once.
            if pings.add(1, ordering: .relaxed).newValue <= 3 {
                answer()
            } else {
                answers.withLock { $0.append(answer) }
            }
        }
        told.wait(for: 1)
        #expect(pings.load(ordering: .relaxed) == 4)
        guard case .ping(let label) = told.all[0].subject else {
            Issue.record("it is a ping that has no answer")
            return
        }
        #expect(label == "a queue")
        for answer in answers.withLock({ $0 }) { answer() }
        told.wait(for: 2)
        #expect(told.all[1].phase == .over && told.all[1].length >= Self.threshold)
        monitor.stop()
    }

    private actor Worker {
        func wait(for told: Told) { told.wait(for: 1) }
        func answer(_ answer: @Sendable () -> Void) { answer() }
    }

    @Test func `A loop and an actor are pinged from outside`() async throws {
        let told = Told()
        let monitor = monitor(told)
        let thread = try LoopThread(name: "pinged")
        let loop = thread.loop
        try monitor.watch(pinging: "loop", every: .milliseconds(10)) { answer in loop.perform { answer() } }
        loop.perform { told.wait(for: 1) }
        told.wait(for: 2)
        monitor.stopWatching(pinging: "loop")
        thread.stop()
        thread.join()

        let ofActor = Told()
        let second = self.monitor(ofActor)
        let worker = Worker()
        async let stalled: Void = worker.wait(for: ofActor)
        try second.watch(pinging: "actor", every: .milliseconds(10)) { answer in
            Task.detached { await worker.answer(answer) }
        }
        await stalled
        let deadline = Deadline()
        while ofActor.all.count < 2, !deadline.hasPassed { try await Task.sleep(for: .milliseconds(1)) }
        // A busy machine may keep the next answer waiting, too.
        #expect(ofActor.all.prefix(2).map(\.phase) == [.lasting, .over])
    }

    @Test func `Ticks tell of a callout that held them up`() throws {
        let events = Mutex<[TickMonitor.Event]>([])
        let thread = try LoopThread(name: "ticks")
        let limits = TickMonitor.Limits(perTick: .milliseconds(100))
        let ticks = TickMonitor(on: thread.loop, every: .milliseconds(5), limits: limits) { event in
            events.withLock { $0.append(event) }
        }
        #expect(Self.waits { ticks.statistics.ticks >= 3 })
        thread.loop.perform { usleep(150_000) }
        #expect(Self.waits { !events.withLock(\.isEmpty) })
        let isHeldUp = events.withLock { events in
            events.contains { event in
                guard case .tick(let lateness, let heldUp) = event else { return false }
                return heldUp > .milliseconds(100) && lateness >= heldUp
            }
        }
        #expect(isHeldUp)
        let statistics = ticks.statistics
        #expect(statistics.missed >= 20 && statistics.smoothness < 1 && statistics.hitchRatio > 0)
        ticks.stop()
        thread.stop()
        thread.join()
    }
}
