// A server that another process can replace: it keeps nothing across restarts, unless its last argument is "keep".

import Glibc
import HoldfastIO
import SystemPackage

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
try host.onSignal(SIGUSR1) { _ in host.restart() }
if CommandLine.arguments.count > 3 {
    // Nothing says what to do with it in a process that serves already.
    if let kept = host.keptState(named: "it") { print("\(String(decoding: kept, as: UTF8.self)) \(getpid())") }
    try host.keepAcrossRestart(.standardInput, as: "it", state: Array("kept".utf8))
}
print("up \(getpid())")
fflush(nil)
host.run()
host.close()
