import RecoveryTestSupport
import RunLoops
import Synchronization
import Testing

@Suite("Abandoned callouts", .timeLimit(.minutes(10)))
struct AbandonedCalloutTests {
    @Test("A repeating timer that was abandoned fires again, and the other timers of the pass fire")
    func timers() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let now = HostRunLoop.Instant.now
            loop.add(
                HostRunLoop.Timer(label: "bad", fireAt: now, interval: .nanoseconds(1)) { _ in
                    trace.add("bad")
                    if trace.count("bad") == 1 { hf_test_abandon_callout() }
                }
            )
            let once = HostRunLoop.Timer(label: "once", fireAt: now) { _ in
                trace.add("once")
                hf_test_abandon_callout()
            }
            loop.add(once)
            loop.add(HostRunLoop.Timer(label: "good", fireAt: now) { _ in trace.add("good") })
            loop.run(in: .default, for: .zero)
            loop.run(in: .default, for: .zero)
            trace.add("\(once.isValid) \(loop.contains(once))")
            return trace.entries
        }
        #expect(entries == ["bad", "once", "good", "bad", "false false"])
    }

    @Test("The rest of a batch of sources is performed, and the pass counts as handled")
    func sources() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let bad = HostRunLoop.Source(label: "bad") { _ in
                trace.add("bad")
                hf_test_abandon_callout()
            }
            let good = HostRunLoop.Source(label: "good", order: 1) { _ in trace.add("good") }
            for source in [bad, good] {
                loop.add(source)
                source.signal()
            }
            loop.run(in: .default, for: .zero)
            bad.signal()
            trace.add("\(loop.run(in: .default, for: .seconds(10), returnAfterSourceHandled: true))")
            return trace.entries
        }
        #expect(entries == ["bad", "good", "bad", "handledSource"])
    }

    @Test("Blocks behind an abandoned one run, in their order")
    func blocks() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.performWithoutWaking(in: "other") { trace.add("other") }
            loop.performWithoutWaking { hf_test_abandon_callout() }
            loop.performWithoutWaking { trace.add("second") }
            loop.performWithoutWaking { trace.add("third") }
            loop.run(in: .default, for: .zero)
            loop.run(in: "other", for: .zero)
            return trace.entries
        }
        #expect(entries == ["second", "third", "other"])
    }

    @Test("An observer that was abandoned is called again; one that does not repeat is invalid")
    func observers() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.addIdleSource()
            loop.add(
                HostRunLoop.Observer(label: "o", activities: .beforeTimers) { _, _ in
                    trace.add("bad")
                    hf_test_abandon_callout()
                }
            )
            let once = HostRunLoop.Observer(label: "once", activities: .exit, repeats: false) { _, _ in
                hf_test_abandon_callout()
            }
            loop.add(once)
            loop.add(HostRunLoop.Observer(label: "good", activities: .beforeTimers) { _, _ in trace.add("good") })
            loop.run(in: .default, for: .zero)
            loop.run(in: .default, for: .zero)
            trace.add("\(once.isValid)")
            return trace.entries
        }
        #expect(entries == ["bad", "good", "bad", "good", "false"])
    }

    @Test("A port source that was abandoned is served again, and so are the others")
    func ports() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let pipes = (0..<2).map { _ in TestPipe() }
            try loop.add(
                pipes[0].portSource("bad") { _ in
                    trace.add("bad")
                    hf_test_abandon_callout()
                }
            )
            try loop.add(pipes[1].portSource("good") { _ in trace.add("good") })
            for pipe in pipes { pipe.fill() }
            for _ in 0..<6 { loop.run(in: .default, for: .zero) }
            return trace.entries
        }
        #expect(entries.count == 6)
        #expect(entries.count { $0 == "bad" } == 3)
    }

    @Test("A schedule and a cancel closure can be abandoned")
    func membership() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let source = HostRunLoop.Source(
                label: "s",
                schedule: { _, _ in hf_test_abandon_callout() },
                cancel: { _, _ in hf_test_abandon_callout() },
                perform: { _ in trace.add("s") }
            )
            loop.add(source)
            source.signal()
            loop.run(in: .default, for: .zero)
            loop.remove(source)
            trace.add("\(loop.contains(source))")
            return trace.entries
        }
        #expect(entries == ["s", "false"])
    }

    @Test("A callout of a nested run comes back in that run; one around it takes the nested run with it")
    func nested() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.addIdleSource(to: "inner")
            loop.addCommonMode("inner")
            loop.performWithoutWaking {
                loop.performWithoutWaking(in: "inner") {
                    trace.add("inner \(loop.nesting) \(loop.currentMode?.rawValue ?? "none")")
                    hf_test_abandon_callout()
                }
                trace.add("\(loop.run(in: "inner", for: .zero))")
                trace.add("outer \(loop.nesting) \(loop.currentMode == .default)")
                hf_test_abandon_callout()
            }
            loop.performWithoutWaking { trace.add("behind \(loop.nesting)") }
            trace.add("\(loop.run(in: .default, for: .zero))")
            trace.add("\(loop.nesting) \(loop.currentMode?.rawValue ?? "none") \(loop.allModes.count)")
            return trace.entries
        }
        #expect(entries == ["inner 2 inner", "timedOut", "outer 1 true", "behind 1", "timedOut", "0 none 2"])
    }

    @Test("The handler is told what was abandoned, and the loop goes on if it does nothing with it")
    func handler() throws {
        let seen = try onNewThread { loop in
            let seen = Cell<HostRunLoop.AbandonedCallout?>(nil)
            loop.setAbandonHandler { seen.value = $0 }
            let timer = HostRunLoop.Timer(label: "tick", fireAt: .now) { _ in hf_test_abandon_callout() }
            loop.add(timer, to: "mode")
            loop.run(in: "mode", for: .zero)
            return seen.value
        }
        let callout = try #require(seen)
        #expect(callout.kind == .timer)
        #expect(callout.label == "tick")
        #expect(callout.item != 0)
        #expect(callout.mode == "mode")
        #expect(callout.nesting == 1)
        #expect(callout.pass == 1)
        #expect(callout.activity == .afterWaiting)
        let kept = callout.stack.bury()
        #expect(kept > 0 && kept <= 64 << 10)
        #expect(callout.stack.bury() == 0)
    }

    @Test("An abandoned stack is never used again, a healthy one is")
    func stacks() throws {
        let stacks = try onNewThread { loop in
            let stacks = Cell<[UInt]>([])
            let abandoned = Cell<[HostRunLoop.AbandonedStack]>([])
            loop.setAbandonHandler { abandoned.value.append($0.stack) }
            let source = HostRunLoop.Source(label: "s") { _ in
                stacks.value.append(hf_test_current_callout_stack())
                if stacks.value.count % 3 == 0 { hf_test_abandon_callout() }
            }
            loop.add(source)
            for _ in 0..<9 {
                source.signal()
                loop.run(in: .default, for: .zero)
            }
            precondition(abandoned.value.map(\.low) == [stacks.value[2], stacks.value[5], stacks.value[8]])
            return stacks.value
        }
        #expect(stacks.allSatisfy { $0 != 0 })
        #expect(Set(stacks).count == 3)
        for group in 0..<3 {
            #expect(Set(stacks[(group * 3)..<(group * 3 + 3)]).count == 1)
        }
    }

    @Test("A callout can be abandoned after one inside it was that no run was around")
    func insideEachOther() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.performWithoutWaking {
                let source = HostRunLoop.Source(label: "s", schedule: { _, _ in hf_test_abandon_callout() }) { _ in }
                loop.add(source)
                trace.add("added \(hf_test_current_callout_stack() != 0)")
                hf_test_abandon_callout()
            }
            loop.performWithoutWaking { trace.add("behind") }
            loop.run(in: .default, for: .zero)
            return trace.entries
        }
        #expect(entries == ["added true", "behind"])
    }

    /// Says on which callout stack it goes.
    private final class Witness: Sendable {
        let trace: Trace
        init(_ trace: Trace) { self.trace = trace }
        deinit { trace.add("gone inside a callout \(hf_test_current_callout_stack() != 0)") }
    }

    @Test("What a nested run releases itself is not released under the recovery point of the callout around it")
    func ownCodeOfNestedRun() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.performWithoutWaking {
                let witness = Cell<Witness?>(Witness(trace))
                loop.performWithoutWaking(in: "inner") { [witness = witness.value] in
                    withExtendedLifetime(witness) { trace.add("inner") }
                }
                witness.value = nil
                loop.run(in: "inner", for: .zero)
                trace.add("outer")
            }
            loop.run(in: .default, for: .zero)
            return trace.entries
        }
        #expect(entries == ["inner", "gone inside a callout false", "outer"])
    }

    @Test("The loop's own code inside a callout is not covered by the callout's recovery point")
    func suspended() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.addIdleSource(to: "inner")
            loop.add(
                HostRunLoop.Observer(label: "o", activities: .entry) { _, _ in
                    trace.add("\(hf_test_current_callout_stack() != 0)")
                },
                to: "inner"
            )
            loop.performWithoutWaking {
                let outer = hf_test_current_callout_stack()
                loop.run(in: "inner", for: .zero)
                trace.add("\(outer == hf_test_current_callout_stack())")
            }
            loop.run(in: .default, for: .zero)
            trace.add("\(hf_test_current_callout_stack() == 0)")
            return trace.entries
        }
        #expect(entries == ["true", "true", "true"])
    }

    @Test("A stack of another size takes the place of the old ones")
    func stackSize() throws {
        let sizes = try onNewThread { loop in
            let sizes = Cell<[UInt]>([])
            loop.setAbandonHandler { sizes.value.append($0.stack.high - $0.stack.low) }
            for size in [64 << 10, 256 << 10] {
                loop.calloutStackSize = size
                loop.performWithoutWaking {}
                loop.performWithoutWaking { hf_test_abandon_callout() }
                loop.run(in: .default, for: .zero)
            }
            return sizes.value
        }
        #expect(sizes == [64 << 10, 256 << 10])
    }

    @Test("From the second callout of a thread on, remembering its exclusivity accesses costs no call of the runtime")
    func accessList() throws {
        let (before, after) = try onNewThread { loop -> (Bool, Bool) in
            let before = hf_test_reads_access_list()
            loop.performWithoutWaking {}
            loop.run(in: .default, for: .zero)
            return (before, hf_test_reads_access_list())
        }
        #expect(!before)
        #expect(after)
    }
}
