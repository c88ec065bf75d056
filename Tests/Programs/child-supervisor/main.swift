import Glibc
import HoldfastIO

guard let program = CommandLine.arguments.dropFirst().first else {
    print("usage: child-supervisor PROGRAM [ARGUMENT ...]")
    exit(64)
}
let host = try EventHost(.keepServing)
var child: ChildProcess?

@MainActor func start(thenAfter wait: Duration) throws {
    child = try ChildProcess(.init(program, Array(CommandLine.arguments.dropFirst(2))), keptBy: host, as: "child")
    child?.onExit { _, status in
        print("\(status), again in \(wait)")
        fflush(nil)
        host.loop.perform(after: wait) { try? start(thenAfter: min(wait * 2, .seconds(60))) }
    }
}
try start(thenAfter: .milliseconds(100))
try host.onSignal(SIGTERM) { _ in child?.onExit { _, _ in host.stop() } }
try host.onSignal(SIGTERM) { _ in child?.terminate() }
host.run()
