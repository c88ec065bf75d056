import Glibc
import HoldfastIO

let host = try EventHost(.keepServing)
let port = CommandLine.arguments.dropFirst().first.flatMap { UInt16($0) } ?? 7777
let listener = try Listener(.tcp(port: port), name: "echo", keptBy: host)
listener.onConnection { connection in
    connection.onLine { connection, line in
        precondition(line != "fault")
        connection.send(line + "\n")
    }
}
try host.onSignal(SIGTERM) { _ in host.stop() }
print("listening at \(listener.endpoint)")
fflush(nil)
host.run()
host.close()
