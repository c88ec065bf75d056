import Glibc
import RecoveryTestSupport
import RunLoops
import Testing

@Suite("Cleanups of abandoned callouts", .timeLimit(.minutes(10)))
struct CleanupTests {
    @Test("They run once each, the newest first, after the handler and before the next item")
    func order() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.setAbandonHandler { trace.add("handler \($0.label) \($0.isCleanup) \($0.touched)") }
            loop.performWithoutWaking(label: "bad") {
                for number in 1...3 {
                    HostRunLoop.addCleanup { trace.add("\(number) \(loop.isCurrent) \(loop.currentMode == .default)") }
                }
                hf_test_abandon_callout()
            }
            loop.performWithoutWaking { trace.add("next") }
            for _ in 0..<3 { loop.run(in: .default, for: .zero) }
            return trace.entries
        }
        #expect(entries == ["handler bad false []", "3 true true", "2 true true", "1 true true", "next"])
    }

    @Test("They run on a callout stack of their own, and not on the abandoned one")
    func stacks() throws {
        let stacks = try onNewThread { loop in
            let stacks = Cell<[UInt]>([])
            loop.performWithoutWaking {
                stacks.value.append(hf_test_current_callout_stack())
                HostRunLoop.addCleanup { stacks.value.append(hf_test_current_callout_stack()) }
                hf_test_abandon_callout()
            }
            loop.run(in: .default, for: .zero)
            return stacks.value
        }
        #expect(stacks.count == 2 && !stacks.contains(0) && stacks[0] != stacks[1])
    }

    @Test("One that faults costs only itself, and the handler is told")
    func faultingCleanup() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.setAbandonHandler { callout in
                trace.add("handler \(callout.label) \(callout.isCleanup)")
                callout.stack.bury()
            }
            let source = HostRunLoop.Source(label: "s") { _ in
                HostRunLoop.addCleanup { trace.add("first") }
                HostRunLoop.addCleanup {
                    HostRunLoop.addCleanup { trace.add("of the second") }
                    hf_test_abandon_callout()
                }
                HostRunLoop.addCleanup { trace.add("third") }
                hf_test_abandon_callout()
            }
            loop.add(source)
            source.signal()
            loop.run(in: .default, for: .zero)
            return trace.entries
        }
        #expect(entries == ["handler s false", "third", "handler s true", "of the second", "first"])
    }

    @Test("When the callout returns they are dropped unrun, and what they hold is released")
    func dropped() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let kept = Cell<Bool?>(nil)
            loop.performWithoutWaking {
                let witness = Witness { trace.add("released") }
                HostRunLoop.addCleanup { trace.add("cleanup of \(witness)") }
                let cleanup = HostRunLoop.addCleanup {}
                kept.value = cleanup.isRegistered
                trace.add("returns")
            }
            loop.performWithoutWaking { trace.add("next") }
            // The stack is used again: nothing of the callout before may be on it.
            loop.performWithoutWaking { hf_test_abandon_callout() }
            loop.run(in: .default, for: .zero)
            trace.add("\(kept.value == true)")
            return trace.entries
        }
        #expect(entries == ["returns", "released", "next", "true"])
    }

    @Test("One that was cancelled does not run, wherever it was in the list", arguments: 0..<3)
    func cancelled(_ place: Int) throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.performWithoutWaking {
                let cleanups = (0..<3).map { number in HostRunLoop.addCleanup { trace.add("\(number)") } }
                cleanups[place].cancel()
                cleanups[place].cancel()
                trace.add("\(cleanups.map(\.isRegistered))")
                hf_test_abandon_callout()
            }
            loop.run(in: .default, for: .zero)
            return trace.entries
        }
        let left = [2, 1, 0].filter { $0 != place }.map { "\($0)" }
        #expect(entries == ["\((0..<3).map { $0 != place })"] + left)
    }

    @Test("All that were cancelled leave an empty list")
    func allCancelled() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.performWithoutWaking {
                let cleanups = (0..<3).map { number in HostRunLoop.addCleanup { trace.add("\(number)") } }
                for cleanup in [cleanups[1], cleanups[2], cleanups[0]] { cleanup.cancel() }
                HostRunLoop.addCleanup { trace.add("new") }
                hf_test_abandon_callout()
            }
            loop.run(in: .default, for: .zero)
            return trace.entries
        }
        #expect(entries == ["new"])
    }

    @Test("Each callout has its own: the nested one's do not run with the outer one's")
    func nested() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.performWithoutWaking {
                let outer = HostRunLoop.addCleanup { trace.add("outer") }
                let cancelled = Carried(value: HostRunLoop.addCleanup { trace.add("cancelled") })
                loop.performWithoutWaking(in: "inner") {
                    HostRunLoop.addCleanup { trace.add("inner") }
                    // An outer callout's may be taken back here.
                    cancelled.value.cancel()
                    hf_test_abandon_callout()
                }
                loop.performWithoutWaking(in: "inner") {
                    HostRunLoop.addCleanup { trace.add("never") }
                }
                loop.run(in: "inner", for: .zero)
                trace.add("back \(outer.isRegistered)")
                hf_test_abandon_callout()
            }
            loop.run(in: .default, for: .zero)
            return trace.entries
        }
        #expect(entries == ["inner", "back true", "outer"])
    }

    @Test("Off every callout one is not registered and never runs")
    func offCallout() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let cleanup = HostRunLoop.addCleanup { trace.add("never") }
            trace.add("\(cleanup.isRegistered)")
            loop.setAbandonHandler { _ in
                trace.add("handler \(HostRunLoop.addCleanup { trace.add("never") }.isRegistered)")
            }
            loop.performWithoutWaking { hf_test_abandon_callout() }
            loop.run(in: .default, for: .zero)
            cleanup.cancel()
            return trace.entries
        }
        #expect(entries == ["false", "handler false"])
    }

    @Test("What is touched is on record, newest first, until it is cancelled; the poison runs with the cleanups")
    func touched() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.setAbandonHandler { trace.add("handler \($0.touched)") }
            loop.performWithoutWaking {
                let first = HostRunLoop.touch("first") { trace.add("never") }
                _ = HostRunLoop.touch("second") { trace.add("poison second") }
                HostRunLoop.addCleanup { trace.add("cleanup") }
                _ = HostRunLoop.touch("third") { trace.add("poison third") }
                trace.add("\(notes())")
                first.cancel()
                trace.add("\(notes())")
                hf_test_abandon_callout()
            }
            loop.performWithoutWaking { trace.add("\(notes())") }
            loop.run(in: .default, for: .zero)
            return trace.entries
        }
        let expected = [
            #"["third", "second", "first"]"#, #"["third", "second"]"#, #"handler ["third", "second"]"#,
            "poison third", "cleanup", "poison second", "[]",
        ]
        #expect(entries == expected)
    }
}

/// The names that the running callout has put on record, as a fault handler finds them.
func notes() -> [String] {
    var names: [String] = []
    var buffer = [CChar](repeating: 0, count: 100)
    while hf_test_copy_note(CInt(names.count), &buffer, 100) >= 0 {
        names.append(String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
    }
    return names
}

/// Says when it is released.
final class Witness: Sendable {
    private let end: @Sendable () -> Void

    init(_ end: @escaping @Sendable () -> Void) {
        self.end = end
    }

    deinit { end() }
}

/// Brings a value into the closures of one thread.
struct Carried<Value>: @unchecked Sendable {
    let value: Value
}
