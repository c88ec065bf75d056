import FaultInjection
import Glibc
import RunLoops
import SystemPackage

/// The agent without Holdfast: the same connections and the same loop, but nothing stands between a fault and the end.
///
/// What `holdfast-benchmark` measures recovery against; ended by any signal.
@MainActor
final class UnprotectedAgent {
    private let listener: Listener
    private var listenerSource: HostRunLoop.PortSource?
    private let loop = HostRunLoop.main
    private var clients: [ObjectIdentifier: Client] = [:]

    init(port: UInt16) throws {
        listener = try Listener(port: port)
    }

    /// Serves for ever.
    func serve() throws {
        let port = HostRunLoop.PortSource(label: "listener", descriptor: FileDescriptor(rawValue: listener.descriptor))
        { [weak self] _, _ in
            MainActor.assumeIsolated { self?.accept() }
        }
        listenerSource = port
        try loop.add(port, to: .common)
        print("listening 127.0.0.1:\(listener.port) pid \(getpid())")
        fflush(nil)
        loop.run()
    }

    private func accept() {
        do {
            try acceptAll()
        } catch {
            if let listenerSource { Listener.rest(listenerSource, on: loop) }
        }
    }

    private func acceptAll() throws(SystemError) {
        while let descriptor = try listener.accept() {
            let client = Client(
                descriptor: descriptor,
                number: Int(descriptor),
                answer: { [weak self] line in self?.answer(line) ?? "ERR shutting down" },
                closing: { [weak self] client in self?.clients[ObjectIdentifier(client)] = nil }
            )
            guard (try? client.start(on: loop)) != nil else { return client.close() }
            clients[ObjectIdentifier(client)] = client
        }
    }

    private func answer(_ line: String) -> String {
        switch Request(line: line) {
        case .ping: return "PONG"
        case .fault(let fault):
            fault.commit()
            return "ERR the fault did not happen"
        default: return "ERR only PING and FAULT without Holdfast"
        }
    }
}
