import Testing

@testable import RunLoops

/// What swift-corelibs-foundation's TestNotificationQueue shows of a loop: work that is done as soon as possible, or when the
/// loop is idle, by observers.
private final class PostingQueue: Sendable {
    /// When something is delivered.
    enum Style: CaseIterable, Sendable {
        /// In the next pass of a run.
        case asSoonAsPossible
        /// When the loop has nothing else to do.
        case whenIdle

        var activity: HostRunLoop.Activity {
            switch self {
            case .asSoonAsPossible: .beforeTimers
            case .whenIdle: .beforeWaiting
            }
        }
    }

    private let waiting = Cell<[(style: Style, mode: HostRunLoop.Mode, name: String)]>([])
    private let observers: [HostRunLoop.Observer]

    init(on loop: HostRunLoop, _ trace: Trace) {
        observers = Style.allCases.map { [waiting] style in
            let observer = HostRunLoop.Observer(label: "posting", activities: style.activity) { _, _ in
                let due = waiting.value.filter { $0.style == style && $0.mode == loop.currentMode }
                waiting.value.removeAll { $0.style == style && $0.mode == loop.currentMode }
                for notification in due { trace.add(notification.name) }
            }
            loop.add(observer, to: .common)
            return observer
        }
    }

    deinit {
        for observer in observers { observer.invalidate() }
    }

    /// Posts a notification; one of the same name and mode that waits is replaced.
    func post(_ name: String, _ style: Style, in mode: HostRunLoop.Mode = .default) {
        waiting.value.removeAll { $0.name == name && $0.mode == mode }
        waiting.value.append((style, mode, name))
    }
}

@Suite("Ported from corelibs: notifications by observers")
struct CorelibsNotificationQueueTests {
    @Test("What is to be delivered as soon as possible is delivered by the next run, once, and not before")
    func asSoonAsPossible() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let queue = PostingQueue(on: loop, trace)
            loop.addIdleSource()
            queue.post("a", .asSoonAsPossible)
            queue.post("b", .asSoonAsPossible)
            queue.post("a", .asSoonAsPossible)
            trace.add("posted")
            for _ in 0..<2 { loop.run(in: .default, for: .zero) }
            return trace.entries
        }
        #expect(entries == ["posted", "b", "a"])
    }

    @Test("It waits for the mode that it was posted for")
    func otherMode() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let queue = PostingQueue(on: loop, trace)
            loop.addCommonMode("other")
            for mode in [.default, "other"] as [HostRunLoop.Mode] { loop.addIdleSource(to: mode) }
            queue.post("for other", .asSoonAsPossible, in: "other")
            loop.run(in: .default, for: .zero)
            trace.add("default has run")
            loop.run(in: "other", for: .zero)
            return trace.entries
        }
        #expect(entries == ["default has run", "for other"])
    }

    @Test("What waits for idleness is delivered when the loop is about to sleep, after all other work")
    func whenIdle() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let queue = PostingQueue(on: loop, trace)
            queue.post("idle", .whenIdle)
            let rounds = Cell(0)
            let busy = Cell<HostRunLoop.Source?>(nil)
            busy.value = HostRunLoop.Source(label: "busy") { _ in
                rounds.value += 1
                trace.add("busy \(rounds.value)")
                // Passes that only poll are not idle.
                if rounds.value < 3 { busy.value?.signal() }
            }
            let source = try #require(busy.value)
            loop.add(source)
            source.signal()
            // Behind the queue's own: there is one sleep.
            let end = HostRunLoop.Observer(label: "end", activities: .beforeWaiting, order: 1) { _, _ in
                loop.stop()
            }
            loop.add(end)
            loop.run(in: .default, for: .seconds(60))
            source.invalidate()
            busy.value = nil
            return trace.entries
        }
        #expect(entries == ["busy 1", "busy 2", "busy 3", "idle"])
    }

    @Test("A queue that is gone delivers nothing, and leaves no observer behind")
    func lifecycle() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.addIdleSource()
            var queue: PostingQueue? = PostingQueue(on: loop, trace)
            queue?.post("a", .asSoonAsPossible)
            queue = nil
            loop.run(in: .default, for: .zero)
            trace.add("\(loop.snapshot()["modes"].all.allSatisfy { $0["observers"].all.isEmpty })")
            return trace.entries
        }
        #expect(entries == ["true"])
    }
}
