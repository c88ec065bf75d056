import Testing

@testable import RunLoops

/// What a nested run's callouts leave for the run around it: their own wake-up is dropped, and the outer run sleeps next.
@Suite("Performs out of nested runs", .timeLimit(.minutes(10)))
struct NestedPerformTests {
    @Test("What a timer of a nested run puts off to the outer mode runs before the outer run sleeps")
    func putOffByTimer() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.addIdleSource()
            loop.perform {
                loop.addTimerThatStops {
                    loop.perform(in: .default) {
                        trace.add("put off")
                        loop.stop()
                    }
                }
                trace.add("\(loop.run(in: "tracking", for: .seconds(10)))")
            }
            trace.add("\(loop.run(in: .default, for: .seconds(10)))")
            return trace.entries
        }
        #expect(entries == ["stopped", "put off", "stopped"])
    }

    @Test("It reaches a run that is further out than the next")
    func twoLevels() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.addIdleSource()
            loop.addIdleSource(to: "middle")
            loop.perform {
                loop.performWithoutWaking(in: "middle") {
                    loop.addTimerThatStops {
                        loop.perform(in: .default) {
                            trace.add("put off")
                            loop.stop()
                        }
                    }
                    trace.add("\(loop.run(in: "tracking", for: .seconds(10)))")
                }
                trace.add("\(loop.run(in: "middle", for: .milliseconds(5)))")
            }
            trace.add("\(loop.run(in: .default, for: .seconds(10)))")
            return trace.entries
        }
        #expect(entries == ["stopped", "timedOut", "put off", "stopped"])
    }

    @Test("A command that a nested run sends while the outer one is about to sleep is handled first")
    func command() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let commands = HostRunLoop.CommandSource<Int>(label: "c") { _, command in
                trace.add("command \(command)")
                loop.stop()
            }
            loop.add(commands)
            let observer = HostRunLoop.Observer(label: "o", activities: .beforeWaiting, repeats: false) { _, _ in
                loop.addTimerThatStops { commands.send(7) }
                trace.add("\(loop.run(in: "tracking", for: .seconds(10)))")
            }
            loop.add(observer)
            trace.add("\(loop.run(in: .default, for: .seconds(10)))")
            return trace.entries
        }
        #expect(entries == ["stopped", "command 7", "stopped"])
    }

    @Test("The token of a delayed perform that has run keeps no loop alive")
    func tokenAndLoop() throws {
        let token: HostRunLoop.Perform
        weak let loop: HostRunLoop?
        do {
            let thread = try HostRunLoop.LoopThread(name: "delayed")
            loop = thread.loop
            let hasRun = Latch()
            token = thread.loop.perform(after: .zero) { hasRun.open() }
            hasRun.wait()
            thread.stop()
            thread.join()
        }
        #expect(token.state == .done)
        #expect(loop == nil)
    }
}

extension HostRunLoop {
    /// Adds a timer to the mode "tracking" that does something and stops the run.
    fileprivate func addTimerThatStops(_ body: @escaping @Sendable () -> Void) {
        let timer = Timer(label: "t", fireAt: .now) { _ in
            body()
            HostRunLoop.current.stop()
        }
        add(timer, to: "tracking")
    }
}
