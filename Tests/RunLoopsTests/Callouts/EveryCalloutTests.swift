import RecoveryTestSupport
import Synchronization
import TestSupport
import Testing

@testable import RunLoops

/// A callout of every kind at every place, abandoned: the item, if it repeats, and all other kinds work afterwards.
@Suite("A loop after an abandoned callout of every kind", .timeLimit(.minutes(10)))
struct EveryCalloutTests {
    private typealias Timer = HostRunLoop.Timer
    private typealias Observer = HostRunLoop.Observer
    private typealias Source = HostRunLoop.Source

    /// Faults when it is called for the first time, and notes the other calls.
    private final class Fault: Sendable {
        private let count = Atomic<Int>(0)

        /// How often it was called.
        var calls: Int { count.load(ordering: .acquiring) }

        func call() {
            if count.add(1, ordering: .acquiringAndReleasing).oldValue == 0 { hf_test_abandon_callout() }
        }
    }

    /// Keeps what the loop holds weakly.
    private final class Target: Sendable {}

    enum Place: CaseIterable {
        case source, schedule, cancel, commandSource
        case port, messagePort
        case repeatingTimer, tolerantTimer, targetTimer, singleTimer
        case observer, singleObserver, passScopeEnter, passScopeLeave
        case block, performInMode, orderedPerform, delayedPerform, performAndWait
        case nestedRun, cleanup, job

        /// Whether the item is called again.
        var repeats: Bool {
            switch self {
            case .source, .commandSource, .port, .messagePort, .repeatingTimer, .tolerantTimer, .targetTimer, .observer,
                .passScopeEnter, .passScopeLeave, .nestedRun:
                true
            case .schedule, .cancel, .singleTimer, .singleObserver, .block, .performInMode, .orderedPerform,
                .delayedPerform,
                .performAndWait, .cleanup, .job:
                false
            }
        }
    }

    /// Adds an item that calls `fault`, again and again where it can, and returns what must be kept.
    private func add(_ place: Place, to loop: HostRunLoop, _ fault: Fault) throws -> [AnyObject] {
        switch place {
        case .source, .nestedRun:
            let source = Source(label: "faulting") { _ in
                guard place == .nestedRun else { return fault.call() }
                loop.performWithoutWaking(in: "inner") { fault.call() }
                loop.run(in: "inner", for: .zero)
            }
            loop.add(source)
            loop.add(Timer(label: "again", after: .zero, repeating: .microseconds(100)) { _ in source.signal() })
            return [source]
        case .schedule, .cancel:
            let call: @Sendable (HostRunLoop, HostRunLoop.Mode) -> Void = { _, _ in fault.call() }
            let isSchedule = place == .schedule
            let source = Source(label: "faulting", schedule: isSchedule ? call : nil, cancel: isSchedule ? nil : call) {
                _ in
            }
            loop.add(source)
            source.invalidate()
        case .commandSource:
            let source = HostRunLoop.CommandSource<Int>(label: "faulting") { _, _ in fault.call() }
            loop.add(source)
            for number in 0..<3 { source.send(number) }
        case .port:
            let pipe = TestPipe()
            pipe.fill()
            try loop.add(pipe.portSource("faulting") { _ in fault.call() })
        case .messagePort:
            let port = try HostRunLoop.MessagePort(label: "faulting") { _ in fault.call() }
            try loop.add(port)
            for _ in 0..<3 { try port.sendRight.send(HostRunLoop.Message(type: 1, payload: [1]), within: .zero) }
        case .repeatingTimer, .tolerantTimer, .singleTimer:
            let interval: Duration = place == .singleTimer ? .zero : .microseconds(100)
            let timer = Timer(label: "faulting", after: .zero, repeating: interval) { _ in fault.call() }
            if place == .tolerantTimer { timer.tolerance = .microseconds(50) }
            loop.add(timer, to: .common)
        case .targetTimer:
            let target = Target()
            let timer = Timer(label: "faulting", after: .zero, repeating: .microseconds(100), target: target) { _, _ in
                fault.call()
            }
            loop.add(timer)
            return [target]
        case .observer:
            loop.add(Observer(label: "faulting", activities: .all) { _, _ in fault.call() })
        case .singleObserver:
            loop.add(Observer(label: "faulting", activities: .beforeSources, repeats: false) { _, _ in fault.call() })
        case .passScopeEnter:
            loop.addPassScope(label: "faulting") {
                fault.call()
            } leave: { _ in
            }
        case .passScopeLeave:
            loop.addPassScope(label: "faulting") {
            } leave: {
                fault.call()
            }
        case .block: loop.performWithoutWaking { fault.call() }
        case .performInMode:
            loop.performWithoutWaking(inAnyOf: [.default, "other"], label: "faulting") { fault.call() }
        case .orderedPerform: loop.perform(order: -1) { fault.call() }
        case .delayedPerform: loop.perform(after: .zero) { fault.call() }
        case .performAndWait:
            #expect(throws: HostRunLoop.PerformError.abandoned) { try loop.performAndWait { fault.call() } }
        case .cleanup:
            loop.performWithoutWaking {
                HostRunLoop.addCleanup { fault.call() }
                hf_test_abandon_callout()
            }
        case .job:
            Task(executorPreference: loop) { fault.call() }
        }
        return []
    }

