public import CrashCapture
internal import LinuxSystem
internal import RunLoops
internal import SystemPackage

/// Delivers asynchronous signals on the main loop, in ordinary code.
@MainActor
final class SignalPort {
    private let event: EventDescriptor
    private var handlers: [CInt: [@MainActor (SignalEvent) -> Void]] = [:]

    init() throws(Errno) {
        event = try EventDescriptor()
    }

    func attach(to loop: HostRunLoop) throws(RunLoopError) {
        let port = HostRunLoop.PortSource(label: "signals", descriptor: event.rawValue) { [weak self] _ in
            MainActor.assumeIsolated { self?.deliver() }
        }
        try loop.add(port, to: .common)
    }

    /// The signals that are observed, as bits.
    var observedSignals: UInt64 {
        handlers.filter { !$0.value.isEmpty }.keys.reduce(0) { $0 | 1 << UInt64($1 - 1) }
    }

    func observe(_ signal: CInt, _ handler: @escaping @MainActor (SignalEvent) -> Void) throws(CrashCaptureError) {
        // The handler first: the signal may be waiting already.
        handlers[signal, default: []].append(handler)
        do {
            try SignalEvents.observe(signal, on: event.rawValue)
        } catch {
            handlers[signal]?.removeLast()
            throw error
        }
    }

    private func deliver() {
        event.clear()
        guard let signal = SignalEvents.next() else { return }
        // One a callout, and the next is asked for first: a handler that faults must not keep the others back.
        event.notify()
        for handler in handlers[signal.signal] ?? [] { handler(signal) }
    }
}

extension EventHost {
    /// Calls a handler on the main loop for each signal of a kind: with its sender, outside of any signal handler.
    ///
    /// - Parameters:
    ///   - signal: SIGTERM, SIGHUP, …: any but faults, SIGKILL and SIGSTOP.
    ///   - handler: Called in the order of arrival.
    /// - Throws: `CrashCaptureError` with the code `signal`.
    public func onSignal(
        _ signal: CInt,
        _ handler: @escaping @MainActor (SignalEvent) -> Void
    ) throws(CrashCaptureError) {
        try signalPort.observe(signal, handler)
        prepareRestart(isHealthy: isHealthy)
    }
}
