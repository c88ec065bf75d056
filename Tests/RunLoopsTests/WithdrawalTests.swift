import Glibc
import RecoveryTestSupport
import SystemPackage
import TestSupport
import Testing

@testable import RunLoops

@Suite("Withdrawal", .timeLimit(.minutes(10)))
struct WithdrawalTests {
    private typealias Timer = HostRunLoop.Timer
    private typealias Observer = HostRunLoop.Observer
    private typealias Source = HostRunLoop.Source

    private static let kinds = ["observer", "port", "source", "timer"]

    @Test("An item that the abandon handler withdraws is not served again until it is put back, whatever its kind")
    func everyKind() throws {
        let (before, summary, after) = try onNewThread { loop -> ([String], [String], [String]) in
            let trace = Trace()
            let faults = Cell(true)
            let serve: @Sendable (String) -> Void = { name in
                trace.add(name)
                if faults.value { hf_test_abandon_callout() }
            }
            let withdrawals = Cell<[HostRunLoop.Withdrawal]>([])
            loop.setAbandonHandler { callout in
                callout.stack.bury()
                if let withdrawal = loop.withdraw(item: callout.item) { withdrawals.value.append(withdrawal) }
                precondition(loop.withdraw(item: callout.item) == nil)
            }
            let pipe = TestPipe()
            pipe.fill()
            let source = Source(label: "source") { _ in serve("source") }
            loop.add(source)
            loop.add(
                Timer(label: "timer", after: .zero, repeating: .nanoseconds(1)) { _ in serve("timer") },
                to: .common
            )
            try loop.add(pipe.portSource("port") { _ in serve("port") })
            loop.add(Observer(label: "observer", activities: .beforeTimers) { _, _ in serve("observer") })
            loop.addIdleSource()
            let runUntilAllAreServed = {
                source.signal()
                let deadline = Deadline()
                while !Self.kinds.allSatisfy(trace.entries.contains), !deadline.hasPassed {
                    loop.run(in: .default, for: .milliseconds(5))
                }
            }
            runUntilAllAreServed()
            source.signal()
            for _ in 0..<6 { loop.run(in: .default, for: .zero) }
            let before = trace.take()
            let summary = withdrawals.value.map { "\($0.kind) \($0.label) \($0.modes.map(\.rawValue))" }
            precondition(loop.withdrawnItems.map(\.identifier) == withdrawals.value.map(\.identifier).sorted())
            faults.value = false
            for withdrawal in withdrawals.value { precondition(withdrawal.putBack() && !withdrawal.putBack()) }
            runUntilAllAreServed()
            return (before.sorted(), summary.sorted(), trace.entries)
        }
        #expect(before == Self.kinds)
        #expect(Set(after) == Set(Self.kinds))
        let plain = ["observer", "port", "source"].map { #"\#($0) \#($0) ["default"]"# }
        #expect(summary == plain + [#"timer timer ["common"]"#])
    }

    @Test(
        "What the pass has found already is not served: a source of the batch, a timer that is due, an observer, a port"
    )
    func samePass() throws {
        let (before, after) = try onNewThread { loop -> ([String], [String]) in
            let trace = Trace()
            let victim = Cell<UInt64>(0)
            let withdraw: @Sendable () -> Void = { trace.add("\(loop.withdraw(item: victim.value) != nil)") }
            let sources = [
                Source(label: "a") { _ in withdraw() }, Source(label: "b", order: 1) { _ in trace.add("source") },
            ]
            for source in sources {
                loop.add(source)
                source.signal()
            }
            victim.value = sources[1].identifier
            loop.run(in: .default, for: .zero)

            let first = Timer(label: "a", fireAt: .now) { _ in withdraw() }
            let second = Timer(label: "b", fireAt: first.nextFireDate.advanced(by: .nanoseconds(1))) { _ in
                trace.add("timer")
            }
            for timer in [first, second] { loop.add(timer) }
            victim.value = second.identifier
            while HostRunLoop.Instant.now <= second.nextFireDate { sched_yield() }
            loop.run(in: .default, for: .zero)

            let observer = Observer(label: "b", activities: .entry) { _, _ in trace.add("observer") }
            loop.add(Observer(label: "a", activities: .entry, repeats: false) { _, _ in withdraw() })
            loop.add(observer)
            victim.value = observer.identifier
            loop.run(in: .default, for: .zero)

            let pipe = TestPipe()
            pipe.fill()
            let port = pipe.portSource("p") { _ in trace.add("port") }
            try loop.add(port)
            loop.add(Observer(label: "c", activities: .afterWaiting, repeats: false) { _, _ in withdraw() })
            victim.value = port.identifier
            loop.run(in: .default, for: .milliseconds(10))
            trace.add("signal kept \(sources[1].isSignalled)")
            let before = trace.take()
            for withdrawal in loop.withdrawnItems { withdrawal.putBack() }
            for _ in 0..<4 { loop.run(in: .default, for: .zero) }
            return (before, trace.entries)
        }
        #expect(before == ["true", "true", "true", "true", "signal kept true"])
        #expect(Set(after) == Set(Self.kinds))
    }

    @Test("A repeating timer goes on at its next date, and one that fires once fires late")
    func timers() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let repeating = Timer(label: "r", after: .milliseconds(1), repeating: .seconds(100)) { _ in trace.add("r") }
            let once = Timer(label: "o", after: .milliseconds(1)) { _ in trace.add("o") }
            let first = repeating.nextFireDate
            for timer in [repeating, once] { loop.add(timer) }
            let withdrawals = [repeating, once].compactMap { loop.withdraw(item: $0.identifier) }
            loop.addIdleSource()
            while HostRunLoop.Instant.now < max(first, once.nextFireDate) {
                loop.run(in: .default, for: .milliseconds(2))
            }
            trace.add("\(withdrawals.map { $0.putBack() })")
            loop.run(in: .default, for: .zero)
            trace.add("\(repeating.nextFireDate == first.advanced(by: .seconds(100))) \(once.isValid)")
            return trace.entries
        }
        #expect(entries == ["[true, true]", "o", "true false"])
    }

    @Test("A timer that withdraws itself and is put back in its own callout is armed once, at its next date")
    func ownCallout() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let timer = Timer(label: "t", after: .zero, repeating: .seconds(100)) { timer in
                trace.add("t")
                let withdrawal = loop.withdraw(item: timer.identifier)
                trace.add("\(loop.contains(timer)) \(withdrawal?.putBack() == true) \(loop.contains(timer))")
            }
            let first = timer.nextFireDate
            loop.add(timer)
            loop.run(in: .default, for: .zero)
            loop.run(in: .default, for: .zero)
            trace.add("\(timer.nextFireDate == first.advanced(by: .seconds(100)))")
            return trace.entries
        }
        #expect(entries == ["t", "false true true", "true"])
    }

    @Test("All modes are remembered, and what is added and removed meanwhile is recorded")
    func modes() throws {
        try onNewThread { loop in
            let trace = Trace()
            let source = Source(
                label: "s",
                schedule: { _, mode in trace.add("+\(mode.rawValue)") },
                cancel: { _, mode in trace.add("-\(mode.rawValue)") },
                perform: { _ in }
            )
            loop.addCommonMode("c")
            loop.add(source, to: .common)
            loop.add(source, to: "own")
            #expect(trace.take().sorted() == ["+c", "+default", "+own"])
            let withdrawal = try #require(loop.withdraw(item: source.identifier))
            #expect(trace.take().sorted() == ["-c", "-default", "-own"])
            #expect(withdrawal.modes == [.common, "own"])
            #expect(loop.add(source, to: "new") == .withheld)
            #expect(loop.add(source, to: "own") == .alreadyThere)
            loop.remove(source, from: "own")
            loop.addCommonMode("later")
            #expect(!loop.contains(source, in: "new") && source.isValid && !withdrawal.isOver)
            #expect(trace.take().isEmpty)
            #expect(withdrawal.putBack())
            #expect(trace.take().sorted() == ["+c", "+default", "+later", "+new"])
            let places: [HostRunLoop.Mode] = ["c", "later", "new", .common, "own"]
            #expect(places.map { loop.contains(source, in: $0) } == [true, true, true, true, false])
        }
    }

    @Test("Removing it from all its modes, or invalidating it, ends the withdrawal and releases the item")
    func ending() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            for ends in ["remove", "invalidate"] {
                let witness = Witness { trace.add("released") }
                var source: Source? = Source(label: "s") { _ in _ = witness }
                let withdrawal = { (source: Source) -> HostRunLoop.Withdrawal? in
                    loop.add(source)
                    return loop.withdraw(item: source.identifier)
                }(source!)
                if ends == "remove" { loop.remove(source!) } else { source!.invalidate() }
                trace.add("\(withdrawal?.isOver == true) \(withdrawal?.putBack() == true) \(loop.withdrawnItems.count)")
                source = nil
            }
            return trace.entries
        }
        #expect(entries.filter { $0 != "released" } == ["true false 0", "true false 0"])
        #expect(entries.count { $0 == "released" } == 2)
    }

    @Test("Blocks, performs, the main queue and unknown items cannot be withdrawn")
    func refused() throws {
        let refused = try onNewThread { loop in
            let performs = [loop.perform {}, loop.perform(after: .seconds(50)) {}]
            let invalid = Source(label: "s") { _ in }
            loop.add(invalid)
            invalid.invalidate()
            let elsewhere = Source(label: "s") { _ in }
            let all = performs.map(\.identifier) + [0, .max, invalid.identifier, elsewhere.identifier]
            return all.allSatisfy { loop.withdraw(item: $0) == nil }
        }
        #expect(refused)
    }

    @Test("Another thread can withdraw an item and put it back, and the loop that sleeps serves it")
    func otherThread() throws {
        let trace = Trace()
        let worker = try HostRunLoop.LoopThread(name: "withdrawing")
        let pipe = TestPipe()
        let port = pipe.portSource("p") { _ in
            pipe.takeByte()
            trace.add("served")
            worker.stop()
        }
        try worker.loop.add(port)
        let withdrawal = try #require(worker.loop.withdraw(item: port.identifier))
        pipe.fill()
        try worker.loop.performAndWait(within: .seconds(20)) { trace.add("pass") }
        #expect(withdrawal.putBack())
        worker.join()
        #expect(trace.entries == ["pass", "served"])
    }

    @Test("Items with withheld labels are recorded when they are added, and are served when they are put back")
    func withheldLabels() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let before = Source(label: "bad") { _ in trace.add("before") }
            loop.add(before)
            loop.withhold(itemsLabelled: ["bad", "worse"])
            let bad = Source(label: "bad") { _ in trace.add("bad") }
            let timer = Timer(label: "worse", after: .zero) { _ in trace.add("worse") }
            let good = Source(label: "good") { _ in trace.add("good") }
            trace.add(
                "\(loop.add(bad)) \(loop.add(bad, to: "other")) \(loop.add(timer, to: .common)) \(loop.add(good))"
            )
            trace.add("\(loop.add(before, to: "other"))")
            loop.performWithoutWaking(label: "bad") { trace.add("block") }
            loop.perform(after: .zero, label: "bad") { trace.add("perform") }
            for source in [before, bad, good] { source.signal() }
            for _ in 0..<2 { loop.run(in: .default, for: .zero) }
            trace.add(loop.withheldItems.map { "\($0.label) \($0.modes.map(\.rawValue))" }.joined(separator: " "))
            trace.add("\(loop.withheldItems.map { $0.putBack() }) \(loop.withheldItems.isEmpty)")
            for _ in 0..<2 { loop.run(in: .default, for: .zero) }
            // Its label does not count any more.
            loop.remove(bad)
            trace.add("\(loop.add(bad))")
            return trace.entries
        }
        let expected = [
            "withheld withheld withheld added", "added", "block", "before", "good", "perform",
            #"bad ["default", "other"] worse ["common"]"#, "[true, true] true", "bad",
            "worse",
            "added",
        ]
        #expect(entries == expected)
    }

    @Test("A start after faults leaves out no socket and no message port, and names none as what could be left out")
    func sockets() throws {
        let (results, items) = try onNewThread { loop in
            loop.withhold(itemsLabelled: ["socket", "pipe", "timer", "messages"], sparingSockets: true)
            var ends: [CInt] = [-1, -1]
            #expect(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0)
            defer { for end in ends { close(end) } }
            let pipe = TestPipe()
            let port = try HostRunLoop.MessagePort(label: "messages") { _ in }
            let results = [
                try loop.add(
                    HostRunLoop.PortSource(label: "socket", descriptor: FileDescriptor(rawValue: ends[0])) { _, _ in },
                    to: .common
                ),
                try loop.add(pipe.portSource("pipe") { _ in }), loop.add(Timer(label: "timer", after: .zero) { _ in }),
                try loop.add(port),
            ]
            let items = Set(loop.itemsThatCanBeLeftOut.keys)
            // Who asks for it by hand has it.
            loop.withhold(itemsLabelled: ["other"])
            let other = HostRunLoop.PortSource(label: "other", descriptor: FileDescriptor(rawValue: ends[1])) { _, _ in
            }
            return (results + [try loop.add(other)], items)
        }
        #expect(results == [.added, .withheld, .withheld, .added, .withheld])
        #expect(items == ["pipe", "timer"])
    }

    @Test("The snapshot shows what is out of the loop")
    func snapshot() throws {
        let snapshot = try onNewThread { loop in
            let source = Source(label: "taken") { _ in }
            loop.add(source, to: "mode")
            loop.withdraw(item: source.identifier)
            loop.withhold(itemsLabelled: ["held"])
            loop.add(Source(label: "held") { _ in })
            return loop.snapshot()
        }
        let withdrawn = snapshot["withdrawn"]
        #expect(withdrawn.labels == ["taken", "held"])
        #expect(withdrawn.all.map { $0["withheld"].bool } == [false, true])
        #expect(withdrawn.all.allSatisfy { $0["valid"].bool == true && $0["kind"].string == "source" })
        #expect(withdrawn.all.map { $0["modes"].strings } == [["mode"], ["default"]])
        #expect(snapshot.json.contains(#""withdrawn":[{"kind":"source","label":"taken""#))
        #expect(snapshot.description.contains("withdrawn = ("))
    }

    @Test("At the end of the thread the withdrawals are over, and nothing is kept")
    func threadEnd() throws {
        let trace = Trace()
        let withdrawal = try onNewThread { loop in
            let witness = Witness { trace.add("released") }
            let source = Source(label: "s") { _ in _ = witness }
            loop.add(source)
            return loop.withdraw(item: source.identifier)
        }
        #expect(withdrawal?.isOver == true)
        #expect(withdrawal?.putBack() == false)
    }
}