    @Test("All of it works afterwards", arguments: Place.allCases)
    func after(_ place: Place) throws {
        try onNewThread { loop in
            loop.addIdleSource()
            let fault = Fault()
            let kept = try add(place, to: loop, fault)
            let wanted = place.repeats ? 3 : 1
            run(loop) { fault.calls >= wanted }
            #expect(fault.calls >= wanted)
            if !place.repeats { #expect(fault.calls == 1) }
            #expect(try servedKinds(of: loop) == Set(Self.kinds))
            #expect(loop.invariantViolations().isEmpty)
            #expect(loop.nesting == 0 && loop.currentMode == nil && hf_test_current_callout_stack() == 0)
            withExtendedLifetime(kept) {}
        }
    }

    /// Runs a loop until something holds, or far too long.
    private func run(_ loop: HostRunLoop, until isDone: () -> Bool) {
        let deadline = Deadline()
        while !isDone(), !deadline.hasPassed { loop.run(in: .default, for: .milliseconds(2)) }
    }

    private static let kinds = [
        "source", "schedule", "cancel", "command", "port", "message", "timer", "observer", "enter", "leave", "block",
        "perform", "delayed", "nested", "job",
    ]

    /// Uses the loop in all ways that there are, and returns what was called.
    private func servedKinds(of loop: HostRunLoop) throws -> Set<String> {
        let trace = Trace()
        let source = Source(
            label: "s",
            schedule: { _, _ in trace.add("schedule") },
            cancel: { _, _ in trace.add("cancel") },
            perform: { _ in trace.add("source") }
        )
        loop.add(source)
        source.signal()
        let commands = HostRunLoop.CommandSource<String>(label: "c") { trace.add($1) }
        loop.add(commands)
        commands.send("command")
        let pipe = TestPipe()
        pipe.fill()
        let port = pipe.portSource("p") { _ in
            pipe.takeByte()
            trace.add("port")
        }
        try loop.add(port)
        let messages = try HostRunLoop.MessagePort(label: "m") { _ in trace.add("message") }
        try loop.add(messages)
        try messages.sendRight.send(HostRunLoop.Message(type: 1, payload: []), within: .zero)
        loop.add(Timer(label: "t", after: .zero) { _ in trace.add("timer") })
        loop.add(Observer(label: "o", activities: .beforeTimers, repeats: false) { _, _ in trace.add("observer") })
        loop.addPassScope(label: "scope") {
            trace.add("enter")
        } leave: {
            trace.add("leave")
        }
        loop.performWithoutWaking {
            trace.add("block")
            loop.performWithoutWaking(in: "inner") { trace.add("nested") }
            loop.run(in: "inner", for: .zero)
        }
        loop.perform { trace.add("perform") }
        loop.perform(after: .zero) { trace.add("delayed") }
        Task(executorPreference: loop) { trace.add("job") }
        run(loop) { Set(trace.entries).count >= Self.kinds.count - 1 }
        source.invalidate()
        port.invalidate()
        messages.invalidate()
        return Set(trace.entries)
    }
}
