/// What follows the end of a program's process.
struct EndDecision {
    /// What was asked for; without that, the program's policy says what follows.
    enum Intention { case stop, restart, hold }

    /// What is done.
    enum Next {
        /// The next process is started after a while.
        case start(Duration)
        /// It is started when the supervisor says so.
        case hold
        case end
    }

    let next: Next
    /// The same in a sentence.
    let words: String
    /// Whether it ends because there were too many early ends.
    let givesUp: Bool

    private init(_ next: Next, _ words: String, givesUp: Bool = false) {
        self.next = next
        self.words = words
        self.givesUp = givesUp
    }

    /// Decides.
    ///
    /// - Parameters:
    ///   - program: The program.
    ///   - intention: What was asked for.
    ///   - facts: How the process has ended.
    ///   - lived: How long it has lived.
    ///   - count: How many ends there were, with this one.
    ///   - jitter: From 0 to 1, for the back-off.
    init(
        of program: Program,
        _ intention: Intention?,
        after facts: DeathFacts,
        lived: Duration,
        _ count: EndCount,
        jitter: Double
    ) {
        switch intention {
        case .stop: self.init(.end, "It is not started again.")
        case .restart: self.init(.start(.zero), "It starts again at once.")
        case .hold: self.init(.hold, "It starts again after others.")
        case nil:
            guard program.isStarted(after: facts) else {
                self.init(.end, "It is not started again (--restart \(program.restarts.rawValue)).")
                return
            }
            if let most = program.givesUpAfter, count.earlyEnds >= most {
                let ends = count.earlyEnds == 1 ? "an early end" : "\(count.earlyEnds) early ends"
                self.init(.end, "It is given up after \(ends) (--give-up-after).", givesUp: true)
                return
            }
            var wait = program.backOff.wait(afterEarlyEnds: count.earlyEnds, jitter: jitter)
            // A success costs no wait. But one that ends as it begins, again and again, must not use up a processor.
            if wait == .zero, lived < program.backOff.base { wait = program.backOff.base - lived }
            self.init(
                .start(wait),
                wait == .zero ? "It starts again at once." : "It starts again in \(wait.inPlainWords)."
            )
        }
    }
}
