import Dispatch
import FaultInjection
import Glibc
import Holdfast
import SystemPackage

/// A callout of one kind, which can be brought about as often as one likes.
struct Trigger: Sendable {
    /// Brings it about once, on any thread.
    let fire: @Sendable () -> Void
    /// Whether it comes only of a pass that sleeps.
    let needsSleep: Bool

    private static let label = "matrix"
    private static let nestedMode = HostRunLoop.Mode(rawValue: "nested")

    /// Puts what is needed on a loop.
    @MainActor
    init(
        _ place: Place,
        on loop: HostRunLoop,
        of host: EventHost,
        _ body: @escaping @Sendable () -> Void
    ) throws {
        needsSleep = place == .observerBeforeWaiting || place == .observerAfterWaiting
        switch place {
        case .source:
            fire = Self.source(on: loop, body)
        case .port: fire = try Self.port(on: loop, body)
        case .timer:
            // Fires by itself, again and again.
            Self.addTimer(to: loop, body)
            fire = {}
        case .observerEntry: fire = Self.observer(of: .entry, on: loop, body)
        case .observerBeforeTimers: fire = Self.observer(of: .beforeTimers, on: loop, body)
        case .observerBeforeSources: fire = Self.observer(of: .beforeSources, on: loop, body)
        case .observerBeforeWaiting: fire = Self.observer(of: .beforeWaiting, on: loop, body)
        case .observerAfterWaiting: fire = Self.observer(of: .afterWaiting, on: loop, body)
        case .observerExit: fire = Self.observer(of: .exit, on: loop, body)
        case .block:
            fire = {
                loop.performWithoutWaking(in: .common, label: Self.label, body)
                loop.wakeUp()
            }
        case .perform: fire = { loop.perform(label: Self.label, body) }
        case .delayedPerform:
            fire = { loop.perform(after: .milliseconds(1), in: [.default], label: Self.label, body) }
        case .nestedRun:
            fire = {
                loop.perform(label: "outer") {
                    loop.performWithoutWaking(in: Self.nestedMode, label: Self.label, body)
                    loop.run(in: Self.nestedMode, for: .zero)
                }
            }
        case .signalHandler:
            try host.onSignal(SIGUSR2) { _ in body() }
            fire = { kill(getpid(), SIGUSR2) }
        case .faultHandler:
            host.onFault { _ in body() }
            fire = { loop.perform(label: "cause of a message") { Fault.nilUnwrap.commit() } }
        case .mainQueue: fire = { DispatchQueue.main.async(execute: body) }
        case .task:
            if loop === HostRunLoop.main {
                fire = { Task { @MainActor in body() } }
            } else {
                fire = { Task(executorPreference: loop) { body() } }
            }
        case .boundary, .boundaryChild, .boundaryLet, .boundaryActor, .boundaryMainActor, .boundaryDetached:
            fire = {
                Task.detached {
                    // The error of an abandoned one: the report says it, too.
                    try? await withFaultBoundary("matrix") { await Self.run(body, in: place) }
                }
            }
        case .beforeRun, .afterRun, .afterClose, .threadBody, .channelHandler:
            preconditionFailure("\(place) is no callout")
        }
    }

    /// Runs the body where a place in a boundary is.
    private static func run(_ body: @escaping @Sendable () -> Void, in place: Place) async {
        await Task.yield()
        switch place {
        case .boundaryChild:
            await withTaskGroup(of: Void.self) { group in
                group.addTask { body() }
                await group.waitForAll()
            }
        case .boundaryLet:
            async let done: Void = body()
            await done
        case .boundaryActor: await Isolated().run(body)
        case .boundaryMainActor: await MainActor.run { body() }
        case .boundaryDetached: await Task.detached { body() }.value
        default: body()
        }
    }

    private actor Isolated {
        private var runs = 0

        func run(_ body: @Sendable () -> Void) {
            runs += 1
            body()
        }
    }

    // Outside of the main actor's code: their closures are for any loop.

    private static func source(on loop: HostRunLoop, _ body: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        let source = HostRunLoop.Source(label: label) { _ in body() }
        loop.add(source, to: .common)
        return {
            source.signal()
            loop.wakeUp()
        }
    }

    private static func addTimer(to loop: HostRunLoop, _ body: @escaping @Sendable () -> Void) {
        let interval: Duration = .milliseconds(5)
        let timer = HostRunLoop.Timer(label: label, after: interval, repeating: interval) { _ in body() }
        loop.add(timer, to: .common)
    }

    private static func port(
        on loop: HostRunLoop,
        _ body: @escaping @Sendable () -> Void
    ) throws -> @Sendable () -> Void {
        let pipe = try BytePipe()
        let port = HostRunLoop.PortSource(label: label, descriptor: FileDescriptor(rawValue: pipe.reader)) { _, _ in
            pipe.take()
            body()
        }
        try loop.add(port, to: .common)
        return { pipe.put() }
    }

    private static func observer(
        of activity: HostRunLoop.Activity,
        on loop: HostRunLoop,
        _ body: @escaping @Sendable () -> Void
    ) -> @Sendable () -> Void {
        let observer = HostRunLoop.Observer(label: label, activities: activity) { _, _ in body() }
        loop.add(observer, to: .common)
        // The thread begins another run after one that was stopped.
        if activity == .entry || activity == .exit { return { loop.stop() } }
        return { loop.wakeUp() }
    }
}
