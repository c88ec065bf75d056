import AllocationCounter
import Glibc
import RunLoops

/// A program that counts what the allocator does while a loop makes a thousand steady passes: `allocation-probe SCENARIO`.
///
/// Writes the numbers of allocations, reallocations and frees in one line, and where the first came from to the standard error.
/// The loop is that of a thread of its own; no other thread does anything, unless the scenario is about that.
@main
enum AllocationProbe {
    static func main() {
        guard CommandLine.arguments.count == 2, let scenario = Scenario(rawValue: CommandLine.arguments[1]) else {
            exit(64)
        }
        let probe = Probe(scenario)
        let count = probe.play()
        print(count.allocations, count.reallocations, count.frees)
        hf_allocation_count_print_origins()
    }
}

/// What makes the passes.
enum Scenario: String {
    case control
    case source
    case severalSources = "several-sources"
    case timer
    case movedTimer = "moved-timer"
    case port
    case observers
    case sleeping
    case poll
    case limit
    case nested
    case wakeUps = "wake-ups"
    case events
    case messages
}
