// A server that keeps nothing across restarts: another process can serve in its place.

import Glibc
import HoldfastIO

var configuration = EventHost.Configuration.keepServing
configuration.store = CommandLine.arguments[2]
let host = try EventHost(configuration)
let listener = try Listener(.tcp(port: UInt16(CommandLine.arguments[1]) ?? 0), name: "server")
listener.onConnection { connection in
    connection.onLine { connection, line in
        switch line {
        case "fault": EventHost.withCriticalSection { precondition(line != "fault") }
        case "kill": kill(getpid(), SIGKILL)
        case "restart": host.restart()
        default: connection.send("\(getpid())\n")
        }
    }
}
try host.onSignal(SIGTERM) { _ in host.stop() }
print("up \(getpid())")
fflush(nil)
host.run()
host.close()
