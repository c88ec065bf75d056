import CBenchmark
import RunLoops

/// Measures HostRunLoop, one row per process: `run-loop-benchmark ROW COUNT [EXTRA]`.
///
/// The rows are described in Documentation/Benchmarks.md; holdfast-benchmark calls this program.
@main
enum RunLoopBenchmark {
    static func main() {
        let rows = unsafe [
            row("pass") { PassRows.pass($0, $1) },
            row("poll") { PassRows.poll($0, $1) },
            row("slice") { PassRows.slice($0, $1) },
            row("signal") { PassRows.signal($0, $1) },
            row("sources", warmsUp: false) { PassRows.sources($0, $1) },
            row("modes", warmsUp: false) { PassRows.modes($0, $1) },
            row("blocks") { BlockRows.posted($0, $1) },
            row("commands") { BlockRows.commands($0, $1) },
            row("own-block") { BlockRows.own($0, $1) },
            row("waiting") { BlockRows.waiting($0, $1) },
            row("port") { PortRows.selfWake($0, $1) },
            row("descriptors", warmsUp: false) { PortRows.manyDescriptors($0, $1) },
            row("trip") { ThreadRows.roundTrip($0, $1) },
            row("add", warmsUp: false) { TimerRows.adding($0, $1) },
            row("cancel", warmsUp: false) { TimerRows.cancelling($0, $1) },
            row("fire", warmsUp: false) { TimerRows.firing($0, $1) },
            row("life") { TimerRows.life($0, $1) },
            row("due") { TimerRows.due($0, $1) },
            row("lateness", warmsUp: false) { TimerRows.lateness($0, $1) },
            row("idle", warmsUp: false) { IdleRow.stay($0, $1) },
            Row(),
        ]
        _ = unsafe run_rows(CommandLine.argc, CommandLine.unsafeArgv, rows)
    }

    private static func row(
        _ name: StaticString,
        warmsUp: Bool = true,
        _ measure: @escaping @convention(c) (Int, Int) -> Void
    ) -> Row {
        unsafe name.utf8Start.withMemoryRebound(to: CChar.self, capacity: name.utf8CodeUnitCount + 1) { name in
            unsafe Row(name: name, measure: measure, warms_up: warmsUp)
        }
    }
}
