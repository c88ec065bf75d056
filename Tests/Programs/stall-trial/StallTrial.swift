import Glibc

/// A program that makes stalls, and what must not be taken for one, and says whether the monitor saw the former and not the latter.
///
/// `stall-trial [--seconds N] [--stalls N] [--seed N] [--sabotage deaf|hasty] [--step-clock yes]`
///
/// Exits with 0 when every stall was told once, with its length, and nothing else was; with 1 when not. A sabotaged run must fail.
@main
enum StallTrial {
    static func main() throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        // The program itself, as the load and as the one who stops it.
        if arguments.first == "spin" { Helpers.spin() }
        if arguments.count == 3, arguments[0] == "stop", let pid = pid_t(arguments[1]), let seed = UInt64(arguments[2])
        {
            Helpers.stopAgainAndAgain(pid, seed: seed)
        }
        guard let options = Options(arguments) else {
            say("usage: stall-trial [--seconds N] [--stalls N] [--seed N] [--sabotage deaf|hasty] [--step-clock yes]")
            exit(64)
        }
        say("seed \(options.seed)")
        let failures =
            try RandomStalls(options).run() + QuietWatch(loops: 1).run() + QuietWatch(loops: 10).run()
            + QuietWatch(loops: 100).run() + BusyLoops(options).run()
        for failure in failures { say("failed: \(failure)") }
        exit(failures.isEmpty ? 0 : 1)
    }
}

/// What a run is told on its command line.
struct Options: Sendable {
    /// A mistake that is made on purpose.
    enum Sabotage: String {
        /// The monitor looks too seldom for the stalls that are made.
        case deaf
        /// The monitor takes for a stall what is shorter than one.
        case hasty
    }

    /// How long busy loops are watched.
    var seconds = 60
    var stalls = 1000
    var seed: UInt64 = .random(in: 1...99_999)
    var sabotage: Sabotage?
    /// Whether the clock of the machine is set on and back meanwhile.
    var stepsClock = false

    init?(_ arguments: [String]) {
        var rest = arguments[...]
        while let name = rest.popFirst() {
            guard let value = rest.popFirst() else { return nil }
            switch (name, Int(value)) {
            case ("--seconds", .some(let number)) where number > 0: seconds = number
            case ("--stalls", .some(let number)) where number > 0: stalls = number
            case ("--seed", .some(let number)) where number > 0: seed = UInt64(number)
            case ("--step-clock", _) where value == "yes": stepsClock = true
            case ("--sabotage", _):
                guard let kind = Sabotage(rawValue: value) else { return nil }
                sabotage = kind
            default: return nil
            }
        }
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Dice: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var bits = state
        bits = (bits ^ (bits >> 30)) &* 0xbf58_476d_1ce4_e5b9
        bits = (bits ^ (bits >> 27)) &* 0x94d0_49bb_1331_11eb
        return bits ^ (bits >> 31)
    }
}

/// Writes a line at once.
func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = write(STDOUT_FILENO, bytes, bytes.count)
}
