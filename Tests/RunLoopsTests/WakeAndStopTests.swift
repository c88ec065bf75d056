import RunLoops
import Testing

@Suite("Waking and stopping", .timeLimit(.minutes(10)))
struct WakeAndStopTests {
    @Test("A wake-up of a loop that does not run is dropped")
    func notRunning() throws {
        let (result, passes) = try onNewThread { loop in
            loop.addIdleSource()
            loop.wakeUp()
            return (loop.run(in: .default, for: .milliseconds(2)), loop.passCount)
        }
        #expect(result == .timedOut)
        #expect(passes == 1)
    }

    @Test(
        "A wake-up before the sleep makes one more pass, however many there are; one after it is dropped",
        arguments: [
            (HostRunLoop.Activity.beforeTimers, UInt64(3)), (.beforeSources, 3), (.beforeWaiting, 3),
            (.afterWaiting, 2),
        ]
    )
    func window(activity: HostRunLoop.Activity, expected: UInt64) throws {
        let thread = NewThread { loop in
            loop.addIdleSource()
            loop.add(
                HostRunLoop.Observer(label: "o", activities: activity, repeats: false) { _, _ in
                    loop.wakeUp()
                    loop.wakeUp()
                }
            )
            loop.run(in: .default, for: .seconds(50))
            return loop.passCount
        }
        let loop = thread.loop
        waitUntilAsleep(loop)
        let passes = loop.passCount
        // Gets it to the stage after the sleep.
        loop.wakeUp()
        while loop.passCount == passes {}
        waitUntilAsleep(loop)
        loop.stop()
        #expect(try thread.join() == expected)
    }

    @Test("Another thread wakes and stops a sleeping loop")
    func crossThread() throws {
        let thread = NewThread { loop in
            loop.addIdleSource()
            return (loop.run(in: .default, for: .seconds(50)), loop.passCount)
        }
        let loop = thread.loop
        waitUntilAsleep(loop)
        loop.wakeUp()
        while loop.passCount < 2 {}
        waitUntilAsleep(loop)
        loop.stop()
        let (result, passes) = try thread.join()
        #expect(result == .stopped)
        #expect(passes == 2)
    }

    @Test("Two stops from another thread end two nested runs, the inner one first")
    func nestedStops() throws {
        let trace = Trace()
        let thread = NewThread { loop in
            loop.addIdleSource()
            loop.addIdleSource(to: "inner")
            loop.performWithoutWaking {
                trace.add("inner \(loop.run(in: "inner", for: .seconds(50)))")
            }
            trace.add("outer \(loop.run(in: .default, for: .seconds(50)))")
        }
        let loop = thread.loop
        while loop.nesting < 2 {}
        waitUntilAsleep(loop)
        loop.stop()
        while loop.nesting > 1 {}
        waitUntilAsleep(loop)
        loop.stop()
        try thread.join()
        #expect(trace.entries == ["inner stopped", "outer stopped"])
    }

    @Test("A source that another thread signals before it wakes the loop is performed")
    func signalAndWake() throws {
        let trace = Trace()
        let source = HostRunLoop.Source(label: "s") { _ in trace.add("s") }
        let thread = NewThread { loop in
            loop.add(source)
            return loop.run(in: .default, for: .seconds(50), returnAfterSourceHandled: true)
        }
        waitUntilAsleep(thread.loop)
        source.signal()
        thread.loop.wakeUp()
        #expect(try thread.join() == .handledSource)
        #expect(trace.entries == ["s"])
    }

    @Test("No block is lost when several threads queue and wake at once")
    func noLostWake() throws {
        let count = Cell(0)
        let (threads, each) = (4, 2000)
        let thread = NewThread { loop in
            loop.addIdleSource()
            return loop.run(in: .default, for: .seconds(50))
        }
        let loop = thread.loop
        waitUntilAsleep(loop)
        let producers = (0..<threads).map { _ in
            NewThread { _ in
                for _ in 0..<each {
                    loop.performWithoutWaking {
                        count.value += 1
                        if count.value == threads * each { loop.stop() }
                    }
                    loop.wakeUp()
                }
            }
        }
        for producer in producers { try producer.join() }
        // The last wake-ups may have come while the loop ignored them, as CFRunLoop does: wake until it has stopped.
        while loop.nesting > 0 { loop.wakeUp() }
        #expect(try thread.join() == .stopped)
        #expect(count.value == threads * each)
    }

    @Test("Adding and invalidating from other threads while the loop runs keeps everything together")
    func concurrentItems() throws {
        let thread = NewThread { loop in
            loop.addIdleSource()
            return loop.run(in: .default, for: .seconds(50))
        }
        let loop = thread.loop
        waitUntilAsleep(loop)
        let workers = (0..<3).map { worker in
            NewThread { _ in
                for round in 0..<500 {
                    let timer = HostRunLoop.Timer(label: "t", after: .microseconds(round % 7)) { _ in }
                    let source = HostRunLoop.Source(label: "s") { _ in }
                    let observer = HostRunLoop.Observer(label: "o", activities: .all, repeats: false) { _, _ in }
                    loop.add(timer, to: worker == 0 ? .common : .default)
                    loop.add(source)
                    loop.add(observer)
                    source.signal()
                    loop.wakeUp()
                    timer.nextFireDate = .now.advanced(by: .microseconds(3))
                    timer.invalidate()
                    source.invalidate()
                    observer.invalidate()
                }
            }
        }
        for worker in workers { try worker.join() }
        while loop.nesting > 0 { loop.stop() }
        #expect(try thread.join() == .stopped)
        #expect(loop.nextTimerFireDate(in: .default) == nil)
    }
}
