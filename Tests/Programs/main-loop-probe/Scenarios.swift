import Dispatch
import Glibc
import RunLoops
import SystemPackage

extension Scenario {
    private var loop: HostRunLoop { .main }

    /// Runs the scenario on the main thread.
    @MainActor
    func play() {
        switch self {
        case .neverEmpty: neverEmpty()
        case .dispatchBlocks: dispatchBlocks()
        case .mainActor: mainActor()
        case .commonModesOnly: commonModesOnly()
        case .handledSource: handledSource()
        case .insideMainQueue: insideMainQueue()
        case .insideTimer: insideTimer()
        case .insideBoth: insideBoth()
        case .staleReadiness: staleReadiness()
        case .dispatchTimer: dispatchTimer()
        case .whileAsleep: whileAsleep()
        case .taskExecutor: taskExecutor()
        case .signal: signal()
        case .waitingForAnyMode: waitingForAnyMode()
        case .noDescriptors: DescriptorScenario().play()
        case .isolation: IsolationScenario().play()
        }
    }

    /// Runs the default mode until it is stopped or a source was handled.
    private func runOnce() -> HostRunLoop.RunResult {
        loop.run(in: .default, for: .seconds(10), returnAfterSourceHandled: true)
    }

    /// A run inside a main-queue block that is served by a run in another mode: afterwards the outermost run still serves it.
    private func insideBoth() {
        loop.addCommonMode("other")
        loop.add(HostRunLoop.Source(label: "idle") { _ in }, to: .common)
        let timer = HostRunLoop.Timer(label: "outer", after: .zero) { [loop] _ in
            DispatchQueue.main.async { say("nested \(loop.run(in: .default, for: .zero))") }
            say("\(loop.run(in: "other", for: .seconds(10), returnAfterSourceHandled: true))")
            // From a thread that finds the loop asleep: the queue's descriptor alone can wake it.
            DispatchQueue.global().async { [loop] in
                while !loop.isWaiting { sched_yield() }
                DispatchQueue.main.async {
                    say("served")
                    loop.stop()
                }
            }
        }
        loop.add(timer)
        say("\(loop.run(in: .default, for: .seconds(20)))")
    }

    /// The mode is not empty although nothing was ever added to it.
    private func neverEmpty() {
        // Before the first run, too.
        say("\(loop.isEmpty(.default)) \(loop.isEmpty("other"))")
        say("\(loop.run(in: .default, for: .zero)) \(loop.run(in: .default, for: .milliseconds(1)))")
        say("\(loop.isEmpty(.default)) \(loop.run(in: "other", for: .zero))")
    }

    /// Five blocks, as GNUstep's test of the same has them.
    private func dispatchBlocks() {
        for number in 0..<5 {
            DispatchQueue.main.async { [loop] in
                say("\(number) \(threadName) \(loop.currentMode == .default)")
                if number == 4 { loop.stop() }
            }
        }
        loop.run()
        say("over")
    }

