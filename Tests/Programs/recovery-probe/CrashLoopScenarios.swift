import FaultInjection
import Glibc
import Holdfast

/// Processes that end one after the other: `recovery-probe crash-loops STORE WHAT`.
@MainActor
enum CrashLoopScenarios {
    static func run(_ store: String, _ arguments: [String]) throws {
        var configuration = EventHost.Configuration.conservative
        configuration.store = store
        // What is looked at is not how long a verdict takes on a busy machine.
        configuration.advanced.verdictDeadline = .seconds(10)
        let short = BackOff(first: .milliseconds(1), longest: .milliseconds(5))
        switch arguments.first {
        case "hang-up": try hangUp(EventHost(configuration))
        case "hard": try hard(EventHost(configuration))
        case "threads":
            configuration.restart = .exit(42)
            try threads(EventHost(configuration))
        case "gone":
            configuration.restart = .exit(42)
            configuration.advanced.startDelay = .none
            try gone(EventHost(configuration))
        case "told-exit", "told-signal":
            configuration.restart = arguments[0] == "told-exit" ? .exit(42) : .never
            configuration.givesUpAfter = 3
            try hard(EventHost(configuration))
        case "attacked":
            configuration.advanced.healthyAfter = .milliseconds(500)
            configuration.advanced.startDelay = .none
            try attacked(EventHost(configuration))
        case "connections": try connections(EventHost(configuration))
        case "datagrams":
            configuration.advanced.startDelay = short
            try datagrams(EventHost(configuration))
        case "labels":
            configuration.advanced.healthyAfter = .milliseconds(50)
            configuration.advanced.startDelay = .none
            try labels(EventHost(configuration))
        case "waiting", "waiting-thread", "waiting-heap", "waiting-handler":
            configuration.advanced.startDelay = BackOff(first: .seconds(36_000), longest: .seconds(36_000))
            try waiting(EventHost(configuration), arguments[0])
        case "for-ever":
            configuration.advanced.startDelay = short
            try forEver(EventHost(configuration))
        case "overdue":
            configuration.advanced.startDelay = short
            try overdue(EventHost(configuration))
        case "start":
            configuration.advanced.startDelay = short
            try start(EventHost(configuration))
        case "late-start":
            configuration.restart = .exit(42)
            let host = try EventHost(configuration)
            Fault.wildPointer.commit()
            host.close()
        default: exit(64)
        }
    }

    private static func tell(_ host: EventHost) {
        let stage = host.stage == .normal ? "normal" : "safe"
        host.perform { Probe.say("ready \(host.restarts) \(stage)") }
    }

    private static func endWhenTold(_ host: EventHost) throws {
        try host.onSignal(SIGTERM) { _ in
            Probe.say("told to end")
            host.stop()
        }
    }

    /// A handler of SIGHUP that always faults, and nothing else.
    private static func hangUp(_ host: EventHost) throws {
        try host.onSignal(SIGHUP) { _ in Fault.nilUnwrap.commit() }
        try endWhenTold(host)
        tell(host)
        host.run()
    }

    /// A handler of SIGUSR1 that is never resumed.
    private static func hard(_ host: EventHost) throws {
        try host.onSignal(SIGUSR1) { _ in Fault.wildPointer.commit() }
        try endWhenTold(host)
        tell(host)
        host.run()
    }

    /// Eight threads fault at once, unless a variable says that this process is to look.
    private static func threads(_ host: EventHost) throws {
        tell(host)
        guard getenv("PROBE_LOOKS") == nil else {
            host.perform { host.stop() }
            return host.run()
        }
        let go = UnsafeMutablePointer<pthread_barrier_t>.allocate(capacity: 1)
        pthread_barrier_init(go, nil, 9)
        let address = UInt(bitPattern: go)
        for _ in 1...8 {
            Probe.startThread {
                if let go = UnsafeMutablePointer<pthread_barrier_t>(bitPattern: address) { pthread_barrier_wait(go) }
                Fault.wildPointer.commit()
            }
        }
        host.perform {
            pthread_barrier_wait(go)
            Fault.wildPointer.commit()
        }
        host.run()
    }

