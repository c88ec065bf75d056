import Dispatch
import FaultInjection
import Glibc
import Holdfast
import RunLoops
import SystemPackage

/// A fault that is committed at start, as `--inject` takes it: `FAULT@PLACE[:COUNT]`.
struct Injection: Sendable {
    /// Which kind of callout commits it.
    enum Place: String, CaseIterable, Sendable {
        case source
        case port
        case timer
        case observer
        case block
        case mainQueue = "main-queue"

        static var list: String { allCases.map(\.rawValue).joined(separator: ", ") }
    }

    let fault: Fault
    let place: Place
    let count: Int

    init?(_ argument: String) {
        let halves = argument.split(separator: "@", maxSplits: 1)
        guard halves.count == 2, let fault = Fault(rawValue: String(halves[0])) else { return nil }
        let parts = halves[1].split(separator: ":", maxSplits: 1)
        guard let name = parts.first, let place = Place(rawValue: String(name)) else { return nil }
        self.fault = fault
        self.place = place
        guard parts.count == 2 else {
            count = 1
            return
        }
        guard let count = Int(parts[1]), count > 0 else { return nil }
        self.count = count
    }
}

/// Commits an injected fault in the kind of callout that was asked for, as often as was asked for.
@MainActor
final class Injector {
    private let injection: Injection
    private let loop: HostRunLoop
    private var remaining: Int

    private static let pause: Duration = .milliseconds(50)

    init(_ injection: Injection, on loop: HostRunLoop) {
        self.injection = injection
        self.loop = loop
        remaining = injection.count
    }

    /// Sets up the callout, and a timer that brings it about.
    func start() throws {
        let trigger = try makeTrigger()
        let timer = HostRunLoop.Timer(
            label: "inject \(injection.fault.rawValue)",
            after: Self.pause,
            repeating: Self.pause
        ) { timer in
            // Counted before it is committed: what comes after a fault does not run.
            self.remaining -= 1
            if self.remaining <= 0 { timer.invalidate() }
            trigger()
        }
        loop.add(timer, to: .common)
    }

    private func makeTrigger() throws -> @MainActor () -> Void {
        let loop = loop
        let fault = injection.fault
        let label = "injected \(injection.place.rawValue)"
        switch injection.place {
        case .timer:
            return { fault.commit() }
        case .source:
            let source = HostRunLoop.Source(label: label) { _ in fault.commit() }
            loop.add(source, to: .common)
            return { source.signal() }
        case .port:
            let (reader, writer) = try FileDescriptor.pipe()
            let port = HostRunLoop.PortSource(label: label, descriptor: reader) { _, _ in
                var byte: UInt8 = 0
                _ = unsafe read(reader.rawValue, &byte, 1)
                fault.commit()
            }
            try loop.add(port, to: .common)
            return { _ = try? writer.writeAll([1]) }
        case .observer:
            return {
                let observer = HostRunLoop.Observer(label: label, activities: .beforeWaiting, repeats: false) { _, _ in
                    fault.commit()
                }
                loop.add(observer, to: .common)
            }
        case .block:
            return { loop.performWithoutWaking(in: .common, label: label) { fault.commit() } }
        case .mainQueue:
            return { DispatchQueue.main.async { fault.commit() } }
        }
    }
}
