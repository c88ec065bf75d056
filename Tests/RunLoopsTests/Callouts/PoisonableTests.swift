import RecoveryTestSupport
import RunLoops
import TestSupport
import Testing

@Suite("Poisonable values", .timeLimit(.minutes(10)))
struct PoisonableTests {
    /// Runs closures as callouts of one loop, with a box.
    private func run<Value>(
        _ box: @autoclosure @escaping @Sendable () -> Poisonable<Value>,
        _ callouts: (@Sendable (Poisonable<Value>, Trace) -> Void)...
    ) throws -> [String] {
        try onNewThread { loop in
            let trace = Trace()
            let shared = Carried(value: box())
            loop.setAbandonHandler { callout in
                trace.add("touched \(callout.touched) poisoned \(shared.value.isPoisoned)")
                callout.stack.bury()
            }
            for callout in callouts {
                loop.performWithoutWaking { callout(shared.value, trace) }
            }
            loop.run(in: .default, for: .zero)
            return trace.entries
        }
    }

    @Test("A box whose change was abandoned throws until it is replaced")
    func poisoning() throws {
        let entries = try run(
            Poisonable([1, 2, 3], name: "numbers"),
            { box, trace in
                trace.add("\((try? box.withValue { $0.removeLast() }) ?? 0) \(notes())")
                _ = try? box.withValue { numbers in
                    numbers.append(9)
                    trace.add("\(notes())")
                    hf_test_abandon_callout()
                }
            },
            { box, trace in
                trace.add("\(box.isPoisoned)")
                do { try box.withValue { _ in trace.add("never") } } catch { trace.add("\(error)") }
                let read = Result { try box.value }
                trace.add("\(read.map(\.count))")
                box.replace(with: [7])
                trace.add("\(box.isPoisoned) \((try? box.value) ?? [])")
            }
        )
        let text =
            #""numbers" is poisoned: a callout was abandoned while it changed the value, which may be half changed; "#
            + "put a new one in its place with replace(with:), or restart the process"
        let expected = [
            "3 []", #"["numbers"]"#, #"touched ["numbers"] poisoned true"#, "true", text, "failure(\(text))",
            "false [7]",
        ]
        #expect(entries == expected)
    }

    @Test("A body that throws, and a fault that comes when it is over, poison nothing")
    func unpoisoned() throws {
        struct Failure: Error {}
        let entries = try run(
            Poisonable(1, name: "n"),
            { box, trace in
                do {
                    try box.withValue {
                        $0 = 2
                        throw Failure()
                    }
                } catch { trace.add("\(error is Failure) \(notes())") }
                hf_test_abandon_callout()
            },
            { box, trace in trace.add("\((try? box.withValue { $0 }) ?? 0)") }
        )
        #expect(entries == ["true []", "touched [] poisoned false", "2"])
    }

    @Test("Only the boxes are poisoned that the callout was in, and reading is no touching")
    func several() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let boxes = ["a", "b", "c"].map { Carried(value: Poisonable(0, name: $0)) }
            loop.setAbandonHandler { trace.add("\($0.touched)") }
            loop.performWithoutWaking {
                _ = try? boxes[0].value.withValue { _ in
                    _ = try? boxes[1].value.withValue { _ in
                        _ = try? boxes[2].value.value
                        hf_test_abandon_callout()
                    }
                }
            }
            loop.run(in: .default, for: .zero)
            trace.add("\(boxes.map(\.value.isPoisoned))")
            return trace.entries
        }
        #expect(entries == [#"["b", "a"]"#, "[true, true, false]"])
    }

    @Test("A callout inside of the change that is abandoned leaves the change alone")
    func nested() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let shared = Carried(value: Poisonable(0, name: "n"))
            loop.performWithoutWaking {
                try? shared.value.withValue { value in
                    loop.performWithoutWaking(in: "inner") {
                        trace.add("\(notes())")
                        hf_test_abandon_callout()
                    }
                    loop.run(in: "inner", for: .zero)
                    value += 1
                }
                trace.add("\(shared.value.isPoisoned) \((try? shared.value.value) ?? 9)")
            }
            loop.run(in: .default, for: .zero)
            return trace.entries
        }
        #expect(entries == ["[]", "false 1"])
    }

    @Test("The poisoned value is never released, one that is replaced in health is")
    func releasing() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let shared = Carried(value: Poisonable(Witness { trace.add("first") }, name: "w"))
            loop.performWithoutWaking {
                shared.value.replace(with: Witness { trace.add("second") })
                _ = try? shared.value.withValue { _ in hf_test_abandon_callout() }
            }
            loop.run(in: .default, for: .zero)
            shared.value.replace(with: Witness { trace.add("third") })
            trace.add("healed")
            shared.value.replace(with: Witness {})
            return trace.entries
        }
        #expect(entries == ["first", "healed", "third"])
    }

    @Test("The abandon handler and a cleanup can heal it")
    func healing() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let shared = Carried(value: Poisonable(0, name: "n"))
            let heals = Cell(true)
            loop.setAbandonHandler { _ in if heals.value { shared.value.replace(with: 5) } }
            loop.performWithoutWaking { _ = try? shared.value.withValue { _ in hf_test_abandon_callout() } }
            loop.performWithoutWaking {
                trace.add("\((try? shared.value.value) ?? -1)")
                heals.value = false
                _ = try? shared.value.withValue { _ in
                    HostRunLoop.addCleanup { shared.value.replace(with: 6) }
                    hf_test_abandon_callout()
                }
            }
            loop.run(in: .default, for: .zero)
            trace.add("\((try? shared.value.value) ?? -1)")
            return trace.entries
        }
        #expect(entries == ["5", "6"])
    }

    @Test("Off every callout it works, and nothing is on record")
    func offCallout() throws {
        let box = Poisonable("a", name: "text")
        let length = try box.withValue {
            $0 += "b"
            return $0.count + notes().count
        }
        #expect(length == 2)
        #expect(try box.value == "ab")
    }

    @Test("An access inside of its own change ends the process with a message")
    func overlapping() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let box = Poisonable(0, name: "n")
            _ = try? box.withValue { _ in _ = try? box.value }
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("overlapping accesses to the Poisonable \"n\""))
    }
}
