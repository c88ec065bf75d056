import Glibc
import Holdfast

/// A program with bugs to tell apart: `fingerprint-probe BUG WAY DEPTH STORE`.
///
/// It commits one bug, reached in one of several ways, and ends. With `-DSHIFTED` its source has other lines, and closures and functions
/// that were not there before, as after a week of work.
@main
enum FingerprintProbe {
    @MainActor static func main() {
        let arguments = CommandLine.arguments
        guard arguments.count == 5, let bug = Bug(rawValue: arguments[1]), let way = Way(rawValue: arguments[2]),
            let depth = Int(arguments[3])
        else {
            for bug in Bug.allCases { print(bug.rawValue) }
            exit(EX_USAGE)
        }
        do {
            var configuration = EventHost.Configuration.conservative
            // Reports are counted, and a busy machine makes stalls.
            configuration.stallPolicy = nil
            configuration.store = arguments[4]
            configuration.recoveryPolicy = .allMemoryFaults
            configuration.afterResume = .keepServing
            configuration.advanced.calloutStackSize = 256 << 10
            let host = try EventHost(configuration)
            guard host.restarts == 0 else { exit(0) }
            let mill = Mill(bug: bug, depth: depth)
            mill.start(way, on: host)
            host.run()
            host.close()
        } catch {
            print("error \(error)")
            exit(EXIT_FAILURE)
        }
    }
}

/// How a bug is reached.
enum Way: String, CaseIterable {
    /// From a timer.
    case timer
    /// From a block, by way of more functions.
    case block
    /// From a thread without a loop.
    case thread
}
