import RecoveryTestSupport
import Synchronization
import Testing

@testable import RunLoops

@Suite("Scopes around passes", .timeLimit(.minutes(10)))
struct PassScopeTests {
    /// Adds a scope that numbers its entries.
    @discardableResult
    private func addScope(
        _ name: String,
        to loop: HostRunLoop,
        _ trace: Trace,
        in mode: HostRunLoop.Mode = .common
    ) -> HostRunLoop.PassScope {
        let count = Cell(0)
        return loop.addPassScope(to: mode, label: name) {
            count.value += 1
            trace.add("+\(name)\(count.value)")
            return count.value
        } leave: { number in
            trace.add("-\(name)\(number)")
        }
    }

    @Test("A scope is entered before all observers, renewed before a sleep, and left behind all others")
    func renewal() throws {
        let trace = Trace()
        try onNewThread { loop in
            loop.add(
                HostRunLoop.Observer(label: "first", activities: [.entry, .beforeWaiting], order: -1000) { _, stage in
                    trace.add(stage.token)
                }
            )
            loop.add(
                HostRunLoop.Observer(label: "last", activities: [.beforeWaiting, .exit], order: 1000) { _, stage in
                    trace.add(stage.token)
                }
            )
            addScope("a", to: loop, trace)
            loop.add(HostRunLoop.Timer(label: "t", after: .zero) { _ in trace.add("timer") })
            #expect(loop.run(for: .seconds(50)) == .finished)
        }
        #expect(trace.entries == ["+a1", "entry", "sleep", "sleep", "-a1", "+a2", "timer", "exit", "-a2"])
    }

    @Test("A pass that only polls does not renew")
    func polls() throws {
        let trace = Trace()
        try onNewThread { loop in
            let left = Cell(3)
            let cell = Cell<HostRunLoop.Source?>(nil)
            let source = HostRunLoop.Source(label: "s") { _ in
                trace.add("source")
                left.value -= 1
                if left.value > 0 { cell.value?.signal() } else { loop.stop() }
            }
            cell.value = source
            loop.add(source)
            addScope("a", to: loop, trace)
            loop.run(for: .zero)
            source.signal()
            #expect(loop.run(for: .seconds(50)) == .stopped)
            cell.value = nil
        }
        #expect(trace.entries == ["+a1", "-a1", "+a2", "source", "source", "source", "-a2"])
    }

    @Test("A nested run has a scope inside the outer one, and later scopes lie inside earlier ones")
    func nesting() throws {
        let trace = Trace()
        try onNewThread { loop in
            loop.addIdleSource(to: "bare")
            addScope("a", to: loop, trace)
            addScope("b", to: loop, trace)
            loop.performWithoutWaking {
                trace.add("nested")
                loop.addIdleSource()
                loop.run(for: .zero)
                // No scope in this mode.
                loop.run(in: "bare", for: .milliseconds(1))
                trace.add("over")
            }
            loop.performWithoutWaking { loop.wakeUp() }
            loop.run(for: .milliseconds(1))
        }
        #expect(
            trace.entries.prefix(10)
                == ["+a1", "+b1", "nested", "+a2", "+b2", "-b2", "-a2", "over", "-b1", "-a1"]
        )
        let renewals = trace.entries.dropFirst(10)
        #expect(renewals.starts(with: ["+a3", "+b3"]))
        #expect(renewals.count { $0.hasPrefix("+") } == renewals.count { $0.hasPrefix("-") })
        #expect(trace.entries.suffix(2).map { $0.prefix(2) } == ["-b", "-a"])
    }

    @Test("A scope that ends in the middle is left at its usual end, and not entered again")
    func removal() throws {
        let trace = Trace()
        try onNewThread { loop in
            let scope = addScope("a", to: loop, trace)
            loop.addIdleSource()
            loop.performWithoutWaking {
                scope.invalidate()
                trace.add("invalidated")
                #expect(!scope.isValid)
                #expect(scope.isInLoop)
            }
            loop.run(for: .zero)
            #expect(!scope.isInLoop)
            loop.run(for: .milliseconds(1))
            trace.add("between")
            let other = addScope("b", to: loop, trace)
            other.invalidate()
            #expect(!other.isInLoop)
            loop.run(for: .milliseconds(1))
        }
        #expect(trace.entries == ["+a1", "invalidated", "-a1", "between"])
    }

    @Test("A scope that is added during a run begins with the next sleep")
    func addedInRun() throws {
        let trace = Trace()
        try onNewThread { loop in
            loop.performWithoutWaking { addScope("a", to: loop, trace) }
            loop.add(HostRunLoop.Timer(label: "t", after: .zero) { _ in trace.add("timer") })
            #expect(loop.run(for: .seconds(50)) == .finished)
        }
        #expect(trace.entries == ["+a1", "timer", "-a1"])
    }

    @Test("A faulting enter leaves nothing to leave; a faulting leave is not called twice, and the renewal enters")
    func faults() throws {
        let trace = Trace()
        try onNewThread { loop in
            let entries = Cell(0)
            let abandoned = Cell(0)
            loop.setAbandonHandler { callout in
                abandoned.value += 1
                callout.stack.bury()
            }
            loop.addPassScope(label: "s") { () -> Int in
                entries.value += 1
                trace.add("+\(entries.value)")
                if entries.value == 1 { hf_test_abandon_callout() }
                return entries.value
            } leave: { number in
                trace.add("-\(number)")
                if number == 2 { hf_test_abandon_callout() }
            }
            loop.addIdleSource()
            // 1 is not entered; the sleeps enter 2, fail to leave it, and enter 3.
            loop.performWithoutWaking { loop.wakeUp() }
            let timer = HostRunLoop.Timer(label: "t", after: .milliseconds(2)) { _ in loop.stop() }
            loop.add(timer)
            #expect(loop.run(for: .seconds(50)) == .stopped)
            #expect(abandoned.value == 2)
        }
        #expect(trace.entries == ["+1", "+2", "-2", "+3", "-3"])
    }

    @Test("While the observer that leaves is withdrawn, the scope stays open and is not entered again")
    func withdrawnLeaver() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let faults = Cell(true)
            loop.setAbandonHandler { callout in
                callout.stack.bury()
                loop.withdraw(item: callout.item)
            }
            loop.addIdleSource()
            loop.addPassScope(label: "scope") {
                trace.add("enter")
            } leave: { _ in
                trace.add("leave")
                if faults.value { hf_test_abandon_callout() }
            }
            for _ in 0..<3 { loop.run(in: .default, for: .milliseconds(1)) }
            faults.value = false
            trace.add("\(loop.withdrawnItems.map { $0.putBack() })")
            loop.run(in: .default, for: .zero)
            return trace.entries
        }
        // Left once, which faulted; then entered by the renewal, and left when that is possible again.
        #expect(entries == ["enter", "leave", "enter", "[true]", "leave"])
    }
}
