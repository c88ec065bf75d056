import Glibc
import LinuxSystem
import RecoveryTestSupport
import RunLoops
import Testing

/// What a loop writes down of its passes.
@Suite("Progress", .timeLimit(.minutes(10)))
struct ProgressTests {
    private typealias Progress = HostRunLoop.Progress

    @Test("A loop is idle, busy in its callouts, and waits; each is a number of its own")
    func states() throws {
        let thread = try HostRunLoop.LoopThread(name: "worker")
        let loop = thread.loop
        waitUntilAsleep(loop)
        let waiting = loop.progress.reading
        #expect(waiting.state == .waiting)
        let inside = try loop.performAndWait { (loop.progress.reading, loop.progress.thread, ThreadIdentity.id) }
        #expect(inside.0.state == .busy && inside.0.number > waiting.number)
        #expect(inside.1 == inside.2)
        waitUntilAsleep(loop)
        #expect(loop.progress.reading.number > inside.0.number)
        thread.stop()
        thread.join()
        #expect(loop.progress.reading.state == .idle)
    }

    @Test("A pass that polls is a look, and so is one of a nested run in any mode; an empty mode is none")
    func looks() throws {
        let thread = try HostRunLoop.LoopThread(name: "worker")
        let loop = thread.loop
        let mode = HostRunLoop.Mode("another")
        let numbers = try loop.performAndWait { () -> [UInt64] in
            var numbers = [loop.progress.reading.number]
            loop.run(in: mode, for: .zero)
            numbers.append(loop.progress.reading.number)
            loop.add(HostRunLoop.Source(label: "keep alive") { _ in }, to: mode)
            loop.run(in: mode, for: .zero)
            numbers.append(loop.progress.reading.number)
            return numbers
        }
        #expect(numbers[0] == numbers[1])
        #expect(numbers[1] < numbers[2])
        thread.stop()
        thread.join()
    }

    @Test("Each callout has words of its own, and so has what it runs; afterwards there is none")
    func callouts() throws {
        let thread = try HostRunLoop.LoopThread(name: "worker")
        let loop = thread.loop
        let first = try #require(try loop.performAndWait { loop.progress.callout })
        let words = try loop.performAndWait {
            let before = loop.progress.callout
            let same = loop.progress.callout
            let inner = try loop.performAndWait { loop.progress.callout }
            return [before, same, inner, loop.progress.callout].compactMap(\.self)
        }
        #expect(first.isInCallout && words.count == 4)
        #expect(words[0] == words[1] && words[0].isInCallout)
        #expect(words[2].isInCallout && words[2].callouts > words[1].callouts && words[2].item != words[1].item)
        #expect(words[3].callouts > words[2].callouts && words[3].item == words[1].item, "the outer one again")
        #expect(Set([first, words[0], words[2], words[3]]).count == 4)
        waitUntilAsleep(loop)
        #expect(loop.progress.callout?.item == 0 && loop.progress.callout?.isInCallout == false)
        thread.stop()
        thread.join()
    }

    @Test("A callout that was abandoned has ended, too")
    func abandonedCallout() throws {
        let thread = try HostRunLoop.LoopThread(name: "worker")
        let loop = thread.loop
        loop.perform { hf_test_abandon_callout() }
        let after = try #require(try loop.performAndWait { loop.progress.callout })
        waitUntilAsleep(loop)
        #expect(after.isInCallout)
        #expect(loop.progress.callout?.item == 0)
        thread.stop()
        thread.join()
    }

    @Test("A callout outside of runs is a busy period, whatever runs are nested in it")
    func preparation() throws {
        let trace = Trace()
        let thread = try HostRunLoop.LoopThread(name: "worker") { loop in
            let before = loop.progress.reading
            loop.run(in: .default, for: .zero)
            let after = loop.progress.reading
            trace.add("\(before.state) \(after.state) \(after.number > before.number)")
        }
        thread.stop()
        thread.join()
        #expect(trace.entries == ["busy busy true"])
    }

    @Test("The end of a busy period is noted on request, and of no other")
    func end() throws {
        let thread = try HostRunLoop.LoopThread(name: "worker")
        let loop = thread.loop
        let (reading, inside) = try loop.performAndWait { () -> (Progress.Reading, HostRunLoop.Instant) in
            let reading = loop.progress.reading
            loop.progress.timeEnd(of: reading)
            return (reading, .now)
        }
        waitUntilAsleep(loop)
        let end = try #require(loop.progress.end(of: reading))
        #expect(end >= inside && end <= .now)
        #expect(loop.progress.end(of: loop.progress.reading) == nil)
        // Too late.
        loop.progress.timeEnd(of: reading)
        _ = try loop.performAndWait { 1 }
        #expect(loop.progress.end(of: reading) == end)
        thread.stop()
        thread.join()
    }

    @Test("A watcher that sleeps is woken by a loop that wakes, and by hand")
    func bell() async {
        // A process has one watcher: tests of another target may have theirs in this one.
        await #expect(processExitsWith: .success) {
            let thread = try HostRunLoop.LoopThread(name: "worker")
            waitUntilAsleep(thread.loop)
            let loop = thread.loop
            loop.progress.startRinging()
            for _ in 0..<1000 {
                let before = loop.progress.reading
                let watcher = NewThread { _ in
                    while loop.progress.reading == before {
                        HostRunLoop.Progress.WatcherBell.sleep { loop.progress.reading != before }
                    }
                }
                loop.wakeUp()
                try watcher.join()
                waitUntilAsleep(loop)
            }
            // The time is a reason, too.
            let soon = HostRunLoop.Instant.now.nanoseconds + 1_000_000
            HostRunLoop.Progress.WatcherBell.sleep(before: soon) { false }
            thread.stop()
            thread.join()
        }
    }
}
