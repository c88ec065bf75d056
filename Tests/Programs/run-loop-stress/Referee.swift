import Glibc
import RunLoops
import Synchronization

/// Runs round after round: all threads do a burst of things, and then every loop must pay what it owes by itself.
///
/// Nobody touches a loop between two bursts, so that a wake-up that was lost shows as a loop that sleeps while it owes something.
final class Referee: @unchecked Sendable {
    let options: Options
    let blocks = Account("blocks")
    let jobs = Account("jobs")
    let timers = Account("timers")
    let bytes = Account("bytes on ports")
    let fences = Account("fences")
    let everywhere: HostRunLoop.Source
    let everywhereAccount = SignalAccount()
    let loops: [LoopThread]
    /// What sabotage races for.
    var unprotected = 0
    /// How many callouts of the loops' own kinds there were.
    static let callouts = Atomic<Int>(0)

    private let watched = Locked<[ObjectIdentifier: SignalAccount]>([:])
    private let counts = Worker.Operation.allCases.map { _ in Counter() }
    private let round = Atomic<Int>(0)
    private let burstLength = Atomic<Int>(0)
    private let burstShare = Atomic<Int>(1)
    private let arrived = Atomic<Int>(0)
    private static let lastRound = Int.max

    init(_ options: Options) {
        self.options = options
        let account = everywhereAccount
        let everywhere = HostRunLoop.Source(label: "everywhere") { _ in account.handle() }
        self.everywhere = everywhere
        loops = LoopThread.Habit.allCases.enumerated().map { index, habit in
            LoopThread(habit, everywhere: everywhere, seed: options.seed &+ UInt64(1000 + index))
        }
    }

    func count(_ operation: Worker.Operation) { counts[operation.rawValue].add(1) }

    /// Has a block run on a loop after everything that runs there now.
    func fence(_ target: LoopThread, _ body: @escaping @Sendable () -> Void) {
        let debt = Debt(fences, payload: 1)
        target.loop.performWithoutWaking(in: .common) {
            body()
            debt.pay()
        }
        target.loop.wakeUp()
    }

    func watch(_ account: SignalAccount) { watched.withLock { $0[ObjectIdentifier(account)] = account } }

    func unwatch(_ account: SignalAccount) { watched.withLock { $0[ObjectIdentifier(account)] = nil } }

    // MARK: Playing

    func play() {
        let begin = MonotonicTime.now
        var generator = SeededGenerator(seed: options.seed)
        let threads = (0..<options.threads).map { number in
            let seed = generator.next()
            return Thread { self.work(number, seed: seed) }
        }
        var rounds = 0
        while !begin.isOver(after: options.seconds) {
            rounds += 1
            // Few and short bursts show a lost wake-up, many and long ones make loops and threads meet.
            let length = rounds % 50 == 0 ? 200 : [1, 1, 2, 3, 10].randomElement(using: &generator) ?? 1
            playRound(rounds, length: length, share: [1, 2, 4, 8].randomElement(using: &generator) ?? 1)
        }
        playRound(Self.lastRound, length: 0, share: 1)
        for thread in threads { thread.join() }
        for loop in loops {
            loop.end()
            loop.thread.join()
        }
        say("\(rounds) rounds, all settled, \(Self.callouts.load(ordering: .relaxed)) callouts noted by the loops")
        for operation in Worker.Operation.allCases { say("  \(operation): \(counts[operation.rawValue].value)") }
        say("passed")
    }

    /// Lets one of `share` threads do `length` things each, and waits for what comes of it.
    private func playRound(_ number: Int, length: Int, share: Int) {
        burstLength.store(length, ordering: .releasing)
        burstShare.store(share, ordering: .releasing)
        arrived.store(0, ordering: .releasing)
        round.store(number, ordering: .releasing)
        wait("the threads did not come back") { arrived.load(ordering: .acquiring) == options.threads }
        wait("a loop owes something") { isSettled }
    }

    private func work(_ number: Int, seed: UInt64) {
        let worker = Worker(self, number: number, seed: seed)
        var played = 0
        while played != Self.lastRound {
            let current = round.load(ordering: .acquiring)
            guard current != played else {
                usleep(20)
                continue
            }
            played = current
            if Int.random(in: 0..<burstShare.load(ordering: .acquiring), using: &worker.generator) == 0 {
                worker.burst(of: burstLength.load(ordering: .acquiring))
            }
            if played == Self.lastRound { worker.end() }
            arrived.add(1, ordering: .acquiringAndReleasing)
        }
    }

    // MARK: Judging

    private var accounts: [Account] { [blocks, jobs, timers, bytes, fences] }

    private var isSettled: Bool {
        accounts.allSatisfy { $0.missing == 0 } && missingPerforms == 0 && everywhereAccount.missing == 0
            && loops.allSatisfy { $0.missingEnds == 0 && $0.missingPerforms == 0 }
    }

    private var missingPerforms: Int { watched.withLock { $0.values.reduce(0) { $0 + $1.missing } } }

    /// Waits for a condition; ends the process with the state of everything when that takes too long.
    private func wait(_ complaint: String, _ condition: () -> Bool) {
        let begin = MonotonicTime.now
        while !condition() {
            guard !begin.isOver(after: options.hangLimit) else {
                for loop in loops { say(loop.state) }
                for account in accounts { say("\(account.name): \(account.total) owed, \(account.missing) missing") }
                say(
                    "performs missing: \(missingPerforms) of own sources, \(everywhereAccount.missing) of the one everywhere"
                )
                for loop in loops {
                    loop.loop.wakeUp()
                    usleep(500_000)
                    if condition() {
                        say("what was missing came when the \(loop.habit) loop was woken: a wake-up was lost")
                        break
                    }
                }
                Self.fail("\(complaint) (round \(round.load(ordering: .acquiring)), seed \(options.seed))")
            }
            usleep(50)
        }
    }

    /// Ends the process: something was lost or came twice.
    static func fail(_ complaint: String) -> Never {
        say("failed: \(complaint)")
        _exit(1)
    }
}
