import Glibc
import LinuxSystem

/// A program that the tests of the main thread's loop run: `main-loop-probe SCENARIO`.
///
/// Its `main` is synchronous and nothing in it links Foundation: the loop is the only one to serve the main dispatch queue and
/// `MainActor`. A scenario says on the standard output what happened, a line each.
@main
enum MainLoopProbe {
    @MainActor static func main() {
        guard CommandLine.arguments.count == 2, let scenario = Scenario(rawValue: CommandLine.arguments[1]) else {
            exit(64)
        }
        scenario.play()
    }
}

/// What the probe does.
enum Scenario: String {
    case neverEmpty = "never-empty"
    case dispatchBlocks = "dispatch-blocks"
    case mainActor = "main-actor"
    case commonModesOnly = "common-modes-only"
    case handledSource = "handled-source"
    case insideMainQueue = "inside-main-queue"
    case insideTimer = "inside-timer"
    case insideBoth = "inside-both"
    case staleReadiness = "stale-readiness"
    case dispatchTimer = "dispatch-timer"
    case whileAsleep = "while-asleep"
    case taskExecutor = "task-executor"
    case signal
    case waitingForAnyMode = "waiting-for-any-mode"
    case noDescriptors = "no-descriptors"
    case isolation
}

/// Writes a line at once.
func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = write(STDOUT_FILENO, bytes, bytes.count)
}

/// "main" on the thread that the process started with.
var threadName: String { ThreadIdentity.isMain ? "main" : "other" }
