public import CrashCapture
internal import Glibc
internal import LinuxSystem
internal import Logging
internal import RunLoops
internal import SystemPackage

/// Delivers asynchronous signals on the main loop, in ordinary code.
@MainActor
final class SignalPort {
    private let event: EventDescriptor
    private var handlers: [CInt: [SignalHandler]] = [:]
    /// Who is still to be told of the signal that was taken last, in reverse.
    private var waiting: [(SignalHandler, SignalEvent)] = []
    /// Nil until it is attached.
    private(set) var port: HostRunLoop.PortSource?
    /// As bits.
    private var discarded: UInt64 = 0
    /// The handlers that run, the innermost last, each with the number of runs: one may run the loop.
    private var running: [(handler: SignalHandler, nesting: Int)] = []
    /// The handlers that faulted, and that nobody has seen to yet.
    private var faulted: [SignalHandler] = []
    /// The order to end that was taken last, if a handler of it has faulted.
    private var failedOrder: CInt?
    /// Which handlers are not called for a while; nil where none is taken out.
    private var ledger: QuarantineLedger?
    private let start = HostRunLoop.Instant.now
    /// Told what comes of orders to end; set when it is attached.
    private weak var host: EventHost?

    init(_ quarantine: QuarantinePolicy?, budget: FaultBudget) throws(Errno) {
        event = try EventDescriptor()
        ledger = quarantine.map { QuarantineLedger($0, budget: budget) }
    }

    func attach(to loop: HostRunLoop, of host: EventHost) throws(RunLoopError) {
        self.host = host
        let port = HostRunLoop.PortSource(ofHost: "signals", descriptor: event.rawValue) { [weak self] _, _ in
            self?.deliver()
        }
        try loop.add(port, to: .common)
        self.port = port
    }

    /// The signals that a restart holds back for the next process, as bits.
    var heldSignals: UInt64 {
        handlers.keys.reduce(discarded) { $0 | Self.bit(of: $1) }
    }

    func observe(
        _ signal: CInt,
        _ handler: @escaping @MainActor (SignalEvent) -> Void,
        whenInvalid: @escaping @MainActor () -> Void
    ) throws(CrashCaptureError) -> Observation {
        let entry = SignalHandler(signal: signal, handler: handler) { [weak self] observation in
            self?.remove(observation, of: signal)
            whenInvalid()
        }
        // The handler first: the signal may be waiting already.
        handlers[signal, default: []].append(entry)
        do {
            try SignalEvents.observe(signal, on: event.rawValue)
        } catch {
            handlers[signal]?.removeLast()
            if handlers[signal]?.isEmpty == true { handlers[signal] = nil }
            throw error
        }
        return entry.observation
    }

    /// Lets a signal do nothing while nobody observes it.
    func discard(_ signal: CInt) throws(CrashCaptureError) {
        try SignalEvents.discard(signal)
        discarded |= Self.bit(of: signal)
    }

    private static func bit(of signal: CInt) -> UInt64 { 1 << UInt64(signal - 1) }

    /// Gives all signals back.
    func close() {
        for signal in Array(handlers.keys) {
            for handler in handlers[signal] ?? [] { handler.observation.invalidate() }
        }
        for signal in CInt(1)...64 where discarded & Self.bit(of: signal) != 0 { SignalEvents.restore(signal) }
        discarded = 0
        port?.invalidate()
        waiting = []
    }

    private func remove(_ observation: Observation, of signal: CInt) {
        handlers[signal]?.removeAll { $0.observation === observation }
        guard handlers[signal]?.isEmpty == true else { return }
        handlers[signal] = nil
        SignalEvents.stop(signal)
    }

    // MARK: Delivering

    private func deliver() {
        event.clear()
        // One handler a callout, and the next callout is asked for first: one that faults must not keep the others back.
        if !faulted.isEmpty {
            event.notify()
            return see(to: faulted.removeFirst())
        }
        if waiting.isEmpty {
            if let order = failedOrder {
                failedOrder = nil
                event.notify()
                host?.stop(forFailedOrder: order)
                return
            }
            guard let signal = SignalEvents.next() else { return }
            CrashNotes.addSignal(signal.signal, from: signal.senderPid)
            waiting = (handlers[signal.signal] ?? []).reversed().map { ($0, signal) }
        }
        event.notify()
        guard let (handler, signal) = waiting.popLast() else { return }
        admitDueHandlers()
        call(handler, signal)
    }

    private func call(_ handler: SignalHandler, _ signal: SignalEvent) {
        guard handler.observation.isValid, !handler.isWithheld else { return }
        let isOrder = SignalEvents.isOrder(signal.signal)
        running.append((handler, HostRunLoop.main.nesting))
        if isOrder { host?.beginOrder(isRepeated: signal.isRepeated) }
        handler.call(signal)
        running.removeLast()
        // Not where this one was called in a run of the loop within the handler of another order.
        let isWithinOrder = running.contains { SignalEvents.isOrder($0.handler.signal) }
        if isOrder, !isWithinOrder { host?.endOrder() }
    }

