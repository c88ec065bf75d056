import FaultInjection
import Glibc
import Holdfast
import Logging

/// A server of lines that faults when it is told to, and keeps nothing: `none`, `hold` or `limit` is the first argument.
@MainActor
enum QuietScenarios {
    private static var ports: [UInt64: HostRunLoop.PortSource] = [:]
    private static var hold: Hold?

    /// Serves, with what a plain agent has by default; a process that was restarted only says so.
    static func run(_ store: String, _ arguments: [String]) throws {
        var configuration = EventHost.Configuration.conservative
        configuration.store = store
        configuration.advanced.verdictDeadline = .seconds(10)
        configuration.logger = Logger(label: "probe") { _ in TellingLog() }
        if arguments == ["limit"] { configuration.afterResume = .restartWhenQuiet(within: .milliseconds(500)) }
        let host = try EventHost(configuration)
        guard host.restarts == 0 else {
            Probe.say("restarted \(host.restarts)")
            return host.close()
        }
        let (listener, port) = RestartScenarios.listen()
        host.onFault { fault in
            // The connection whose request was being served.
            ports.removeValue(forKey: fault.item).map(end)
        }
        if arguments == ["hold"] { hold = host.hold() }
        try host.onSignal(SIGUSR1) { _ in hold?.release() }
        let source = HostRunLoop.PortSource(label: "listener", descriptor: FileDescriptor(rawValue: listener)) { _, _ in
            do { try serve(accept(listener, nil, nil), host) } catch { Probe.say("error \(error)") }
        }
        try host.loop.add(source, to: .common)
        Probe.say("port \(port)")
        host.run()
    }

    private static func serve(_ descriptor: CInt, _ host: EventHost) throws {
        let source = HostRunLoop.PortSource(label: "client", descriptor: FileDescriptor(rawValue: descriptor)) { _, _ in
            answer(descriptor)
        }
        ports[source.identifier] = source
        try host.loop.add(source, to: .common)
    }

    /// Sends back what has come.
    private static func answer(_ descriptor: CInt) {
        var bytes = [UInt8](repeating: 0, count: 1024)
        let count = read(descriptor, &bytes, bytes.count)
        guard count > 0 else {
            guard let source = ports.values.first(where: { $0.descriptor.rawValue == descriptor }) else { return }
            ports[source.identifier] = nil
            return end(source)
        }
        if bytes.starts(with: "FAULT".utf8) { Fault.nilUnwrap.commit() }
        _ = write(descriptor, bytes, count)
    }

    private static func end(_ source: HostRunLoop.PortSource) {
        source.invalidate()
        close(source.descriptor.rawValue)
    }
}

/// Says what the host's log says of the time after a fault.
struct TellingLog: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let text = "\(event.message)"
        if text == "the loop is clean again" { Probe.say("clean") }
        if text.hasPrefix("never quiet") { Probe.say("never quiet") }
    }
}
