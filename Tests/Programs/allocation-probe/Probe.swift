import AllocationCounter
import CRecoveryPoint
import Glibc
import RunLoops
import Synchronization
import SystemPackage

/// One scenario, with passes to warm up and passes that are counted.
final class Probe: @unchecked Sendable {
    private static let warmUp = 200
    private static let warmUpSleeps = 20
    private static let counted = 1000

    private let scenario: Scenario
    private let loopMade = Atomic<Bool>(false)
    private let isOver = Atomic<Bool>(false)
    // Written by the loop's thread before `loopMade`, or read after it was joined.
    private var loop: HostRunLoop!
    private var result = HFAllocationCount()
    // Touched by the loop's thread only.
    private var steps = 0
    private var firstCounted: Int?
    private var kept: UnsafeMutableRawPointer?

    init(_ scenario: Scenario) {
        self.scenario = scenario
    }

    /// Plays the scenario on a thread of its own.
    func play() -> HFAllocationCount {
        if scenario == .events { provideEventRing() }
        var thread = pthread_t()
        let error = pthread_create(
            &thread,
            nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Probe>.fromOpaque(argument).takeUnretainedValue().run()
                return nil
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
        precondition(error == 0, "no thread")
        if scenario == .wakeUps { wakeFromHere() }
        pthread_join(thread, nil)
        return result
    }

    /// Counts a step, which is one pass, and says whether there are more.
    @discardableResult
    private func step() -> Bool {
        steps += 1
        if firstCounted == nil, isWarm {
            firstCounted = steps
            hf_allocation_count_begin()
        }
        guard let firstCounted, steps == firstCounted + Self.counted else { return true }
        result = hf_allocation_count_end()
        loop.stop()
        return false
    }

    /// Whether all that is counted was done before: what is done for the first time fills caches of the Swift runtime.
    private var isWarm: Bool {
        guard steps >= Self.warmUp else { return false }
        guard scenario == .sleeping else { return true }
        // On a busy machine a timer may be due in every pass before the loop could sleep.
        var usage = rusage()
        getrusage(CInt(RUSAGE_SELF.rawValue), &usage)
        return usage.ru_nvcsw >= Self.warmUpSleeps
    }

    /// Has the loop note its events.
    private func provideEventRing() {
        let ring = UnsafeMutableRawPointer.allocate(byteCount: MemoryLayout<HFEventRing>.size, alignment: 64)
        ring.initializeMemory(as: UInt8.self, repeating: 0, count: MemoryLayout<HFEventRing>.size)
        hf_loop_events_provide(ring.assumingMemoryBound(to: HFEventRing.self), 1)
    }

    private func run() {
        loop = .current
        loopMade.store(true, ordering: .releasing)
        switch scenario {
        case .control: addSource { [self] in if steps == 500 { kept = malloc(1) } }
        case .source, .events: addSource {}
        case .severalSources: addSeveralSources()
        case .timer: addTimer()
        case .movedTimer: addMovedTimer()
        case .port: addPort()
        case .messages: addMessagePort()
        case .observers:
            addObservers()
            addSource {}
        case .sleeping:
            addObservers()
            addTimer(every: .microseconds(500))
        case .poll: return poll()
        case .limit: return runWithLimits()
        case .nested: addSource { [self] in loop.run(in: "nested", for: .zero) }
        case .wakeUps: loop.add(HostRunLoop.Source(label: "idle") { _ in })
        }
        if scenario == .nested { loop.add(HostRunLoop.Source(label: "idle") { _ in }, to: "nested") }
        loop.run(in: .default, for: .seconds(1000))
    }

    /// Adds a source that signals itself.
    private func addSource(_ body: @escaping @Sendable () -> Void) {
        let own = Holder<HostRunLoop.Source>()
        let source = HostRunLoop.Source(label: "s") { [self] _ in
            body()
            if step() { own.value?.signal() }
        }
        own.value = source
        loop.add(source)
        source.signal()
    }

    private func addSeveralSources() {
        let sources = Holder<[HostRunLoop.Source]>()
        sources.value = (0..<4).map { order in
            HostRunLoop.Source(label: "s", order: order % 2) { [self] _ in
                guard order == 0, step(), let all = sources.value else { return }
                for source in all { source.signal() }
            }
        }
        for source in sources.value ?? [] {
            loop.add(source)
            source.signal()
        }
    }

    private func addTimer(every interval: Duration = .nanoseconds(1)) {
        loop.add(HostRunLoop.Timer(label: "t", after: .zero, repeating: interval) { [self] _ in step() })
    }

    /// Adds a timer that another one puts off in every pass, as a timeout of a connection is.
    private func addMovedTimer() {
        let timeout = HostRunLoop.Timer(label: "timeout", after: .seconds(100)) { _ in }
        loop.add(timeout)
        loop.add(
            HostRunLoop.Timer(label: "t", after: .zero, repeating: .nanoseconds(1)) { [self] _ in
                timeout.nextFireDate = .now.advanced(by: .seconds(100))
                step()
            }
        )
    }

    private func addPort() {
        var ends: [CInt] = [-1, -1]
        precondition(pipe(&ends) == 0 && write(ends[1], "x", 1) == 1, "no pipe")
        do {
            try loop.add(
                HostRunLoop.PortSource(label: "p", descriptor: FileDescriptor(rawValue: ends[0])) { [self] _, _ in
                    step()
                }
            )
        } catch {
            fatalError("\(error)")
        }
    }

    /// Adds a message port whose handler sends it the next message, with a reply port.
    private func addMessagePort() {
        do {
            let reply = try HostRunLoop.MessagePort(label: "reply") { _ in }
            let message = HostRunLoop.Message(type: 1, replyPort: reply.sendRight)
            let own = Holder<HostRunLoop.MessagePort>()
            let port = try HostRunLoop.MessagePort(label: "p") { [self] _ in
                if step() { try? own.value?.sendRight.send(message, within: .zero) }
            }
            own.value = port
            try loop.add(port)
            try port.sendRight.send(message, within: .zero)
        } catch {
            fatalError("\(error)")
        }
    }

    private func addObservers() {
        for order in 0..<3 {
            loop.add(HostRunLoop.Observer(label: "o", activities: .all, order: order) { _, _ in })
        }
    }

    private func poll() {
        loop.add(HostRunLoop.Source(label: "idle") { _ in })
        repeat { loop.run(in: .default, for: .zero) } while step()
    }

    private func runWithLimits() {
        let source = HostRunLoop.Source(label: "s") { _ in }
        loop.add(source)
        repeat {
            source.signal()
            loop.run(in: .default, for: .seconds(1), returnAfterSourceHandled: true)
        } while step()
    }

    /// Wakes the loop whenever it sleeps.
    private func wakeFromHere() {
        while !loopMade.load(ordering: .acquiring) { sched_yield() }
        let loop: HostRunLoop = loop
        for number in 0..<(Self.warmUp + Self.counted) {
            while !loop.isWaiting { sched_yield() }
            if number == Self.warmUp { hf_allocation_count_begin() }
            let passes = loop.passCount
            loop.wakeUp()
            while loop.passCount == passes { sched_yield() }
        }
        while !loop.isWaiting { sched_yield() }
        result = hf_allocation_count_end()
        while loop.nesting > 0 { loop.stop() }
    }
}

/// A value that a closure shares with whoever made it.
private final class Holder<Value>: @unchecked Sendable {
    var value: Value?
}
