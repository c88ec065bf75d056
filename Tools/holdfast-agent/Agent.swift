import FaultInjection
import Glibc
import HoldfastIO
import Logging
import SystemPackage

/// The daemon: values in memory, served to many clients on the host's loop.
///
/// What survives, by the way it ends:
///
///                              values that were SET    connections         of --values
///     a fault that is resumed  yes                     all but its own     yes
///     a planned restart        no                      all                 read again
///     a restart for a fault    no                      all but its own     read again
///     --exit-status            no                      none                read again
///
/// Values are not handed over: memory in which something faulted is what a restart is to get rid of.
@MainActor
final class Agent {
    private let options: HoldfastAgent
    private let host: EventHost
    private let listener: Listener
    private let started = HostRunLoop.Instant.now
    private var values: [String: String] = [:]
    private var injectors: [Injector] = []
    private var requests = 0
    /// How many requests there had been when the loop was about to sleep while draining.
    private var requestsAtPause: Int?
    private var heartbeats = 0
    private var logger = Logger(label: "holdfast-agent")

    init(options: HoldfastAgent) throws {
        self.options = options
        var configuration = EventHost.Configuration.conservative
        configuration.store = options.store
        configuration.budget = .generous
        configuration.recoveryPolicy.resumesStackOverflows = true
        options.afterFault.apply(to: &configuration)
        if let status = options.exitStatus { configuration.restart = .exit(CInt(status)) }
        var stalls = StallPolicy.default
        if let threshold = options.stallThreshold { stalls.rule = .once(after: .milliseconds(threshold)) }
        stalls.tick = options.tick.map { .milliseconds($0) }
        configuration.stallPolicy = stalls
        if let limit = options.crashLoopAfter { configuration.advanced.earlyEnds = limit.earlyEnds }
        if let deadline = options.calloutDeadline {
            configuration.calloutDeadline = CalloutDeadline(after: .milliseconds(deadline))
        }
        host = try EventHost(configuration)
        // A process that was restarted in place serves on the same socket: its backlog waited.
        listener = try Listener(.tcp(port: options.port), name: "client", keptBy: host)
        listener.limits.lowWater = 0
    }

    /// Serves until a signal or the end of `--duration`.
    func serve() throws {
        loadValues()
        listener.onConnection { [weak self] connection in self?.serve(connection) }
        try observeSignals()
        startTimers()
        host.onDrain { [weak self] drain in self?.finish(drain) }
        // A fault at start that restarts the process would do so for ever.
        if host.restarts == 0 {
            for injection in options.injections {
                let injector = Injector(injection, on: host.loop)
                try injector.start()
                injectors.append(injector)
            }
        }
        say("listening \(listener.endpoint) pid \(getpid())", to: .standardOutput)
        host.run()
        if let ticks = host.statistics.ticks { log(ticks) }
        for client in listener.openConnections { client.close() }
        host.close()
    }

    // MARK: Connections

    private func serve(_ connection: Connection) {
        connection.onLine { [weak self] connection, line in
            connection.send((self?.answer(line) ?? "ERR shutting down") + "\n")
        }
        connection.onLongLine { connection in connection.send("ERR line too long\n") }
    }

    /// Takes no new connections, answers what has come, and lets the process be replaced.
    ///
    /// Answers that a peer does not take are left to the next process.
    private func finish(_ drain: Drain) {
        listener.isAccepting = false
        let hold = drain.hold()
        requestsAtPause = nil
        let quiet = HostRunLoop.Observer(label: "drained", activities: .beforeWaiting) { [weak self] observer, _ in
            if let self, self.hasRequests() { return }
            observer.invalidate()
            hold.release()
        }
        host.loop.add(quiet, to: .common)
    }

    /// Whether there may be requests that have come: there were some, or the loop has to look once more.
    private func hasRequests() -> Bool {
        guard requestsAtPause != requests else { return false }
        requestsAtPause = requests
        host.loop.wakeUp()
        return true
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
        case .stall(let stall, let milliseconds):
            stall.commit(milliseconds: milliseconds)
            return "OK"
        case .invalid(let reason):
            return "ERR \(reason)"
        }
    }

    private var statistics: String {
        let uptime = started.duration(to: .now) / .seconds(1)
        let numbers = host.statistics
        let fields: [(String, any CustomStringConvertible)] = [
            ("pid", getpid()),
            ("uptimeSeconds", (uptime * 1000).rounded() / 1000),
            ("connections", listener.openConnections.count),
            ("requests", requests),
            ("faultsResumed", numbers.resumedFaults),
            ("restarts", host.restarts),
            ("safeMode", host.isInSafeMode),
            ("heartbeats", heartbeats),
            ("stalls", numbers.stalls),
            ("buriedStackBytes", numbers.buriedBytes),
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
            self?.beat()
        }
        host.loop.add(heartbeat, to: .common)
        if let duration = options.duration {
            let end = HostRunLoop.Timer(label: "duration", after: .seconds(duration)) { [weak self] _ in
                self?.host.stop()
            }
            host.loop.add(end, to: .common)
        }
    }

    private func beat() {
        heartbeats += 1
        // A restart that failed: the process goes on.
        if !host.isDraining, !listener.isAccepting { listener.isAccepting = true }
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

    /// Says how regularly the loop ticked.
    private func log(_ statistics: TickStatistics) {
        logger.notice(
            "ticks",
            metadata: [
                "count": "\(statistics.ticks)", "missed": "\(statistics.missed)",
                "median": "\(Self.text(statistics.lateness(ofPart: 0.5) ?? .zero))",
                "latest": "\(Self.text(statistics.latest))",
                "smoothness": "\((statistics.smoothness * 10_000).rounded() / 10_000)",
                "hitchRatio": "\((statistics.hitchRatio * 100).rounded() / 100) ms/s",
            ]
        )
    }

    private static func text(_ duration: Duration) -> String {
        "\((duration / .microseconds(1)).rounded() / 1000) ms"
    }
}
