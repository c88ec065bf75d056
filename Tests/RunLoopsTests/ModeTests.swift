import RunLoops
import Testing

@Suite("Modes and common modes", .timeLimit(.minutes(10)))
struct ModeTests {
    @Test("Adding items and blocks makes modes; running, removing and asking do not")
    func creation() throws {
        let modes = try onNewThread { loop in
            let source = HostRunLoop.Source(label: "s") { _ in }
            loop.run(in: "run", for: .zero)
            loop.remove(source, from: "remove")
            _ = loop.contains(source, in: "contains")
            loop.addCommonMode("shared")
            loop.add(source, to: "source")
            loop.add(HostRunLoop.Observer(label: "o", activities: .all) { _, _ in }, to: "observer")
            loop.add(HostRunLoop.Timer(label: "t", after: .seconds(9)) { _ in }, to: "timer")
            loop.performWithoutWaking(in: "block") {}
            loop.performWithoutWaking(in: .common) {}
            return loop.allModes
        }
        #expect(modes == [.default, "source", "observer", "timer", "block"])
    }

    @Test("Every thread has its own loop, and always the same")
    func identity() throws {
        let first = try onNewThread { loop in (loop, loop === HostRunLoop.current, loop.isCurrent) }
        let second = try onNewThread { loop in loop }
        #expect(first.0 !== second)
        #expect(first.1 && first.2)
        #expect(!first.0.isCurrent)
        #expect(HostRunLoop.main === HostRunLoop.main)
    }

    @Test("A common item is in all common modes, also in those declared later")
    func commonModes() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let schedule: @Sendable (HostRunLoop, HostRunLoop.Mode) -> Void = { trace.add("+\($1)") }
            let cancel: @Sendable (HostRunLoop, HostRunLoop.Mode) -> Void = { trace.add("-\($1)") }
            let source = HostRunLoop.Source(label: "s", schedule: schedule, cancel: cancel) { _ in trace.add("s") }
            let timer = HostRunLoop.Timer(label: "t", after: .seconds(100)) { _ in }
            loop.add(source, to: .common)
            loop.add(timer, to: .common)
            loop.add(source, to: .common)
            loop.addCommonMode("second")
            loop.addCommonMode("second")
            trace.add("\(loop.contains(timer, in: "second")) \(loop.contains(timer, in: .common))")
            source.signal()
            loop.run(in: "second", for: .zero)
            loop.remove(source, from: "second")
            trace.add("\(loop.contains(source, in: .default)) \(loop.contains(source, in: .common))")
            loop.remove(source, from: .common)
            loop.remove(source, from: .common)
            return trace.entries
        }
        let standard = HostRunLoop.Mode.default
        #expect(entries == ["+\(standard)", "+second", "true true", "s", "-second", "true true", "-\(standard)"])
    }

    @Test(
        "Removing from the common modes takes out what was also added by itself; without being common it does nothing"
    )
    func removal() throws {
        let states = try onNewThread { loop in
            let source = HostRunLoop.Source(label: "s") { _ in }
            var states: [Bool] = []
            loop.add(source, to: .default)
            loop.remove(source, from: .common)
            states.append(loop.contains(source))
            loop.add(source, to: .common)
            loop.remove(source, from: .common)
            states.append(loop.contains(source))
            return states
        }
        #expect(states == [true, false])
    }

    @Test("A source can be in many loops, a timer and an observer in one at a time")
    func ownership() throws {
        let states = try onNewThread { loop in
            let timer = HostRunLoop.Timer(label: "t", after: .seconds(9)) { _ in }
            let observer = HostRunLoop.Observer(label: "o", activities: .all) { _, _ in }
            let source = HostRunLoop.Source(label: "s") { _ in }
            loop.add(timer)
            loop.add(observer)
            loop.add(source)
            return try onNewThread { other in
                other.add(timer)
                other.add(observer)
                other.add(source)
                other.add(timer, to: .common)
                let before = [
                    other.contains(timer), other.contains(observer), other.contains(timer, in: .common),
                    other.contains(source), loop.contains(source),
                ]
                loop.remove(timer)
                loop.remove(observer)
                other.add(timer)
                other.add(observer)
                return before + [other.contains(timer), other.contains(observer)]
            }
        }
        #expect(states == [false, false, false, true, true, true, true])
    }

    @Test("A loop is released with its thread, whatever is left in it")
    func release() throws {
        let loop = try onNewThread { loop in
            loop.addIdleSource()
            loop.addIdleSource(to: .common)
            loop.add(HostRunLoop.Timer(label: "t", after: .seconds(9)) { _ in }, to: .common)
            loop.add(HostRunLoop.Observer(label: "o", activities: .all) { _, _ in }, to: "other")
            loop.performWithoutWaking {}
            loop.run(in: .default, for: .zero)
            return WeakLoop(loop)
        }
        #expect(loop.value == nil)
    }

    @Test("Nothing can be added to the loop of a thread that has ended")
    func afterThreadExit() throws {
        let loop = try onNewThread { $0 }
        let source = HostRunLoop.Source(label: "s") { _ in }
        loop.add(source)
        loop.performWithoutWaking {}
        loop.wakeUp()
        loop.stop()
        #expect(!loop.contains(source))
        #expect(loop.isEmpty(.default))
    }

    @Test("At the end of the thread sources are cancelled, timers and observers stay valid, blocks are released unrun")
    func threadExit() throws {
        let trace = Trace()
        let (timer, observer, source) = try onNewThread { loop in
            let timer = HostRunLoop.Timer(label: "t", after: .seconds(9)) { _ in }
            let observer = HostRunLoop.Observer(label: "o", activities: .all) { _, _ in }
            let source = HostRunLoop.Source(
                label: "s",
                cancel: { loop, mode in trace.add("cancel \(mode) \(loop === HostRunLoop.current)") },
                perform: { _ in }
            )
            loop.add(timer)
            loop.add(observer)
            loop.add(source, to: "mode")
            loop.performWithoutWaking { trace.add("block") }
            return (timer, observer, source)
        }
        #expect(trace.entries == ["cancel mode true"])
        #expect(timer.isValid && observer.isValid && source.isValid)
        let states = try onNewThread { loop in
            loop.add(timer)
            loop.add(observer)
            return loop.contains(timer) && loop.contains(observer)
        }
        #expect(states)
    }

    @Test("Observers do not keep a mode from being empty, blocks do")
    func emptiness() throws {
        let states = try onNewThread { loop in
            var states = [loop.isEmpty(.default), loop.isEmpty("missing")]
            loop.add(HostRunLoop.Observer(label: "o", activities: .all) { _, _ in })
            states.append(loop.isEmpty(.default))
            loop.performWithoutWaking(in: .common) {}
            states.append(loop.isEmpty(.default))
            return states
        }
        #expect(states == [true, true, true, false])
    }
}

/// Refers to a loop without keeping it.
private final class WeakLoop: @unchecked Sendable {
    weak var value: HostRunLoop?

    init(_ value: HostRunLoop) {
        self.value = value
    }
}
