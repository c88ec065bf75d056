import Glibc
import RunLoops
import Testing

/// An actor whose code runs on a loop.
private actor LoopActor {
    let loop: HostRunLoop
    private(set) var count = 0
    private(set) var places: [Bool] = []

    init(on loop: HostRunLoop) {
        self.loop = loop
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    func add() -> Int {
        places.append(loop.isCurrent)
        count += 1
        return count
    }

    /// Adds before and after a time in which the actor is free for others.
    func addAroundSleep() async throws {
        _ = add()
        try await Task.sleep(for: .milliseconds(2))
        _ = add()
    }

    nonisolated func addAssumingIsolation() -> Int {
        assumeIsolated { $0.add() }
    }

    /// Runs the loop inside a job and says what the actor counted before and after.
    func addAroundNestedRun() -> [Int] {
        let before = count
        loop.run(in: .default, for: .milliseconds(5))
        return [before, count]
    }
}

@concurrent private func isOn(_ loop: HostRunLoop) async -> Bool { loop.isCurrent }

@Suite("Tasks and actors on a loop", .timeLimit(.minutes(10)))
struct ExecutorTests {
    /// A thread whose loop runs until it is stopped, with nothing to do.
    private func runningThread() -> NewThread<HostRunLoop.RunResult> {
        let thread = NewThread { loop in
            loop.addIdleSource()
            // Until it is stopped: the pool of Swift's tasks may be busy with other tests for a minute.
            return loop.run(in: .default, for: .seconds(1_000_000_000))
        }
        waitUntilAsleep(thread.loop)
        return thread
    }

    private func stop(_ thread: NewThread<HostRunLoop.RunResult>) throws {
        while thread.loop.nesting > 0 { thread.loop.stop() }
        #expect(try thread.join() == .stopped)
    }

    @Test("A task that prefers the loop runs there, with the functions that it calls and its children")
    func preferredExecutor() async throws {
        let thread = runningThread()
        let loop = thread.loop
        let places = await Task(executorPreference: loop) {
            var places = [loop.isCurrent, await isOn(loop)]
            await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<3 { group.addTask { await isOn(loop) } }
                for await place in group { places.append(place) }
            }
            async let child = isOn(loop)
            places.append(await child)
            try? await Task.sleep(for: .milliseconds(2))
            places.append(loop.isCurrent)
            return places
        }.value
        #expect(places == Array(repeating: true, count: 7))
        #expect(!loop.isCurrent)
        try stop(thread)
    }

    @Test("A preference for a part of a task lasts as long as the part")
    func preferenceForAPart() async throws {
        let thread = runningThread()
        let loop = thread.loop
        let inside = await withTaskExecutorPreference(loop) { await isOn(loop) }
        let outside = await isOn(loop)
        #expect(inside)
        #expect(!outside)
        try stop(thread)
    }

    @Test("A task can change from loop to loop")
    func twoPreferences() async throws {
        let (first, second) = (runningThread(), runningThread())
        let (one, two) = (first.loop, second.loop)
        let places = await Task(executorPreference: one) {
            let before = one.isCurrent
            let between = await withTaskExecutorPreference(two) { await isOn(two) }
            return [before, between, await isOn(one)]
        }.value
        #expect(places == [true, true, true])
        try stop(first)
        try stop(second)
    }

    @Test("An actor of the loop runs there, also after a sleep, and is isolated for whoever is on the loop's thread")
    func actorOfALoop() async throws {
        let thread = runningThread()
        let actor = LoopActor(on: thread.loop)
        #expect(await actor.add() == 1)
        try await actor.addAroundSleep()
        #expect(await actor.places == [true, true, true])

        let counted = Cell(0)
        await withCheckedContinuation { continuation in
            // Not in a task: the runtime has to ask the executor.
            thread.loop.performWithoutWaking {
                counted.value = actor.addAssumingIsolation()
                actor.preconditionIsolated()
                thread.loop.checkIsolated()
                continuation.resume()
            }
            thread.loop.wakeUp()
        }
        #expect(counted.value == 4)
        #expect(thread.loop.isIsolatingCurrentContext() == false)
        try stop(thread)
    }

    @Test("Isolation is refused on another thread")
    func isolationElsewhere() async {
        await #expect(processExitsWith: .failure) {
            let actor = LoopActor(on: HostRunLoop.main)
            _ = await Task.detached { actor.addAssumingIsolation() }.value
        }
        await #expect(processExitsWith: .failure) {
            await Task.detached { HostRunLoop.main.checkIsolated() }.value
        }
    }

    @Test("Jobs wait for a loop that does not run, and keep their order")
    func jobsWait() async throws {
        let trace = Trace()
        let (mayRun, isReady) = (Cell(false), Cell(false))
        let thread = NewThread { loop in
            isReady.value = true
            while !mayRun.value { sched_yield() }
            return loop.run(in: .default, for: .zero)
        }
        let loop = thread.loop
        while !isReady.value { sched_yield() }
        let tasks = (0..<5).map { number in
            Task(executorPreference: loop) { trace.add("\(number)") }
        }
        #expect(trace.entries == [])
        mayRun.value = true
        for task in tasks { await task.value }
        #expect(trace.entries == ["0", "1", "2", "3", "4"])
        #expect(try thread.join() == .timedOut)
    }

    @Test("Jobs are blocks of the common modes: one callout each, in no other mode, and no handled source")
    func commonModes() throws {
        let trace = Trace()
        let results = try onNewThread { loop in
            loop.addIdleSource()
            loop.addIdleSource(to: "other")
            for number in 0..<2 {
                Task(executorPreference: loop) { trace.add("\(number) \(loop.currentMode?.rawValue ?? "none")") }
            }
            var results = [loop.run(in: "other", for: .zero, returnAfterSourceHandled: true)]
            trace.add("-")
            results.append(loop.run(in: .default, for: .zero, returnAfterSourceHandled: true))
            Task(executorPreference: loop) { trace.add("2 \(loop.currentMode?.rawValue ?? "none")") }
            loop.addCommonMode("other")
            results.append(loop.run(in: "other", for: .zero, returnAfterSourceHandled: true))
            return results
        }
        let mode = HostRunLoop.Mode.default.rawValue
        #expect(trace.entries == ["-", "0 \(mode)", "1 \(mode)", "2 other"])
        #expect(results == [.timedOut, .timedOut, .timedOut])
    }

    @Test("A run that is nested in a job runs no other job; blocks and timers run there")
    func nestedRun() async throws {
        let thread = runningThread()
        let loop = thread.loop
        let actor = LoopActor(on: loop)
        let others = Trace()
        // Queued behind the first job, for the run inside it.
        let counts = await withCheckedContinuation { continuation in
            loop.performWithoutWaking {
                Task { continuation.resume(returning: await actor.addAroundNestedRun()) }
                Task { _ = await actor.add() }
                loop.add(HostRunLoop.Timer(label: "t", after: .zero) { _ in others.add("timer") })
            }
            loop.wakeUp()
        }
        #expect(counts.first == counts.last)
        #expect(others.entries == ["timer"])
        // What missed its turn gets another.
        while await actor.count == 0 { await Task.yield() }
        try stop(thread)
    }

    @Test("Ten thousand calls from actor to actor of two loops arrive in order, and on their threads")
    func hops() async throws {
        let (first, second) = (runningThread(), runningThread())
        let (one, two) = (LoopActor(on: first.loop), LoopActor(on: second.loop))
        // On the loops alone: the pool has as many threads as there are processors, and other tests wait on them.
        let outOfOrder = Task(executorPreference: first.loop) { () -> Int? in
            for number in 1...5_000 {
                let (left, right) = (await one.add(), await two.add())
                guard left == number, right == number else { return number }
            }
            return nil
        }
        #expect(await outOfOrder.value == nil)
        #expect(await one.places.allSatisfy { $0 })
        #expect(await two.places.allSatisfy { $0 })
        try stop(first)
        try stop(second)
    }

    @Test("What one task sends to an actor in a row arrives in a row")
    func order() async throws {
        let thread = runningThread()
        let loop = thread.loop
        let trace = Trace()
        let tasks = (0..<10_000).map { number in
            Task(executorPreference: loop) { trace.add("\(number)") }
        }
        for task in tasks { await task.value }
        #expect(trace.entries == (0..<10_000).map { "\($0)" })
        try stop(thread)
    }

    @Test("A job for a loop whose thread has ended, or that is left over then, ends the process and says why")
    func endedThread() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let thread = NewThread { _ in }
            let loop = thread.loop
            try thread.join()
            await Task(executorPreference: loop) {}.value
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("run loop whose thread has ended"))
        await #expect(processExitsWith: .failure) {
            let thread = NewThread { loop in
                Task(executorPreference: loop) {}
                return
            }
            try thread.join()
        }
    }
}
