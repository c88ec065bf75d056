import FaultInjection
import Glibc
import HoldfastIO

/// The agent without Holdfast: the same connections and the same loop, but nothing stands between a fault and the end.
///
/// What `holdfast-benchmark` measures recovery against; ended by any signal.
@MainActor
final class UnprotectedAgent {
    private let listener: Listener

    init(port: UInt16) throws {
        listener = try Listener(.tcp(port: port), name: "client")
    }

    /// Serves for ever.
    func serve() throws {
        listener.onConnection { [weak self] connection in
            connection.onLine { connection, line in
                connection.send((self?.answer(line) ?? "ERR shutting down") + "\n")
            }
        }
        print("listening \(listener.endpoint) pid \(getpid())")
        fflush(nil)
        HostRunLoop.main.run()
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
