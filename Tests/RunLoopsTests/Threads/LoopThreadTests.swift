import Glibc
import RecoveryTestSupport
import RunLoops
import SystemPackage
import Testing

@Suite("Threads with a loop", .serialized, .timeLimit(.minutes(10)))
struct LoopThreadTests {
    private typealias LoopThread = HostRunLoop.LoopThread

    @Test("It has its loop and its name as soon as it is made, and runs the preparation first")
    func start() throws {
        let trace = Trace()
        let thread = try LoopThread(name: "a name of more than 15 bytes", stackSize: 100_000) { loop in
            trace.add("prepared \(loop.isCurrent) \(loop.nesting)")
        }
        let loop = thread.loop
        let seen = try loop.performAndWait {
            trace.add("performed")
            return (loop.isCurrent, threadName())
        }
        #expect(seen == (true, "a name of more "))
        #expect(trace.entries == ["prepared true 0", "performed"])
        #expect(thread.name == "a name of more than 15 bytes")
        let other = try LoopThread(name: "zwölf Zeichenä")
        #expect(try other.loop.performAndWait { threadName() } == "zwölf Zeichen")
        other.stop()
    }

    @Test("A fault in the preparation is abandoned, and the thread goes on")
    func faultInPreparation() throws {
        let labels = Trace()
        let thread = try LoopThread(name: "worker") { loop in
            loop.setAbandonHandler { labels.add($0.label) }
            hf_test_abandon_callout()
        }
        #expect(try thread.loop.performAndWait { 1 } == 1)
        #expect(labels.entries == ["worker"])
    }

    @Test("Stopped, it ends, and says so to everybody who joins, again and again")
    func stop() throws {
        let thread = try LoopThread(name: "worker")
        waitUntilAsleep(thread.loop)
        #expect(thread.join(within: .zero) == nil)
        #expect(thread.join(within: .milliseconds(1)) == nil)
        #expect(!thread.isFinished)
        let joiners = (0..<3).map { _ in NewThread { _ in thread.join() } }
        thread.stop()
        thread.stop()
        for joiner in joiners { #expect(try joiner.join() == .stopped) }
        thread.stop()
        #expect(thread.join() == .stopped && thread.isFinished)
        #expect(thread.join(within: .zero) == .stopped)
    }

    @Test("A stop that comes before the loop runs is not lost")
    func earlyStop() throws {
        for _ in 0..<200 {
            let thread = try LoopThread(name: "worker")
            thread.stop()
            #expect(thread.join() == .stopped)
        }
        let trace = Trace()
        let mayGoOn = Cell(false)
        let thread = try LoopThread(name: "worker") { loop in
            while !mayGoOn.value { sched_yield() }
            loop.performWithoutWaking { trace.add("never") }
        }
        thread.stop()
        mayGoOn.value = true
        #expect(thread.join() == .stopped)
        #expect(trace.entries == [])
    }

    @Test("A stop at any moment of a busy loop is not lost")
    func stopWhileBusy() throws {
        for round in 0..<300 {
            let thread = try LoopThread(name: "worker")
            let loop = thread.loop
            let poster = NewThread { _ in
                for _ in 0..<(round % 40) { loop.perform {} }
                thread.stop()
            }
            try poster.join()
            #expect(thread.join(within: .seconds(50)) == .stopped)
        }
    }

    @Test("A stop ends all nested runs, each after its present pass, whatever they are nested in")
    func stopNested() throws {
        let trace = Trace()
        let thread = try LoopThread(name: "worker")
        let loop = thread.loop
        for mode in ["block", "source", "timer"] as [HostRunLoop.Mode] { loop.addIdleSource(to: mode) }
        // A source, in a block: each sleeps.
        let source = HostRunLoop.Source(label: "source") { _ in
            trace.add("source: \(loop.run(in: "timer", for: .seconds(50)))")
        }
        loop.add(source, to: "source")
        loop.add(
            HostRunLoop.Timer(label: "timer", fireAt: .now) { _ in
                trace.add("timer: \(loop.run(in: "block", for: .seconds(50)))")
            },
            to: "timer"
        )
        source.signal()
        loop.perform {
            trace.add("perform: \(loop.run(in: "source", for: .seconds(50)))")
            loop.addIdleSource(to: "late")
            trace.add("late: \(loop.run(in: "late", for: .seconds(50)))")
        }
        while loop.currentMode != "block" || !loop.isWaiting { sched_yield() }
        #expect(loop.nesting == 4)
        thread.stop()
        #expect(thread.join(within: .seconds(30)) == .stopped)
        #expect(trace.entries == ["timer: stopped", "source: stopped", "perform: stopped", "late: stopped"])
    }

    @Test("It can be stopped by its own callout")
    func stopItself() throws {
        let trace = Trace()
        let thread = try LoopThread(name: "worker")
        thread.loop.perform {
            thread.stop()
            trace.add("stopped")
        }
        #expect(thread.join() == .stopped)
        #expect(trace.entries == ["stopped"])
    }

    @Test("A stop of the loop ends only the run: the thread begins another one")
    func stopOfLoop() throws {
        let thread = try LoopThread(name: "worker")
        let loop = thread.loop
        _ = try loop.performAndWait { loop.stop() }
        #expect(try loop.performAndWait { 1 } == 1)
        #expect(!thread.isFinished)
    }

    @Test("At its deadline it ends by itself")
    func deadline() throws {
        let begin = HostRunLoop.Instant.now
        let thread = try LoopThread(name: "worker", until: begin.advanced(by: .milliseconds(20)))
        #expect(thread.join() == .timedOut)
        #expect(begin.duration(to: .now) >= .milliseconds(20))
        #expect(try LoopThread(name: "late", until: begin).join() == .timedOut)
    }

    @Test("At its end sources are told, and performs are released unrun")
    func takeDown() throws {
        let trace = Trace()
        let thread = try LoopThread(name: "worker") { loop in
            let source = HostRunLoop.Source(
                label: "source",
                cancel: { loop, mode in trace.add("cancelled in \(mode), \(loop.isCurrent)") },
                perform: { _ in }
            )
            loop.add(source, to: "x")
            loop.perform(in: "x", target: Target { trace.add("released") }) { trace.add("ran") }
        }
        thread.stop()
        thread.join()
        #expect(trace.entries.sorted() == ["cancelled in x, true", "released"])
    }

    @Test("Without its last reference it stops by itself, also when that goes on its own thread")
    func lastReference() throws {
        for isOwn in [false, true] {
            let ended = Cell(false)
            let kept = Cell<LoopThread?>(try LoopThread(name: "worker"))
            let loop = try #require(kept.value?.loop)
            let source = HostRunLoop.Source(label: "source", cancel: { _, _ in ended.value = true }, perform: { _ in })
            loop.add(source)
            if isOwn {
                loop.perform { kept.value = nil }
            } else {
                kept.value = nil
            }
            while !ended.value { sched_yield() }
        }
    }

    @Test("Where there is no room for a thread, the error says so")
    func noRoom() {
        #expect(throws: Errno.resourceTemporarilyUnavailable) {
            try LoopThread(name: "huge", stackSize: 1 << 46)
        }
    }

