import Glibc

/// A program that lets threads loose on run loops and keeps account of everything that the loops owe them.
///
/// `run-loop-stress [--seconds N] [--seed N] [--threads N] [--hang-limit SECONDS] [--sabotage race|wake|duplicate]`
///
/// Exits with 0 when all accounts were settled in every round, with 1 when something was lost or came twice. Built with the
/// thread sanitizer (`Tools/stress`) it also shows races. A sabotaged run must fail: it proves that this program sees
/// what it is there to see.
@main
enum RunLoopStress {
    static func main() {
        guard let options = Options(Array(CommandLine.arguments.dropFirst())) else {
            say("usage: run-loop-stress [--seconds N] [--seed N] [--threads N] [--hang-limit N] [--sabotage KIND]")
            exit(64)
        }
        say("seed \(options.seed), \(options.threads) threads, \(options.seconds) s")
        Referee(options).play()
    }
}

/// What a run is told on its command line.
struct Options: Sendable {
    /// A mistake that is made on purpose.
    enum Sabotage: String {
        /// A variable that threads share without protection.
        case race
        /// Now and then a block is queued and its loop is not woken.
        case wake
        /// Now and then a block is queued twice.
        case duplicate
    }

    var seconds = 60
    var seed = UInt64(MonotonicTime.now.nanoseconds)
    var threads = 8
    /// How long a loop may take until nothing is owed any more, in seconds.
    var hangLimit = 30
    var sabotage: Sabotage?

    init?(_ arguments: [String]) {
        var rest = arguments[...]
        while let name = rest.popFirst() {
            guard let value = rest.popFirst() else { return nil }
            switch (name, Int(value)) {
            case ("--seconds", .some(let number)): seconds = number
            case ("--seed", _):
                guard let number = UInt64(value) else { return nil }
                seed = number
            case ("--threads", .some(let number)) where number > 0: threads = number
            case ("--hang-limit", .some(let number)): hangLimit = number
            case ("--sabotage", _):
                guard let kind = Sabotage(rawValue: value) else { return nil }
                sabotage = kind
            default: return nil
            }
        }
    }
}

/// Writes a line at once.
func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = write(STDOUT_FILENO, bytes, bytes.count)
}