    /// Faults once, and is gone, unless a variable says that this process is to look.
    private static func gone(_ host: EventHost) throws {
        tell(host)
        host.perform { if getenv("PROBE_LOOKS") == nil { Fault.wildPointer.commit() } else { host.stop() } }
        host.run()
    }

    /// A server whose connections all have the same label: a line "fault" is one, any other comes back.
    private static func connections(_ host: EventHost) throws {
        try endWhenTold(host)
        let listener = (host.keptDescriptor(named: "listener")?.rawValue) ?? RestartScenarios.listen().descriptor
        try host.keepAcrossRestart(FileDescriptor(rawValue: listener), as: "listener")
        var open: [UInt64: (port: HostRunLoop.PortSource, descriptor: CInt)] = [:]
        let end: @MainActor (UInt64) -> Void = { item in
            guard let connection = open.removeValue(forKey: item) else { return }
            connection.port.invalidate()
            close(connection.descriptor)
        }
        let port = HostRunLoop.PortSource(label: "listener", descriptor: FileDescriptor(rawValue: listener)) { _, _ in
            let descriptor = accept(listener, nil, nil)
            guard descriptor >= 0 else { return }
            var item: UInt64 = 0
            let connection = HostRunLoop.PortSource(
                label: "connection",
                descriptor: FileDescriptor(rawValue: descriptor)
            ) { _, _ in
                MainActor.assumeIsolated {
                    var bytes = [UInt8](repeating: 0, count: 64)
                    let count = read(descriptor, &bytes, bytes.count)
                    guard count > 0 else { return end(item) }
                    if bytes.starts(with: "fault".utf8) { Fault.nilUnwrap.commit() }
                    _ = write(descriptor, bytes, count)
                }
            }
            item = connection.identifier
            open[item] = (connection, descriptor)
            _ = try? host.loop.add(connection, to: .common)
        }
        try host.loop.add(port, to: .common)
        host.onFault { end($0.item) }
        host.perform { Probe.say("port \(RestartScenarios.port(of: listener))") }
        host.run()
    }

