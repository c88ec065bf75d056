import Glibc
import RunLoops
import Synchronization
import SystemPackage

/// A flag that closures share.
final class Flag: Sendable {
    private let storage: Atomic<Bool>

    init(_ value: Bool) {
        storage = Atomic(value)
    }

    var value: Bool {
        get { storage.load(ordering: .acquiring) }
        set { storage.store(newValue, ordering: .releasing) }
    }
}

/// A source that one thread signals, moves and invalidates.
final class OwnSource: Sendable {
    let source: HostRunLoop.Source
    private let account: SignalAccount
    private let referee: Referee
    private let schedules: Counter

    init(_ referee: Referee) {
        self.referee = referee
        let (account, schedules) = (SignalAccount(), Counter())
        (self.account, self.schedules) = (account, schedules)
        source = HostRunLoop.Source(
            label: "own",
            schedule: { _, _ in schedules.add(1) },
            cancel: { _, _ in schedules.add(-1) },
            perform: { _ in account.handle() }
        )
        referee.watch(account)
    }

    func signal(on home: LoopThread) {
        account.willSignal()
        source.signal()
        home.loop.wakeUp()
    }

    func retire() {
        source.invalidate()
        account.close()
        referee.unwatch(account)
        if schedules.value != 0 { Referee.fail("a source was cancelled \(schedules.value) times too few") }
    }
}

/// A number that threads share.
final class Counter: Sendable {
    private let storage = Atomic<Int>(0)

    func add(_ number: Int) { storage.add(number, ordering: .acquiringAndReleasing) }

    var value: Int { storage.load(ordering: .acquiring) }
}

/// A pipe with a port source, to which one thread posts bytes.
final class OwnPort: @unchecked Sendable {
    let source: HostRunLoop.PortSource
    private let ends: [CInt]
    private let referee: Referee
    private let received: Counter
    /// Touched by the thread that posts only.
    private var posted = 0

    init(_ referee: Referee) {
        self.referee = referee
        var ends: [CInt] = [-1, -1]
        precondition(pipe(&ends) == 0, "no pipe")
        for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
        self.ends = ends
        let received = Counter()
        self.received = received
        source = HostRunLoop.PortSource(label: "port", descriptor: FileDescriptor(rawValue: ends[0])) {
            [descriptor = ends[0]] _, _ in
            var bytes = [UInt8](repeating: 0, count: 3)
            let count = read(descriptor, &bytes, bytes.count)
            // Another loop, in which the source was a moment ago, may have been faster.
            guard count > 0 else { return }
            received.add(count)
            referee.bytes.pay(count)
        }
    }

    func add(to home: LoopThread) {
        do {
            try home.loop.add(source, to: .common)
        } catch {
            Referee.fail("a port source cannot be added: \(error)")
        }
    }

    var isSettled: Bool { received.value == posted }

    func post() {
        // The buffer of a pipe is larger than what a burst posts.
        referee.bytes.owe()
        posted += 1
        precondition(write(ends[1], "x", 1) == 1, "the pipe is full")
    }

    func changeInterest() {
        source.interest = []
        sched_yield()
        source.interest = .readable
    }

    func retire() {
        source.invalidate()
        // A callout may be reading: closed where no callout of the source can be running.
        for loop in referee.loops { referee.fence(loop) { [self] in withExtendedLifetime(self) {} } }
    }

    deinit {
        for end in ends { close(end) }
    }
}

/// A timer that fires until it is invalidated, and not again.
final class RepeatingTimer: Sendable {
    private let timer: HostRunLoop.Timer
    private let home: LoopThread
    private let referee: Referee
    private let isDead = Flag(false)

    init(_ referee: Referee, on home: LoopThread, every microseconds: Int) {
        self.referee = referee
        self.home = home
        timer = HostRunLoop.Timer(
            label: "r",
            after: .zero,
            repeating: .microseconds(microseconds)
        ) { [isDead] _ in
            if isDead.value { Referee.fail("a timer fired after it was invalidated") }
            home.note()
        }
        home.loop.add(timer, to: .common)
    }

    func retire() {
        timer.invalidate()
        // Whatever ran when it was invalidated is over when this block runs.
        referee.fence(home) { [isDead] in isDead.value = true }
    }
}
