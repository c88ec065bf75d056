import Glibc
import HoldfastIO

if CommandLine.arguments.count < 2 { print("usage: child-supervisor PROGRAM [ARGUMENT ...]") }
guard let program = CommandLine.arguments.dropFirst().first else { exit(64) }
let host = try EventHost(.keepServing)
var child: ChildProcess?

@MainActor func start(thenAfter wait: Duration) {
    func again(_ why: String) {
        host.loop.perform(after: wait) { start(thenAfter: min(wait * 2, .seconds(60))) }
        print("\(why), again in \(wait)")
        fflush(nil)
    }
    child = try? ChildProcess(.init(program, Array(CommandLine.arguments.dropFirst(2))), keptBy: host, as: "child")
    child?.onExit { _, status in again("\(status)") }
    if child == nil { again("cannot start \(program)") }
}
start(thenAfter: .milliseconds(100))
try host.onSignal(SIGTERM) { _ in child?.onExit { _, _ in host.stop() } }
try host.onSignal(SIGTERM) { _ in child?.terminate() }
host.run()