    /// Notes that a callout of the port was abandoned: if a handler ran in it, that one has faulted.
    ///
    /// After the callout, outside of any other.
    func noteAbandoned(nesting: Int) {
        guard let last = running.last, last.nesting == nesting else { return }
        running.removeLast()
        faulted.append(last.handler)
    }

    /// Counts the fault of a handler: of an order to end, it is the end; of another signal, the handler may be left out for a while.
    private func see(to handler: SignalHandler) {
        let signal = handler.signal
        if SignalEvents.isOrder(signal) {
            failedOrder = signal
            return
        }
        guard case .quarantined(let coolDown)? = ledger?.fault(of: handler.number, at: start.duration(to: .now))
        else {
            return
        }
        handler.isWithheld = true
        host?.configuration.logger.error(
            "a handler of a signal faults too often, and is not called for a while; the others are, and the agent serves on",
            metadata: ["signal": "\(signal)", "for": "\(coolDown?.inWords ?? "ever")"]
        )
    }

    /// Lets handlers be called again that have been left out for long enough.
    private func admitDueHandlers() {
        while let number = ledger?.takeDue(at: start.duration(to: .now)), number != 0 {
            for handler in handlers.values.joined() where handler.number == number {
                handler.isWithheld = false
                host?.configuration.logger.notice(
                    "a handler of a signal is called again",
                    metadata: ["signal": "\(handler.signal)"]
                )
            }
        }
    }
}

/// A handler of a signal.
@MainActor
final class SignalHandler {
    let signal: CInt
    /// Tells handlers apart; never 0.
    let number: UInt64
    /// The number of the last one.
    private static var lastNumber: UInt64 = 0
    /// Whether it is left out for a while, because it faulted too often.
    var isWithheld = false
    private let handler: @MainActor (SignalEvent) -> Void
    let observation: Observation

    init(
        signal: CInt,
        handler: @escaping @MainActor (SignalEvent) -> Void,
        remove: @escaping @MainActor (Observation) -> Void
    ) {
        self.signal = signal
        self.handler = handler
        observation = Observation(whenInvalid: remove)
        Self.lastNumber += 1
        number = Self.lastNumber
    }

    func call(_ event: SignalEvent) {
        if observation.isValid { handler(event) }
    }
}

extension EventHost {
    /// Calls a handler on the main loop for each signal of a kind: with its sender, outside of any signal handler.
    ///
    /// The signal is let through on this thread, whatever its mask, and one that was ignored when the process began (nohup(1)
    /// does that with SIGHUP) is delivered from now on; one that nobody observes stays ignored. Standard signals are one
    /// while they are pending (signal(7)). Real-time signals come each with its value, and in their order unless a thread
    /// of yours takes some: block them there. Up to 4,096 wait for the loop; how many found no room is in the event after
    /// them (`SignalEvent.lost`) or in one of its own (`isCountOnly`). A signal that waits while the process is restarted
    /// waits for the next process.
    ///
    /// SIGTERM and SIGINT are orders to end, and are not lost. Where a handler of one faults, the others are called, and then the
    /// host stops; where that fault is not resumed, the process ends as it says. Where the process is restarted for a fault within 90
    /// seconds after a handler was called, and before the host was told to stop, the next process gets the signal, too
    /// (`SignalEvent.isRepeated`), unless `restart()` did it. From then on nothing restarts that one: it ends in order, or by a fault. A
    /// planned restart waits for the end, and with `Configuration.restart` `.exit` the process ends by the signal. A handler of another
    /// signal that faults as often as an item may (`FaultBudget.perItem`) is not called for a while (`Configuration.Advanced.quarantine`).
    ///
    /// Signals wait for the main loop to run. Where nobody runs it within 10 seconds, as in an `async` main that never calls `run()`, each
    /// has the effect again that it had before, also those that wait, and the log says so; `run()` then delivers them as usual.
    ///
    /// - Parameters:
    ///   - signal: SIGTERM, SIGHUP, SIGRTMIN, …: any but faults, SIGKILL and SIGSTOP.
    ///   - handler: Called in the order of arrival.
    /// - Returns: What to end the observation with; it goes on without it.
    /// - Throws: `EventHostError`, for a fault or what is no signal.
    @discardableResult
    public func onSignal(
        _ signal: CInt,
        _ handler: @escaping @MainActor (SignalEvent) -> Void
    ) throws(EventHostError) -> Observation {
        let held = signalPort.heldSignals
        let observation: Observation
        do {
            observation = try signalWarden.observing { () throws(CrashCaptureError) in
                try signalPort.observe(signal, handler) { [weak self] in self?.updateHeldSignals() }
            }
        } catch {
            throw EventHostError(error)
        }
        if signalPort.heldSignals != held { updateHeldSignals() }
        return observation
    }

    private func updateHeldSignals() {
        prepareRestart(isHealthy: isHealthy)
    }
}
