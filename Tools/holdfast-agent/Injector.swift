import Dispatch
import FaultInjection
import Glibc
import Holdfast
import RunLoops
import SystemPackage

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
            MainActor.assumeIsolated {
                // Counted before it is committed: what comes after a fault does not run.
                self.remaining -= 1
                if self.remaining <= 0 { timer.invalidate() }
                trigger()
            }
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
            var ends: [CInt] = [0, 0]
            guard unsafe pipe(&ends) == 0 else { throw SystemError("pipe", errno) }
            let (reader, writer) = (ends[0], ends[1])
            let port = HostRunLoop.PortSource(label: label, descriptor: FileDescriptor(rawValue: reader)) { _, _ in
                var byte: UInt8 = 0
                _ = unsafe read(reader, &byte, 1)
                fault.commit()
            }
            try loop.add(port, to: .common)
            return {
                var byte: UInt8 = 1
                _ = unsafe write(writer, &byte, 1)
            }
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