    @MainActor
    private func mainActor() {
        Task { [loop] in
            say("task \(threadName)")
            try? await Task.sleep(for: .milliseconds(3))
            say("slept \(threadName)")
            await elsewhere()
            say("back \(threadName)")
            await Task.detached { @MainActor in
                MainActor.preconditionIsolated()
                say("hop \(threadName)")
            }.value
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<3 { group.addTask { await elsewhere() } }
            }
            say("joined \(threadName) \(loop.nesting)")
            loop.stop()
        }
        loop.run()
        say("over")
    }

    private func commonModesOnly() {
        for mode: HostRunLoop.Mode in ["private"] {
            loop.add(HostRunLoop.Source(label: "idle") { _ in }, to: mode)
            DispatchQueue.main.async { [loop] in say("block in \(loop.currentMode == mode ? "private" : "default")") }
            say("\(loop.run(in: mode, for: .milliseconds(5), returnAfterSourceHandled: true))")
            say("\(runOnce())")
            loop.addCommonMode(mode)
            DispatchQueue.main.async { [loop] in say("block in \(loop.currentMode == mode ? "private" : "default")") }
            say("\(loop.run(in: mode, for: .seconds(10), returnAfterSourceHandled: true))")
        }
    }

    private func handledSource() {
        DispatchQueue.main.async { say("block") }
        say("\(runOnce())")
        // Also in a pass that only polls, and in the first pass of a run.
        DispatchQueue.main.async { say("block") }
        say("\(loop.run(in: .default, for: .zero, returnAfterSourceHandled: true))")
        say("\(loop.run(in: .default, for: .zero, returnAfterSourceHandled: true))")
    }

    private func insideMainQueue() {
        DispatchQueue.main.async { [loop] in
            say("outer")
            DispatchQueue.main.async {
                say("inner \(loop.nesting)")
                loop.stop()
            }
            say("empty \(loop.isEmpty(.default)) \(loop.run(in: .default, for: .seconds(10)))")
            loop.add(HostRunLoop.Timer(label: "t", after: .milliseconds(2)) { _ in say("timer") })
            say("nested \(loop.run(in: .default, for: .seconds(10)))")
        }
        loop.run()
        say("over \(loop.isEmpty(.default))")
    }

    private func insideTimer() {
        loop.add(
            HostRunLoop.Timer(label: "t", after: .zero) { [loop] _ in
                DispatchQueue.main.async { say("block \(loop.nesting)") }
                say("nested \(loop.run(in: .default, for: .seconds(10), returnAfterSourceHandled: true))")
                loop.stop()
            }
        )
        say("\(loop.run(in: .default, for: .seconds(10)))")
    }

    /// After the queue was served twice, a run lasts its whole time and does not spin.
    private func staleReadiness() {
        for number in 0..<2 {
            DispatchQueue.main.async { say("\(number)") }
            say("\(runOnce())")
        }
        let (begin, passes) = (HostRunLoop.Instant.now, loop.passCount)
        let fired = HostRunLoop.Timer(label: "t", after: .milliseconds(20)) { [loop] _ in
            say("timer")
            loop.stop()
        }
        loop.add(fired)
        let result = runOnce()
        let isLongEnough = begin.duration(to: .now) >= .milliseconds(20)
        say("\(result) \(isLongEnough) \(loop.passCount - passes)")
    }

    private func dispatchTimer() {
        let timer = DispatchSource.makeTimerSource(queue: .main)
        nonisolated(unsafe) var fires = 0
        timer.setEventHandler { [loop] in
            fires += 1
            say("timer \(threadName)")
            guard fires == 3 else { return }
            timer.cancel()
            loop.stop()
        }
        timer.schedule(deadline: .now(), repeating: .milliseconds(2))
        timer.activate()
        loop.run()
        say("over")
    }

    private func whileAsleep() {
        DispatchQueue.global().async { [loop] in
            while !loop.isWaiting { sched_yield() }
            DispatchQueue.main.async { say("block \(threadName)") }
        }
        say("\(runOnce())")
        Task.detached { [loop] in
            while !loop.isWaiting { sched_yield() }
            await MainActor.run { say("actor \(threadName)") }
        }
        say("\(runOnce())")
    }

    /// The main thread's loop is an executor like every other loop.
    private func taskExecutor() {
        Task(executorPreference: loop) { [loop] in
            say("task \(threadName)")
            try? await Task.sleep(for: .milliseconds(2))
            say("slept \(threadName)")
            await MainActor.run { say("actor \(threadName)") }
            say("back \(threadName)")
            loop.stop()
        }
        loop.run()
        say("over")
    }

    /// Waits for a signal that is sent to the process.
    private func signal() {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGUSR1)
        pthread_sigmask(SIG_BLOCK, &set, nil)
        // The overlay has no signalfd(2).
        typealias Function = @convention(c) (CInt, UnsafePointer<sigset_t>, CInt) -> CInt
        let descriptor = unsafeBitCast(dlsym(nil, "signalfd"), to: Function.self)(-1, &set, O_NONBLOCK | O_CLOEXEC)
        let source = HostRunLoop.PortSource(label: "signal", descriptor: FileDescriptor(rawValue: descriptor)) {
            [loop] _, _ in
            // A signalfd_siginfo has 128 bytes and begins with the number.
            var bytes = [UInt32](repeating: 0, count: 32)
            guard read(descriptor, &bytes, 128) == 128 else { return }
            say("signal \(bytes[0]) \(threadName)")
            loop.stop()
        }
        do {
            try loop.add(source)
        } catch {
            say("\(error)")
        }
        say("ready")
        loop.run()
    }

    private func waitingForAnyMode() {
        loop.add(HostRunLoop.Source(label: "idle") { _ in }, to: "private")
        say("\(loop.waitUntilAnyModeIsReady([.default, "private"], for: .milliseconds(2)))")
        DispatchQueue.main.async { say("block") }
        say("\(loop.waitUntilAnyModeIsReady(["private"], for: .milliseconds(2)))")
        say("\(loop.waitUntilAnyModeIsReady([.default, "private"], for: .seconds(10)))")
        say("\(loop.run(in: .default, for: .zero, returnAfterSourceHandled: true))")
        say("\(loop.waitUntilAnyModeIsReady([.default, "private"], for: .zero))")
    }
}

@concurrent private func elsewhere() async {
    if threadName == "main" { say("not isolated, and on the main thread") }
}
