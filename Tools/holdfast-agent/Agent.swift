import FaultInjection
import Glibc
import Holdfast
import Logging
import RunLoops
import SystemPackage

/// The daemon: values in memory, served to many clients on the host's loop.
@MainActor
final class Agent {
    private let options: HoldfastAgent
    private let host: EventHost
    private let listener: Listener
    private let started = HostRunLoop.Instant.now
    private var values: [String: String] = [:]
    private var clients: [ObjectIdentifier: Client] = [:]
    private var injectors: [Injector] = []
    private var requests = 0
    private var heartbeats = 0
    private var logger = Logger(label: "holdfast-agent")

    init(options: HoldfastAgent) throws {
        self.options = options
        var configuration = EventHost.Configuration()
        configuration.store = options.store.map { FilePath($0) }
        configuration.afterFault = options.afterFault.value
        configuration.budget = .generous
        configuration.policy.resumesStackOverflows = true
        host = try EventHost(configuration)
        // A process that was restarted in place serves on the same socket: its backlog waited.
        if let kept = host.keptDescriptor(named: "listener"), let listener = try? Listener(keptDescriptor: kept) {
            self.listener = listener
        } else {
            listener = try Listener(port: options.port)
        }
        host.keepAcrossRestart(listener.descriptor, as: "listener")
    }

    /// Serves until a signal or the end of `--duration`.
    func serve() throws {
        loadValues()
        try listen()
        try observeSignals()
        startTimers()
        // The connection whose callout was abandoned is the one to lose.
        host.onFault { [weak self] fault in self?.dropClient(ofItem: fault.item) }
        // A fault at start that restarts the process would do so for ever.
        if host.history.restarts == 0 {
            for injection in options.inject {
                let injector = Injector(injection, on: host.loop)
                try injector.start()
                injectors.append(injector)
            }
        }
        say("listening 127.0.0.1:\(listener.port) pid \(getpid())")
        host.run()
        for client in Array(clients.values) { client.close() }
        host.close()
    }

    // MARK: Connections

    private func listen() throws {
        let port = HostRunLoop.PortSource(label: "listener", descriptor: listener.descriptor) { [weak self] _ in
            MainActor.assumeIsolated { self?.accept() }
        }
        try host.loop.add(port, to: .common)
    }

    private func accept() {
        // A bound on one callout, so that a flood of connections does not starve those that are open.
        for _ in 0..<64 {
            guard let descriptor = listener.accept() else { return }
            let client = Client(
                descriptor: descriptor,
                answer: { [weak self] line in self?.answer(line) ?? "ERR shutting down" },
                closed: { [weak self] client in self?.clients[ObjectIdentifier(client)] = nil }
            )
            do {
                try client.start(on: host.loop)
                clients[ObjectIdentifier(client)] = client
            } catch {
                logger.error("cannot serve a connection: \(error)")
                client.close()
            }
        }
    }

    private func dropClient(ofItem item: UInt64) {
        clients.values.first { $0.source?.identifier == item }?.close()
    }

    // MARK: Requests

    private func answer(_ line: String) -> String {
        requests += 1
        switch Request(line: line) {
        case .set(let key, let value):
            values[key] = value
            return "OK"
        case .get(let key):
            return values[key].map { "VALUE \($0)" } ?? "NONE"
        case .ping:
            return "PONG"
        case .stats:
            return statistics
        case .fault(let fault):
            fault.commit()
            return "ERR the fault did not happen"
        case .invalid(let reason):
            return "ERR \(reason)"
        }
    }

    private var statistics: String {
        let uptime = started.duration(to: .now) / .seconds(1)
        let faults = host.faults
        let fields: [(String, any CustomStringConvertible)] = [
            ("pid", getpid()),
            ("uptimeSeconds", (uptime * 1000).rounded() / 1000),
            ("connections", clients.count),
            ("requests", requests),
            ("faultsResumed", faults.resumed),
            ("restarts", host.history.restarts),
            ("heartbeats", heartbeats),
            ("buriedStackBytes", faults.buriedBytes),
        ]
        return "{" + fields.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
    }

    // MARK: Signals and timers

    private func observeSignals() throws {
        for signal in [SIGTERM, SIGINT] {
            try host.onSignal(signal) { [weak self] event in
                self?.logger.notice(
                    "stopping",
                    metadata: ["signal": "\(event.signal)", "sender": "\(event.senderPid)"]
                )
                self?.host.stop()
            }
        }
        try host.onSignal(SIGHUP) { [weak self] _ in self?.loadValues() }
    }

    private func startTimers() {
        let heartbeat = HostRunLoop.Timer(label: "heartbeat", after: .seconds(1), repeating: .seconds(1)) {
            [weak self] _ in
            MainActor.assumeIsolated { self?.heartbeats += 1 }
        }
        host.loop.add(heartbeat, to: .common)
        if let duration = options.duration {
            let end = HostRunLoop.Timer(label: "duration", after: .seconds(duration)) { [weak self] _ in
                MainActor.assumeIsolated { self?.host.stop() }
            }
            host.loop.add(end, to: .common)
        }
    }

    private func loadValues() {
        guard let path = options.values else { return }
        do {
            let loaded = try ValuesFile.load(path)
            values.merge(loaded) { _, new in new }
            logger.notice("loaded values", metadata: ["file": "\(path)", "count": "\(loaded.count)"])
        } catch {
            logger.error("cannot load values, keeping those in memory: \(path): \(error)")
        }
    }

    /// Writes a line to stdout now: whoever started the agent waits for it.
    private func say(_ line: String) {
        try? _ = FileDescriptor.standardOutput.writeAll((line + "\n").utf8)
    }
}
