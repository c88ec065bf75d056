import Glibc
import RunLoops
import StallDetection
import Synchronization

/// Callouts of random length on several loops: those that are longer than one and a half thresholds must be told, those that are
/// shorter than one must not.
struct RandomStalls {
    /// The watcher has a quarter of it to spare between the look that must tell a stall and the end of the shortest one: a machine with
    /// other guests keeps a thread waiting that long, but seldom longer.
    static let threshold = Duration.milliseconds(100)
    /// Most of them sleep most of the time.
    private static let loops = 8

    private let options: Options

    init(_ options: Options) { self.options = options }

    func run() throws -> [String] {
        var rule = StallRule.once(after: Self.threshold)
        if options.sabotage == .deaf { rule = .checks(1, every: Self.threshold * 5) }
        if options.sabotage == .hasty { rule = .once(after: Self.threshold / 8) }
        let told = Mutex<[Stall]>([])
        let delays = try DelayLog()
        let monitor = StallMonitor(rule: rule) { stall in told.withLock { $0.append(stall) } }
        let share = (options.stalls + Self.loops - 1) / Self.loops
        let threads = try (0..<Self.loops).map { try HostRunLoop.LoopThread(name: "loop \($0)") }
        for thread in threads { try monitor.watch(thread.loop) }
        let players = threads.enumerated().map { index, thread in
            StallPlayer(loop: thread.loop, stalls: share, dice: Dice(seed: options.seed &+ UInt64(index)))
        }
        for player in players { player.start() }
        let made = players.map { $0.wait() }
        // The end of the last stall is told after the fact.
        for _ in 0..<2000 where !zip(threads, made).allSatisfy({ isToldOf($1, told.withLock { $0 }, $0.loop) }) {
            usleep(1000)
        }
        monitor.stop()
        for thread in threads { thread.stop() }
        for thread in threads { thread.join() }
        delays.stop()
        // What the machine held up says nothing about the monitor.
        let fair = made.map {
            $0.filter { !delays.hasDelay(from: $0.begin.advanced(by: .milliseconds(-50)), to: $0.end) }
        }
        let judged = zip(threads, zip(made, fair)).flatMap { thread, callouts in
            let (made, fair) = callouts
            let own = told.withLock { $0.filter { $0.isOf(thread.loop) } }
            return judge(fair, own)
                + intruders(own, made).filter { !delays.hasDelay(from: $0.begin, to: $0.begin.advanced(by: $0.length)) }
                .map { "told of \($0.length) where there was no stall" }
        }
        return judged + summary(Array(made.joined()), fair: fair.joined().count(where: \.isStall), told.withLock { $0 })
    }

    /// Whether the end of each stall of a loop was told.
    private func isToldOf(_ made: [StallPlayer.Callout], _ told: [Stall], _ loop: HostRunLoop) -> Bool {
        let overs = told.filter { $0.phase == .over && $0.isOf(loop) }
        return made.allSatisfy { callout in !callout.isStall || overs.contains(where: callout.contains) }
    }

    private func summary(_ made: [StallPlayer.Callout], fair: Int, _ told: [Stall]) -> [String] {
        let stalls = made.count(where: \.isStall)
        let notices = told.filter { $0.phase == .lasting }
        let latest = notices.map(\.length).max() ?? .zero
        let share = Double(fair) / Double(max(1, stalls))
        say(
            "\(stalls) stalls and \(made.count - stalls) shorter callouts: \(notices.count) told, the latest after "
                + "\(latest / .milliseconds(1)) ms of \(Self.threshold / .milliseconds(1))"
                + "; \(Self.percent(share)) of the stalls are judged"
                + (fair < stalls ? ", \(stalls - fair) are not: the machine held threads up meanwhile" : "")
        )
        return (stalls >= options.stalls ? [] : ["only \(stalls) stalls were made"])
            + (share >= Self.leastShare
                ? []
                : [
                    "only \(Self.percent(share)) of the stalls can be judged, not \(Self.percent(Self.leastShare)): "
                        + "the machine is too busy"
                ])
    }

    /// How many of the stalls must be judged for the trial to say something.
    private static let leastShare = 0.9

    private static func percent(_ share: Double) -> String { "\((share * 1000).rounded(.down) / 10) %" }

    /// Compares what a loop did with what was told of it.
    private func judge(_ made: [StallPlayer.Callout], _ told: [Stall]) -> [String] {
        var failures: [String] = []
        let overs = told.filter { $0.phase == .over }
        for callout in made where callout.isStall {
            let own = overs.filter(callout.contains)
            guard let stall = own.first, own.count == 1 else {
                failures.append("a stall of \(callout.length / .milliseconds(1)) ms was told \(own.count) times")
                continue
            }
            // It was seen up to a look later than it began.
            let missing = callout.length - stall.length
            if missing < .milliseconds(-20) || missing > stall.rule.interval + .milliseconds(50) {
                failures.append("a stall of \(callout.length) was told as one of \(stall.length)")
            }
        }
        return failures
    }

    /// What was told and was none.
    private func intruders(_ told: [Stall], _ made: [StallPlayer.Callout]) -> [Stall] {
        told.filter { stall in
            stall.phase == .over && !made.contains { $0.mayBeStall && $0.contains(stall) }
        }
    }
}

extension Stall {
    /// Whether it is a stall of a loop.
    func isOf(_ loop: HostRunLoop) -> Bool {
        guard case .loop(let own) = subject else { return false }
        return own === loop
    }
}
