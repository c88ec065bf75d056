import Glibc
import RecoveryTestSupport
import Testing

@testable import RunLoops

@Suite("Performs", .timeLimit(.minutes(10)))
struct PerformTests {
    @Test("A perform runs once over two runs, and says so")
    func once() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.addIdleSource()
            let perform = loop.perform { trace.add("foo") }
            trace.add("\(perform.state)")
            loop.run(in: .default, for: .zero)
            loop.run(in: .default, for: .zero)
            trace.add("\(perform.state) \(perform.cancel())")
            return trace.entries
        }
        #expect(entries == ["pending", "foo", "done false"])
    }

    @Test("Performs of one pass run by order, equal orders and plain blocks as they were queued")
    func order() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.perform(order: 11) { trace.add("bar") }
            loop.perform(order: 10) { trace.add("foo") }
            loop.performWithoutWaking { trace.add("plain 1") }
            loop.perform { trace.add("plain 2") }
            loop.perform(order: -1) { trace.add("first") }
            loop.perform(order: 10) { trace.add("foo 2") }
            loop.performWithoutWaking { trace.add("plain 3") }
            loop.run(in: .default, for: .zero)
            return trace.entries
        }
        #expect(entries == ["first", "plain 1", "plain 2", "plain 3", "foo", "foo 2", "bar"])
    }

    @Test("What was put back for another mode keeps its order among newer ones")
    func orderOfKept() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.perform(in: "x", order: 2) { trace.add("2") }
            loop.perform(in: "x", order: 1) { trace.add("1") }
            loop.perform { trace.add("default") }
            loop.run(in: .default, for: .zero)
            loop.perform(in: "x") { trace.add("0") }
            loop.run(in: "x", for: .zero)
            return trace.entries
        }
        #expect(entries == ["default", "0", "1", "2"])
    }

    @Test("One perform is cancelled by its token, also by an earlier one of the same pass")
    func cancelOne() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.addIdleSource()
            let later = Cell<HostRunLoop.Perform?>(nil)
            loop.perform {
                trace.add("foo")
                trace.add("\(later.value?.cancel() == true)")
            }
            let bar = loop.perform { trace.add("bar") }
            later.value = loop.perform { trace.add("later") }
            loop.perform { trace.add("zot") }
            trace.add("\(bar.cancel()) \(bar.cancel()) \(bar.state)")
            loop.run(in: .default, for: .zero)
            trace.add("\(later.value.map(\.state) == .cancelled)")
            return trace.entries
        }
        #expect(entries == ["true false cancelled", "foo", "true", "zot", "true"])
    }

    @Test("No block is missed while those that were cancelled are swept out")
    func sweeping() throws {
        let other = NewThread { loop in
            loop.addIdleSource()
            loop.run()
        }
        let loop = other.loop
        waitUntilAsleep(loop)
        for _ in 0..<200 {
            let performs = (0..<500).map { _ in loop.perform(in: "never") {} }
            let sweeper = NewThread { _ in
                for perform in performs { perform.cancel() }
            }
            let hasRun = Latch()
            for _ in 0..<20 { loop.performWithoutWaking {} }
            loop.performWithoutWaking { hasRun.open() }
            loop.wakeUp()
            let wasMissed = !hasRun.wait(until: .now.advanced(by: .seconds(20)))
            #expect(!wasMissed)
            try sweeper.join()
            if wasMissed { break }
        }
        loop.stop()
        try other.join()
    }

    @Test("All performs of a target are cancelled, queued, delayed and detached ones; others run")
    func cancelTarget() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.addIdleSource()
            let (target, other) = (Target(), Target())
            loop.perform(target: target) { trace.add("queued") }
            loop.perform(in: "x", target: target) { trace.add("other mode") }
            loop.perform(after: .zero, target: target) { trace.add("delayed") }
            loop.perform(target: other) {
                trace.add("other")
                trace.add("\(loop.cancelPerforms(for: other))")
            }
            loop.perform(target: other) { trace.add("other, cancelled in its own pass") }
            loop.perform { trace.add("none") }
            trace.add("\(loop.cancelPerforms(for: target)) \(loop.cancelPerforms(for: target))")
            for _ in 0..<2 { loop.run(in: .default, for: .zero) }
            trace.add("\(loop.isEmpty("x"))")
            return trace.entries
        }
        #expect(entries == ["3 0", "other", "1", "none", "true"])
    }

    @Test("The target and the closure live until the perform has run or was cancelled, however long the token lives")
    func lifetimes() throws {
        try onNewThread { loop in
            loop.addIdleSource()
            weak let ran: Target?
            weak let cancelled: Target?
            weak let delayed: Target?
            let tokens: [HostRunLoop.Perform]
            do {
                let targets = (0..<3).map { _ in Target() }
                ran = targets[0]
                cancelled = targets[1]
                delayed = targets[2]
                tokens = [
                    loop.perform(target: targets[0]) {},
                    loop.perform(target: targets[1]) {},
                    loop.perform(after: .zero, target: targets[2]) {},
                ]
            }
            #expect(ran != nil && cancelled != nil && delayed != nil)
            #expect(tokens[1].cancel())
            #expect(ran != nil && cancelled == nil && delayed != nil)
            loop.run(in: .default, for: .zero)
            #expect(ran == nil && cancelled == nil && delayed == nil)
            #expect(tokens.map(\.state) == [.done, .cancelled, .done])
        }
    }

    @Test("A perform keeps its mode from being empty exactly while it is queued")
    func emptiness() throws {
        try onNewThread { loop in
            let first = loop.perform(in: "x") {}
            #expect(!loop.isEmpty("x"))
            first.cancel()
            #expect(loop.isEmpty("x"))
            // More than a sweep of the queue at once would take away.
            let many = (0..<100).map { _ in loop.perform(in: "x") {} }
            for perform in many.dropLast() { perform.cancel() }
            #expect(!loop.isEmpty("x"))
            many.last?.cancel()
            #expect(loop.isEmpty("x"))
            loop.perform(inAnyOf: ["x", "y"]) {}
            #expect(!loop.isEmpty("x") && !loop.isEmpty("y"))
            loop.run(in: "y", for: .zero)
            #expect(loop.isEmpty("x") && loop.isEmpty("y"))
        }
    }

    @Test("A perform reaches a loop without inputs, and one that sleeps")
    func wakes() throws {
        let isQueued = Cell(false)
        let thread = NewThread { loop in
            // Until its wake-up is sent, too.
            while !isQueued.value { sched_yield() }
            // Nothing but the perform is in the mode: the limit only keeps a failure from hanging.
            loop.run(in: .default, for: .zero)
            loop.addIdleSource()
            return loop.run(in: .default, for: .seconds(50))
        }
        let loop = thread.loop
        let trace = Trace()
        loop.perform { trace.add("without inputs") }
        isQueued.value = true
        waitUntilAsleep(loop)
        let before = loop.passCount
        loop.perform { loop.stop() }
        #expect(try thread.join() == .stopped)
        #expect(trace.entries == ["without inputs"])
        // It ran in the pass that it woke.
        #expect(loop.passCount == before)
    }

    @Test("All performs that are queued run in one pass; a fault costs only the one that faulted")
    func faults() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.setAbandonHandler { trace.add("abandoned \($0.label)") }
            loop.perform { trace.add("first") }
            let bad = loop.perform(label: "bad") { hf_test_abandon_callout() }
            let badTimer = loop.perform(after: .zero, label: "bad timer") { hf_test_abandon_callout() }
            loop.perform { trace.add("last") }
            loop.run(in: .default, for: .zero)
            trace.add("\(bad.state) \(badTimer.state) \(loop.passCount) \(loop.isEmpty(.default))")
            return trace.entries
        }
        #expect(
            entries == ["first", "abandoned bad", "last", "abandoned bad timer", "abandoned abandoned 1 true"]
        )
    }

    @Test("Work that is put off to the default mode waits while a run in another mode is active")
    func putOff() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            for mode in [.default, "tracking"] as [HostRunLoop.Mode] { loop.addIdleSource(to: mode) }
            loop.addCommonMode("tracking")
            loop.perform {
                trace.add("tracking begins")
                loop.perform(in: .default) { trace.add("put off") }
                loop.perform(in: .common) { trace.add("common") }
                for _ in 0..<3 { loop.run(in: "tracking", for: .zero) }
                trace.add("tracking ends")
            }
            loop.run(in: .default, for: .zero)
            return trace.entries
        }
        #expect(entries == ["tracking begins", "common", "tracking ends", "put off"])
    }

    @Test("A mode that an earlier block declares common is common for the next one")
    func becomesCommon() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.perform(in: .common) { trace.add("before") }
            loop.performWithoutWaking(in: "x") { loop.addCommonMode("x") }
            loop.perform(in: .common) { trace.add("after") }
            loop.perform(inAnyOf: [.common, "y"]) { trace.add("any") }
            loop.run(in: "x", for: .zero)
            trace.add("-")
            loop.run(in: "x", for: .zero)
            return trace.entries
        }
        // What came too early waits for the next turn of the pass.
        #expect(entries == ["after", "any", "before", "-"])
    }

    @Test("Performs that are left when the thread ends are dropped, and so are later ones")
    func threadEnd() throws {
        let tokens = Cell<[HostRunLoop.Perform]>([])
        let trace = Trace()
        let thread = NewThread { loop in
            let target = Target { trace.add("released") }
            tokens.value = [
                loop.perform(target: target) { trace.add("ran") },
                loop.perform(after: .seconds(100)) { trace.add("ran late") },
            ]
            return loop
        }
        let loop = try thread.join()
        tokens.value.append(loop.perform { trace.add("ran after the end") })
        tokens.value.append(loop.perform(after: .zero) { trace.add("ran after the end") })
        #expect(tokens.value.map(\.state) == [.dropped, .dropped, .dropped, .dropped])
        #expect(tokens.value.allSatisfy { !$0.cancel() })
        #expect(trace.entries == ["released"])
    }

    @Test("Performs from many threads are neither lost nor run twice, and cancelling is exact")
    func stress() throws {
        let perThread = 5000
        let counts = (0..<4).map { _ in Cell(0) }
        let server = NewThread { loop in
            loop.addIdleSource()
            return loop.run(in: .default, for: .seconds(50))
        }
        let loop = server.loop
        let producers = counts.map { count in
            NewThread { _ -> Int in
                var cancelled = 0
                for number in 0..<perThread {
                    let perform = loop.perform(order: number % 97 == 0 ? 1 : 0) { count.value += 1 }
                    if number % 3 == 0, perform.cancel() { cancelled += 1 }
                }
                return cancelled
            }
        }
        let cancelled = try producers.map { try $0.join() }
        loop.perform(order: .max) { loop.stop() }
        #expect(try server.join() == .stopped)
        #expect(zip(counts, cancelled).allSatisfy { $0.value + $1 == perThread })
    }
}

/// Something that performs can be cancelled by.
final class Target: Sendable {
    private let onRelease: @Sendable () -> Void

    init(onRelease: @escaping @Sendable () -> Void = {}) {
        self.onRelease = onRelease
    }

    deinit {
        onRelease()
    }
}
