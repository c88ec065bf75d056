import RunLoops
import Testing

@Suite("Observers", .timeLimit(.minutes(10)))
struct ObserverTests {
    typealias Observer = HostRunLoop.Observer

    @Test("Observers go by order, equal orders by the time of adding")
    func order() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.addIdleSource()
            for (label, order) in [("a", 1), ("b", 0), ("c", 1), ("d", 0)] {
                loop.add(
                    Observer(label: label, activities: .entry, order: order) { observer, _ in
                        trace.add(observer.label)
                    }
                )
            }
            loop.run(in: .default, for: .zero)
            return trace.entries
        }
        #expect(entries == ["b", "d", "a", "c"])
    }

    @Test("Of a stage's observers, one that is removed is still called, an invalidated one is not, an added one waits")
    func snapshot() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.addIdleSource()
            let tracing: @Sendable (Observer, HostRunLoop.Activity) -> Void = { observer, _ in
                trace.add(observer.label)
            }
            let removed = Observer(label: "removed", activities: .beforeTimers, order: 1, perform: tracing)
            let invalidated = Observer(label: "invalidated", activities: .beforeTimers, order: 1, perform: tracing)
            let added = Observer(label: "added", activities: .beforeTimers, order: 1, perform: tracing)
            loop.add(
                Observer(label: "first", activities: .beforeTimers) { _, _ in
                    loop.remove(removed)
                    invalidated.invalidate()
                    loop.add(added)
                }
            )
            loop.add(removed)
            loop.add(invalidated)
            loop.run(in: .default, for: .zero)
            trace.add("-")
            loop.run(in: .default, for: .zero)
            return trace.entries
        }
        #expect(entries == ["removed", "-", "added"])
    }

    @Test("One that does not repeat is invalid after its first call")
    func once() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.addIdleSource()
            let observer = Observer(label: "once", activities: .all, repeats: false) { observer, activity in
                trace.add("\(activity.token) \(observer.isValid)")
            }
            loop.add(observer, to: .common)
            loop.run(in: .default, for: .zero)
            loop.add(observer)
            trace.add("\(observer.isValid) \(loop.contains(observer)) \(loop.contains(observer, in: .common))")
            return trace.entries
        }
        #expect(entries == ["entry true", "false false false"])
    }

    @Test("A run that is nested in an observer's callout does not call it again")
    func nested() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.addIdleSource()
            loop.add(
                Observer(label: "o", activities: .beforeTimers) { _, _ in
                    trace.add("outer")
                    loop.run(in: .default, for: .zero)
                }
            )
            loop.add(Observer(label: "p", activities: .beforeTimers) { _, _ in trace.add("p") })
            loop.run(in: .default, for: .zero)
            loop.run(in: .default, for: .zero)
            return trace.entries
        }
        #expect(entries == ["outer", "p", "p", "outer", "p", "p"])
    }

    @Test("The loop is waiting only between the two observers of the sleep")
    func waiting() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.addIdleSource()
            loop.add(
                Observer(label: "o", activities: [.beforeWaiting, .afterWaiting]) { _, activity in
                    trace.add("\(activity.token) \(loop.isWaiting)")
                }
            )
            loop.run(in: .default, for: .milliseconds(1))
            return trace.entries
        }
        #expect(entries == ["sleep false", "woke false"])
    }
}
