import Glibc
import HoldfastIO

let host = try EventHost(.keepServing)
let command = ChildProcess.Command(CommandLine.arguments[1], Array(CommandLine.arguments.dropFirst(2)))
var (child, wait) = (ChildProcess?.none, Duration.milliseconds(100))

@MainActor func start() throws {
    child = try ChildProcess(command, keptBy: host, as: "child")
    child?.onExit { _, status in
        print("\(status), again in \(wait)")
        fflush(nil)
        host.loop.perform(after: wait) { try? start() }
        wait = min(wait * 2, .seconds(60))
    }
}
try start()
try host.onSignal(SIGTERM) { _ in
    child?.onExit { _, _ in host.stop() }
    child?.terminate()
}
host.run()
