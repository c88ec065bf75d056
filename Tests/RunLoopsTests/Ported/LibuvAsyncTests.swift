import Glibc
import RunLoops
import Synchronization
import Testing

/// What libuv asserts of wake-ups from other threads (test-async*.c, test-threadpool*.c).
///
/// Elsewhere: that wake-ups are one until they are served, and what one does to a loop with nothing to do (`async_null_cb`), in
/// `WakeAndStopTests`.
@Suite("libuv's tests: other threads", .timeLimit(.minutes(10)))
struct LibuvAsyncTests {
    @Test(
        "async: another thread signals again and again; each signal is followed by a perform, never more performs than signals"
    )
    func async() throws {
        let sent = Atomic<Int>(0)
        let seen = Atomic<Int>(0)
        let performs = Cell(0)
        let source = HostRunLoop.Source(label: "s") { _ in
            seen.store(sent.load(ordering: .sequentiallyConsistent), ordering: .sequentiallyConsistent)
            performs.value += 1
        }
        let thread = NewThread { loop in
            loop.add(source)
            return loop.run(in: .default, for: .seconds(50))
        }
        let loop = thread.loop
        waitUntilAsleep(loop)
        for number in 1...1000 {
            sent.store(number, ordering: .sequentiallyConsistent)
            source.signal()
            loop.wakeUp()
            // Now and then it catches up: a signal that was lost would keep this waiting.
            while number % 10 == 0, seen.load(ordering: .sequentiallyConsistent) < number { sched_yield() }
        }
        source.invalidate()
        // One that comes between the end of a pass and the begin of the next is dropped.
        while loop.nesting > 0 { loop.wakeUp() }
        #expect(try thread.join() == .finished)
        #expect((100...1000).contains(performs.value))
    }

    @Test(
        "threadpool_multiple_event_loops: several threads give several loops work, and each does its own on its thread"
    )
    func multipleLoops() throws {
        let (loopCount, threadCount, each) = (3, 4, 300)
        let misplaced = Atomic<Int>(0)
        let counts = (0..<loopCount).map { _ in Cell(0) }
        let runners = counts.map { count in
            let runner = NewThread { loop in
                loop.addIdleSource()
                while count.value < threadCount * each {
                    loop.run(in: .default, for: .seconds(50))
                }
            }
            waitUntilAsleep(runner.loop)
            return runner
        }
        let loops = runners.map(\.loop)
        let workers = (0..<threadCount).map { _ in
            NewThread { _ in
                for number in 0..<(each * loopCount) {
                    let (loop, count) = (loops[number % loopCount], counts[number % loopCount])
                    loop.performWithoutWaking {
                        if !loop.isCurrent { misplaced.add(1, ordering: .relaxed) }
                        count.value += 1
                        if count.value == threadCount * each { loop.stop() }
                    }
                    loop.wakeUp()
                }
            }
        }
        for worker in workers { try worker.join() }
        for runner in runners { try runner.join() }
        #expect(counts.map(\.value) == Array(repeating: threadCount * each, count: loopCount))
        #expect(misplaced.load(ordering: .relaxed) == 0)
    }

    @Test("A wake-up that another thread sends while a nested run ends is for the run around it")
    func wakeUpAtTheEndOfANestedRun() throws {
        let trace = Trace()
        let thread = NewThread { loop in
            loop.addIdleSource()
            loop.addIdleSource(to: "inner")
            loop.add(
                HostRunLoop.Observer(label: "o", activities: .exit) { _, _ in
                    // The nested run serves nothing any more.
                    try? onNewThread { _ in
                        loop.performWithoutWaking {
                            trace.add("block")
                            loop.stop()
                        }
                        loop.wakeUp()
                    }
                },
                to: "inner"
            )
            loop.performWithoutWaking { loop.run(in: "inner", for: .zero) }
            return loop.run(in: .default, for: .seconds(20))
        }
        #expect(try thread.join() == .stopped)
        #expect(trace.entries == ["block"])
    }
}