    @Test("A thread that joins itself ends the process with a message")
    func joinItself() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let thread = try HostRunLoop.LoopThread(name: "worker")
            thread.loop.perform { thread.join() }
            thread.join()
        }
        let message = result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) } ?? ""
        #expect(message.contains("cannot join itself"))
    }

    @Test("With nothing to do it is not woken once")
    func idle() throws {
        let thread = try LoopThread(name: "idle")
        let loop = thread.loop
        let folder = try loop.performAndWait { threadFolder() }
        waitUntilAsleep(loop)
        // It says that it sleeps a moment before it does: give that moment to another thread's work.
        for _ in 0..<5 { try busyWork() }
        let (switches, passes) = (voluntarySwitches(of: folder), loop.passCount)
        #expect(switches > 0)
        for _ in 0..<20 { try busyWork() }
        #expect(voluntarySwitches(of: folder) == switches)
        #expect(loop.passCount == passes && loop.isWaiting)
        // What counts can count.
        _ = try loop.performAndWait {}
        while voluntarySwitches(of: folder) == switches { try busyWork() }
    }

    /// Lets another thread's loop make a few thousand round trips.
    private func busyWork() throws {
        let thread = try LoopThread(name: "busy")
        for _ in 0..<500 { _ = try thread.loop.performAndWait {} }
    }

    /// In a process of its own: other tests open descriptors, and start threads.
    @Test("A thousand threads leave neither a descriptor nor a thread behind")
    func leaks() async {
        await #expect(processExitsWith: .success) {
            func cycle() throws {
                let thread = try HostRunLoop.LoopThread(name: "worker")
                thread.loop.perform {}
                thread.stop()
                thread.join()
            }
            try cycle()
            let descriptors = names(in: "/proc/self/fd").count
            let threads = names(in: "/proc/self/task").count
            for _ in 0..<1000 { try cycle() }
            // What grows with the number of cycles is a leak; the process may start a thread or two of its own.
            #expect(names(in: "/proc/self/fd").count < descriptors + 20)
            #expect(names(in: "/proc/self/task").count < threads + 20)
        }
    }
}
