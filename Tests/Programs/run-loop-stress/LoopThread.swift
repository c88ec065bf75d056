import Glibc
import RunLoops
import Synchronization

/// A thread that runs its loop again and again.
final class LoopThread: @unchecked Sendable {
    /// How it runs its loop.
    enum Habit: CaseIterable {
        /// In the default mode until stopped.
        case steady
        /// In two modes in turn, for short times, now and then until a source was handled.
        case alternating
        /// In the default mode until stopped, with runs inside blocks.
        case nesting
    }

    static let otherMode: HostRunLoop.Mode = "other"

    let habit: Habit
    /// A source that all threads signal, in this loop and in all others.
    private let everywhere: HostRunLoop.Source
    /// Sources that all threads signal, with what they owe.
    private(set) var shared: [(source: HostRunLoop.Source, account: SignalAccount)] = []
    private(set) var loop: HostRunLoop!
    private(set) var thread: Thread!

    private let isReady = Atomic<Bool>(false)
    private let isOver = Atomic<Bool>(false)
    private let runsEnded = Atomic<Int>(0)
    private let runsOwed = Atomic<Int>(0)

    // Touched by callouts only, without protection: they are all on one thread.
    private var callouts = 0
    private var generator: SeededGenerator

    init(_ habit: Habit, everywhere: HostRunLoop.Source, seed: UInt64) {
        self.habit = habit
        self.everywhere = everywhere
        generator = SeededGenerator(seed: seed)
        thread = Thread { self.run() }
        while !isReady.load(ordering: .acquiring) { sched_yield() }
    }

    private func run() {
        loop = HostRunLoop.current
        loop.addCommonMode(Self.otherMode)
        loop.add(everywhere, to: .common)
        for order in [1, 0, 0] {
            let account = SignalAccount()
            let source = HostRunLoop.Source(label: "shared", order: order) { _ in
                account.handle()
                self.note()
            }
            loop.add(source, to: .common)
            shared.append((source, account))
        }
        isReady.store(true, ordering: .releasing)
        var isOther = false
        while !isOver.load(ordering: .acquiring) {
            switch habit {
            case .steady, .nesting:
                loop.run(in: .default, for: .seconds(1_000_000))
            case .alternating:
                isOther.toggle()
                loop.run(
                    in: isOther ? Self.otherMode : .default,
                    for: .microseconds(Int.random(in: 0...3000, using: &generator)),
                    returnAfterSourceHandled: Bool.random(using: &generator)
                )
            }
            runsEnded.add(1, ordering: .acquiringAndReleasing)
        }
        Referee.callouts.add(callouts, ordering: .relaxed)
    }

    /// Counts a callout.
    func note() { callouts += 1 }

    /// Runs the loop inside a callout.
    func nest() {
        guard habit == .nesting, loop.nesting < 4 else { return }
        loop.run(in: .default, for: .microseconds(Int.random(in: 0...200, using: &generator)))
        runsEnded.add(1, ordering: .acquiringAndReleasing)
    }

    /// Stops the loop; if it was running, the end of a run is owed.
    func stop() {
        let ended = runsEnded.load(ordering: .acquiring)
        let isRunning = loop.nesting > 0
        loop.stop()
        guard isRunning else { return }
        // That run has ended since, or the stop ends it, or a later one.
        runsOwed.max(ended + 1, ordering: .acquiringAndReleasing)
    }

    var missingEnds: Int {
        let owed = runsOwed.load(ordering: .acquiring)
        return max(0, owed - runsEnded.load(ordering: .acquiring))
    }

    var missingPerforms: Int { shared.reduce(0) { $0 + $1.account.missing } }

    /// Ends the thread.
    func end() {
        isOver.store(true, ordering: .releasing)
        // Between two runs a stop does nothing.
        while runsEnded.load(ordering: .acquiring) >= 0, loop.nesting > 0 { loop.stop() }
    }

    var state: String {
        """
        \(habit): mode \(loop.currentMode?.rawValue ?? "none"), waiting \(loop.isWaiting), nesting \(loop.nesting), \
        pass \(loop.passCount), runs ended \(runsEnded.load(ordering: .acquiring)), ends missing \(missingEnds), \
        performs missing \(missingPerforms)
        """
    }
}
