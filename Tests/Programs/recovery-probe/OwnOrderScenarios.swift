import Dispatch
import FaultInjection
import Glibc
import Holdfast
import Synchronization

private let isTaken = Atomic<Bool>(false)

/// signalfd(2), which the module of the C library leaves out.
@_silgen_name("signalfd") private func makeSignalDescriptor(
    _ old: CInt,
    _ mask: UnsafePointer<sigset_t>,
    _ flags: CInt
) -> CInt

private func take(_ signal: CInt) {
    if signal == SIGTERM { isTaken.store(true, ordering: .sequentiallyConsistent) }
}

/// Programs that take an order to end by means of their own: `recovery-probe own-order STORE HOW WHAT`.
@MainActor
enum OwnOrderScenarios {
    private static var holds: [Hold] = []
    private static var source: (any DispatchSourceSignal)?

    static func run(_ store: String, _ arguments: [String]) throws {
        guard arguments.count == 2 else { exit(64) }
        let (how, what) = (arguments[0], arguments[1])
        if how == "seen" { return saySeen() }
        // Who waits for a signal has it blocked everywhere.
        if how == "wait" || how == "descriptor" { block() }
        let host = try HostScenario.host(store) { configuration in
            // Short, where nothing ends it before; else it may take as long as it likes.
            configuration.advanced.drainDeadline = what == "ends" ? .seconds(1000) : .milliseconds(200)
        }
        guard host.restarts == 0 else {
            Probe.say("restarted")
            return host.close()
        }
        listen(how)
        host.onRestart { Probe.say("handing over") }
        host.onDrain { drain in
            Probe.say("draining \(drain.reason)")
            guard what == "drain" || what == "ends" else { return }
            holds.append(drain.hold())
            if what == "ends" { Probe.startThread { exitLater() } } else { kill(getpid(), SIGTERM) }
        }
        let tick = HostRunLoop.Timer(label: "tick", after: .zero, repeating: .milliseconds(1)) { timer in
            guard isTaken.load(ordering: .sequentiallyConsistent) else { return }
            timer.invalidate()
            Probe.say("taken")
            fault(host, what)
        }
        host.loop.add(tick, to: .common)
        host.perform {
            switch what {
            case "drain", "unasked": Probe.startThread { Fault.wildPointer.commit() }
            default: kill(getpid(), SIGTERM)
            }
        }
        host.run()
    }

    private static func release() {
        for hold in holds { hold.release() }
        holds = []
    }

    /// Ends the process as the program wants it, when the thread that faulted waits for nothing any more.
    nonisolated private static func exitLater() {
        while !Probe.awaitsRestart { usleep(1000) }
        HostRunLoop.main.perform { MainActor.assumeIsolated { release() } }
        while Probe.awaitsRestart { usleep(1000) }
        exit(3)
    }

    /// What happens once the program has the order.
    private static func fault(_ host: EventHost, _ what: String) {
        switch what {
        case "main": host.perform { Fault.wildPointer.commit() }
        case "drain": release()
        default: Probe.startThread { Fault.wildPointer.commit() }
        }
    }

    /// As swift-service-lifecycle does it; returns when it would hear of the signal.
    nonisolated private static func makeSource() -> any DispatchSourceSignal {
        let source = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
        let isRegistered = DispatchSemaphore(value: 0)
        source.setEventHandler { take(SIGTERM) }
        source.setRegistrationHandler { isRegistered.signal() }
        source.resume()
        isRegistered.wait()
        return source
    }

    private static func block() {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGTERM)
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    private static func listen(_ how: String) {
        switch how {
        case "source": source = makeSource()
        case "handler": signal(SIGTERM) { take($0) }
        case "action":
            var action = sigaction()
            action.sa_flags = CInt(bitPattern: UInt32(SA_SIGINFO))
            action.__sigaction_handler.sa_sigaction = { signal, _, _ in take(signal) }
            sigaction(SIGTERM, &action, nil)
        case "wait":
            Probe.startThread {
                var set = sigset_t()
                sigemptyset(&set)
                sigaddset(&set, SIGTERM)
                var signal: CInt = 0
                while sigwait(&set, &signal) == 0 { take(signal) }
            }
        case "descriptor":
            var set = sigset_t()
            sigemptyset(&set)
            sigaddset(&set, SIGTERM)
            let descriptor = makeSignalDescriptor(-1, &set, 0)
            Probe.startThread {
                // The number comes first in struct signalfd_siginfo, which has 128 bytes.
                var words = [UInt32](repeating: 0, count: 32)
                while read(descriptor, &words, 128) == 128 { take(CInt(words[0])) }
            }
        default: exit(64)
        }
    }

    /// Says whether a program finds the handlers that it has set itself.
    private static func saySeen() {
        let first: @convention(c) (CInt) -> Void = { take($0) }
        let second: @convention(c) (CInt) -> Void = { _ in }
        func address(_ handler: (@convention(c) (CInt) -> Void)?) -> Int { unsafeBitCast(handler, to: Int.self) }
        signal(SIGTERM, first)
        var action = sigaction()
        action.__sigaction_handler.sa_handler = second
        var before = sigaction()
        sigaction(SIGTERM, &action, &before)
        Probe.say("first \(address(before.__sigaction_handler.sa_handler) == address(first))")
        Probe.say("second \(address(signal(SIGTERM, SIG_DFL)) == address(second))")
        sigaction(SIGTERM, nil, &before)
        Probe.say("default \(address(before.__sigaction_handler.sa_handler) == 0)")
    }
}