    /// A server of datagrams on one socket, made at the start and kept: "fault" ends the process, any other comes back.
    private static func datagrams(_ host: EventHost) throws {
        try endWhenTold(host)
        let kept = (host.keptDescriptor(named: "datagrams")?.rawValue)
        let receiver = kept ?? SharedPortScenarios.bound().descriptor
        if kept == nil { Probe.say("port \(RestartScenarios.port(of: receiver))") }
        try host.keepAcrossRestart(FileDescriptor(rawValue: receiver), as: "datagrams")
        let port = HostRunLoop.PortSource(label: "datagrams", descriptor: FileDescriptor(rawValue: receiver)) { _, _ in
            var bytes = [UInt8](repeating: 0, count: 64)
            var sender = sockaddr_storage()
            var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
            withUnsafeMutablePointer(to: &sender) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    let count = recvfrom(receiver, &bytes, bytes.count, CInt(MSG_DONTWAIT), address, &size)
                    guard count > 0 else { return }
                    if bytes.starts(with: "fault".utf8) { Fault.wildPointer.commit() }
                    _ = sendto(receiver, bytes, count, 0, address, size)
                }
            }
        }
        try host.loop.add(port, to: .common)
        tell(host)
        host.run()
    }

    /// In safe mode: a timer that has its label for itself, two that share one, and one that is made while the host runs.
    private static func labels(_ host: EventHost) throws {
        try endWhenTold(host)
        func timer(_ label: String, says words: String) -> HostRunLoop.Timer {
            HostRunLoop.Timer(label: label, after: .zero) { _ in Probe.say(words) }
        }
        host.loop.add(timer("unique", says: "unique"))
        host.loop.add(timer("shared", says: "shared 1"))
        host.loop.add(timer("shared", says: "shared 2"))
        host.perform {
            Probe.say("withheld \(host.loop.withheldItems.map(\.label)) \(host.stage != .normal)")
            host.loop.add(timer("late", says: "late"))
        }
        host.run()
        Probe.say("withheld \(host.loop.withheldItems.map(\.label)) \(host.stage != .normal)")
    }

    /// A server that is bound before the run, which waits for hours; a thread, or a handler of SIGHUP, faults meanwhile.
    private static func waiting(_ host: EventHost, _ what: String) throws {
        try endWhenTold(host)
        try host.onSignal(SIGHUP) { _ in Fault.wildPointer.commit() }
        try host.onSignal(SIGUSR1) { _ in Probe.say("waits \(Probe.awaitsRestart)") }
        host.onDrain { _ in Probe.say("draining") }
        if what != "waiting", host.restarts == 3 { faultInWait(what) }
        let (listener, number) = RestartScenarios.listen()
        let port = HostRunLoop.PortSource(label: "listener", descriptor: FileDescriptor(rawValue: listener)) { _, _ in
            Probe.say("served")
        }
        try host.loop.add(port, to: .common)
        Probe.say("port \(number)")
        host.run()
    }

    /// Faults on a thread from before the run, once that waits: the kernel gives SIGALRM, which nobody else takes, to that thread.
    private static func faultInWait(_ what: String) {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGALRM)
        pthread_sigmask(SIG_BLOCK, &set, nil)
        guard what != "waiting-handler" else { return }
        let isHeap = what == "waiting-heap"
        Probe.startThread {
            var set = sigset_t()
            sigemptyset(&set)
            sigaddset(&set, SIGALRM)
            var taken: CInt = 0
            sigwait(&set, &taken)
            if isHeap { Fault.doubleFree.commit() } else { Fault.wildPointer.commit() }
        }
    }

    /// Every process faults before it has served anything, for a dozen times.
    private static func forEver(_ host: EventHost) throws {
        tell(host)
        let looks = getenv("PROBE_LOOKS") != nil
        host.perform { if host.restarts < 12, !looks { Fault.wildPointer.commit() } else { host.stop() } }
        host.run()
    }

    /// A timer is never done in time, and may not be abandoned; tasks of the main actor start at once, and wait for faults.
    private static func overdue(_ host: EventHost) throws {
        let job = HostRunLoop.Timer(label: "job", after: .milliseconds(50)) { _ in while true {} }
        job.recoveryPolicy = .swiftTraps
        job.calloutDeadline = CalloutDeadline(after: .milliseconds(20))
        host.loop.add(job)
        Task { for await _ in host.faults {} }
        Task {
            let without = host.loop.withheldItems.map(\.label)
            Probe.say("started \(host.history.restarts) without \(without)")
            if !without.isEmpty || host.history.restarts > 9 { host.stop() }
        }
        host.run()
    }

    /// The same before the run.
    private static func start(_ host: EventHost) throws {
        Probe.say("begun \(host.restarts)")
        if host.restarts < 4 { Fault.wildPointer.commit() }
        host.perform { host.stop() }
        host.run()
    }

    /// An item brings safe mode, and is mended; from then on every process serves a client once, and faults for it the second time.
    private static func attacked(_ host: EventHost) throws {
        let restarts = host.restarts
        if restarts <= 5 { Probe.say("begun \(restarts) \(host.stage != .normal)") }
        var requests = 0
        let client = HostRunLoop.Timer(label: "client", after: .milliseconds(1), repeating: .milliseconds(1)) { _ in
            if restarts > 100 { return host.stop() }
            requests += 1
            if requests == 2 { Fault.wildPointer.commit() }
        }
        let sync = HostRunLoop.Timer(label: "sync", after: .zero) { _ in
            if restarts < 5 { Fault.wildPointer.commit() }
            Probe.say("served at last")
            // One that is due in the same pass would fault after the stop, which ends the process by a signal.
            client.invalidate()
            host.stop()
        }
        host.loop.add(sync, to: .common)
        if restarts >= 5 { host.loop.add(client, to: .common) }
        host.run()
    }
}
