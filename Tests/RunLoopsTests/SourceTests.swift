import RunLoops
import Testing

@Suite("Sources", .timeLimit(.minutes(10)))
struct SourceTests {
    typealias Source = HostRunLoop.Source

    @Test("Signalled sources go by order, then by the time of the first signal")
    func order() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let first = Source(label: "a", order: 2) { _ in trace.add("a") }
            let second = Source(label: "b", order: 1) { _ in trace.add("b") }
            let third = Source(label: "c", order: 1) { _ in trace.add("c") }
            for source in [first, second, third] { loop.add(source) }
            third.signal()
            second.signal()
            first.signal()
            third.signal()
            loop.run(in: .default, for: .zero)
            return trace.entries
        }
        #expect(entries == ["c", "b", "a"])
    }

    @Test("Of many sources those that are signalled are performed, in the order of their signals, and no others")
    func many() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let sources = (0..<300).map { index in Source(label: "s") { _ in trace.add("\(index)") } }
            for source in sources { loop.add(source) }
            // A pass looks at every 64th together.
            for index in [130, 66, 2, 299, 64] { sources[index].signal() }
            loop.run(in: .default, for: .zero)
            trace.add("next")
            // One that has another one's place, and was signalled before it was there.
            loop.remove(sources[130])
            let late = Source(label: "late") { _ in trace.add("late") }
            late.signal()
            loop.add(late)
            loop.run(in: .default, for: .zero)
            trace.add("one each")
            for index in [258, 194] { sources[index].signal() }
            for _ in 0..<2 { loop.run(in: .default, for: .zero, returnAfterSourceHandled: true) }
            return trace.entries
        }
        #expect(entries == ["130", "66", "2", "299", "64", "next", "late", "one each", "258", "194"])
    }

    @Test("A run that is to end after a source performs one; the rest stay signalled")
    func stopAfterFirst() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let sources = (0..<2).map { index in Source(label: "s", order: index) { _ in trace.add("\(index)") } }
            for source in sources {
                loop.add(source)
                source.signal()
            }
            loop.run(in: .default, for: .zero, returnAfterSourceHandled: true)
            trace.add("\(sources[1].isSignalled)")
            loop.run(in: .default, for: .zero, returnAfterSourceHandled: true)
            return trace.entries
        }
        #expect(entries == ["0", "true", "1"])
    }

    @Test("In a batch, a source that is removed still performs, one that is invalidated does not")
    func removalInBatch() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let removed = Source(label: "removed", order: 1) { _ in trace.add("removed") }
            let invalidated = Source(label: "invalidated", order: 2) { _ in trace.add("invalidated") }
            let cell = Cell<Source?>(nil)
            let first = Source(label: "first") { _ in
                loop.remove(removed)
                invalidated.invalidate()
                cell.value?.invalidate()
            }
            cell.value = first
            for source in [first, removed, invalidated] {
                loop.add(source)
                source.signal()
            }
            loop.traceStages(trace)
            trace.add("\(loop.run(in: .default, for: .seconds(10)))")
            return trace.entries
        }
        // CFRunLoop would sleep: its result is that of the last source of the batch. Here any of them counts.
        #expect(entries == ["entry", "timers?", "sources?", "removed", "exit", "finished"])
    }

    @Test("A nested run performs the rest of the batch, once")
    func nestedBatch() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let second = Source(label: "second", order: 1) { _ in trace.add("second") }
            let first = Source(label: "first") { _ in
                trace.add("first")
                loop.run(in: .default, for: .zero)
                trace.add("back")
            }
            for source in [first, second] {
                loop.add(source)
                source.signal()
            }
            loop.run(in: .default, for: .zero)
            return trace.entries
        }
        #expect(entries == ["first", "second", "back"])
    }

    @Test("Signals are one until performed, and one is performed per pass")
    func coalescing() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let cell = Cell<Source?>(nil)
            let source = Source(label: "s") { _ in
                trace.add("s")
                cell.value?.signal()
            }
            cell.value = source
            loop.add(source)
            source.signal()
            source.signal()
            loop.run(in: .default, for: .zero)
            trace.add("\(source.isSignalled)")
            loop.run(in: .default, for: .zero)
            cell.value = nil
            return trace.entries
        }
        #expect(entries == ["s", "true", "s"])
    }

    @Test("A signal from a sources observer counts in the same pass; one before the sleep needs a wake-up")
    func signalFromObservers() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let source = Source(label: "s") { _ in trace.add("s") }
            loop.add(source)
            let observer = HostRunLoop.Observer(label: "o", activities: .beforeSources, repeats: false) { _, _ in
                source.signal()
            }
            loop.add(observer)
            loop.run(in: .default, for: .zero)
            let late = HostRunLoop.Observer(label: "o", activities: .beforeWaiting, repeats: false) { _, _ in
                source.signal()
            }
            loop.add(late)
            trace.add("\(loop.run(in: .default, for: .milliseconds(2)))")
            trace.add("\(loop.run(in: .default, for: .zero))")
            let waking = HostRunLoop.Observer(label: "o", activities: .beforeWaiting, repeats: false) { _, _ in
                source.signal()
                loop.wakeUp()
            }
            loop.add(waking)
            trace.add("\(loop.run(in: .default, for: .seconds(10), returnAfterSourceHandled: true))")
            return trace.entries
        }
        #expect(entries == ["s", "timedOut", "s", "timedOut", "s", "handledSource"])
    }

    @Test("An invalid source is neither added nor signalled, and invalidating cancels in every loop")
    func invalidation() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let source = Source(label: "s", cancel: { _, mode in trace.add("cancel \(mode)") }) { _ in trace.add("s") }
            loop.add(source, to: "a")
            loop.add(source, to: "a")
            loop.add(source, to: "b")
            source.signal()
            source.invalidate()
            source.invalidate()
            source.signal()
            loop.add(source, to: "c")
            trace.add("\(source.isSignalled) \(source.isValid) \(loop.allModes.contains("c"))")
            return trace.entries
        }
        #expect(Set(entries.prefix(2)) == ["cancel a", "cancel b"])
        #expect(entries.dropFirst(2) == ["false false false"])
    }

    @Test("A source that was signalled before it was added performs in the first pass")
    func signalledBefore() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let source = Source(label: "s") { _ in trace.add("s") }
            source.signal()
            loop.add(source)
            loop.run(in: .default, for: .zero)
            return trace.entries
        }
        #expect(entries == ["s"])
    }
}
