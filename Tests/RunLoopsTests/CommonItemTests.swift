import SystemPackage
import Testing

@testable import RunLoops

/// Items of the common modes that are in none of them, and the order in which items are told.
@Suite("Common items", .timeLimit(.minutes(10)))
struct CommonItemTests {
    private typealias Timer = HostRunLoop.Timer
    private typealias Observer = HostRunLoop.Observer

    @Test("A common timer that was taken out of its last mode can be added to another loop, and fires there")
    func toAnotherLoop() throws {
        let trace = Trace()
        let other = try HostRunLoop.LoopThread(name: "other")
        try onNewThread { loop in
            loop.addIdleSource()
            let timer = Timer(label: "t", after: .zero) { _ in trace.add("fired \(HostRunLoop.current === other.loop)")
            }
            #expect(loop.add(timer, to: .common) == .added)
            loop.remove(timer, from: .default)
            #expect(try other.loop.performAndWait { other.loop.add(timer, to: "kept") } == .added)
            // Debug builds look for contradictions after each pass.
            loop.run(in: .default, for: .zero)
            // It is of another loop now: a mode that becomes common does not get it.
            loop.addIdleSource(to: "late")
            loop.addCommonMode("late")
            loop.run(in: "late", for: .zero)
            #expect(!loop.contains(timer, in: "late"))
            #expect(trace.entries == [])
            try other.loop.performAndWait { _ = other.loop.run(in: "kept", for: .zero) }
            loop.run(in: .default, for: .zero)
            #expect(loop.invariantViolations() == [])
        }
        #expect(trace.entries == ["fired true"])
        other.stop()
    }

    @Test("A mode that becomes common says which ports it does not take")
    func refusedByMode() throws {
        try onNewThread { loop in
            let pipe = TestPipe()
            let common = HostRunLoop.PortSource(label: "common", descriptor: FileDescriptor(rawValue: pipe.readEnd)) {
                _,
                _ in
            }
            let own = HostRunLoop.PortSource(label: "own", descriptor: FileDescriptor(rawValue: pipe.readEnd)) { _, _ in
            }
            let timer = Timer(label: "t", after: .seconds(100)) { _ in }
            try loop.add(common, to: .common)
            loop.add(timer, to: .common)
            try loop.add(own, to: "late")
            let refused = loop.addCommonMode("late")
            #expect(refused.count == 1 && refused.first === common)
            #expect(loop.contains(timer, in: "late") && loop.contains(common, in: .default))
            #expect(loop.addCommonMode("later").isEmpty)
            // Of a port that is given as an item, the refusal is said and not thrown.
            let error = RunLoopError(code: .descriptorInUse, underlyingError: .fileExists)
            #expect(loop.add(common as HostRunLoop.Item, to: "late") == .refused(error))
        }
    }

    @Test("What is invalidated is not kept among the common items of a loop whose modes it had left")
    func released() throws {
        let other = try HostRunLoop.LoopThread(name: "other")
        let states = try onNewThread { loop in
            var states: [Bool] = []
            let timer = Timer(label: "t", after: .seconds(1000)) { _ in }
            let observer = Observer(label: "o", activities: .entry) { _, _ in }
            let source = HostRunLoop.Source(label: "s") { _ in }
            loop.add(timer, to: .common)
            loop.add(observer, to: .common)
            loop.add(source, to: .common)
            other.loop.add(source, to: .common)
            loop.remove(timer)
            loop.remove(observer)
            loop.remove(source)
            other.loop.remove(source)
            // As in CFRunLoop, until here.
            states += [loop.contains(timer, in: .common), loop.contains(observer, in: .common)]
            states += [loop.contains(source, in: .common), other.loop.contains(source, in: .common)]
            _ = try other.loop.performAndWait { other.loop.add(timer) }
            timer.invalidate()
            observer.invalidate()
            source.invalidate()
            states += [loop.contains(timer, in: .common), loop.contains(observer, in: .common)]
            states += [loop.contains(source, in: .common), other.loop.contains(source, in: .common)]
            return states
        }
        #expect(states == [true, true, true, true, false, false, false, false])
        other.stop()
    }

    @Test("A source is told of the common modes in the order in which they were declared, also at the thread's end")
    func order() throws {
        let names = (0..<12).map { "mode \($0)" }
        let trace = Trace()
        let source = HostRunLoop.Source(
            label: "s",
            schedule: { trace.add("schedule \($1)") },
            cancel: { trace.add("cancel \($1)") },
            perform: { _ in }
        )
        try onNewThread { loop in
            for name in names { loop.addCommonMode(.init(rawValue: name)) }
            loop.add(source, to: .common)
            loop.remove(source, from: .common)
            loop.add(source, to: .common)
        }
        let modes = [HostRunLoop.Mode.default.rawValue] + names
        let added = modes.map { "schedule \($0)" }
        let removed = modes.map { "cancel \($0)" }
        #expect(trace.entries == added + removed + added + removed)
    }

    @Test("So it is told when it is withdrawn and put back")
    func orderOfWithdrawal() throws {
        let names = (10..<22).map { "mode \($0)" }
        let trace = Trace()
        try onNewThread { loop in
            let source = HostRunLoop.Source(
                label: "s",
                schedule: { trace.add("schedule \($1)") },
                cancel: { trace.add("cancel \($1)") },
                perform: { _ in }
            )
            for name in names { loop.add(source, to: .init(rawValue: name)) }
            _ = trace.take()
            let withdrawal = try #require(loop.withdraw(item: source.identifier))
            #expect(trace.take() == names.map { "cancel \($0)" })
            withdrawal.putBack()
            #expect(trace.take() == names.map { "schedule \($0)" })
        }
    }
}
