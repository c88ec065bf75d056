import FaultInjection
import Glibc
import Holdfast
import Logging
import StallDetection
import Synchronization
import SystemPackage

/// Callouts that take too long: `recovery-probe deadline STORE SCENARIO [wait]`.
@MainActor
enum DeadlineScenarios {
    /// Longer than a test may take: what is not abandoned is not over in time.
    nonisolated static let forEver = 3_600_000

    static func run(_ store: String, _ arguments: [String]) throws {
        let name = arguments.first ?? ""
        var configuration = EventHost.Configuration.conservative
        // Reports are counted, and a busy machine makes stalls.
        configuration.stallPolicy = nil
        configuration.store = store
        configuration.afterResume = .keepServing
        configuration.budget = .generous
        configuration.advanced.quarantine = nil
        configuration.advanced.verdictDeadline = .seconds(10)
        configuration.logger = Logger(label: "probe") { _ in DeadlineLog() }
        configuration.calloutDeadline = CalloutDeadline(
            after: .milliseconds(1000),
            otherwise: arguments.contains("wait") ? .wait : .restart
        )
        switch name {
        case "item", "no-deadline": configuration.calloutDeadline = nil
        case "short": configuration.calloutDeadline?.after = .seconds(3)
        case "allocating", "locking", "exclusion", "items": configuration.calloutDeadline?.after = .milliseconds(40)
        case "never": configuration.recoveryPolicy = .never
        case "budget": configuration.budget = FaultBudget(perProcess: 1, perWindow: 10)
        default: break
        }
        let host = try EventHost(configuration)
        if host.restarts > 0 {
            Probe.say("restarted")
            return host.close()
        }
        if InjectedStall(rawValue: name) != nil || name == "spin" {
            // The message comes on a port, after the blocks.
            host.onFault { message in
                Probe.say("abandoned item \(message.item != 0), signal \(message.signal)")
                host.stop()
            }
        }
        try prepare(name, host, isWaiting: arguments.contains("wait"))
        host.run()
        Probe.say("resumed \(host.statistics.resumedFaults)")
        host.close()
    }

    private static func prepare(_ name: String, _ host: EventHost, isWaiting: Bool) throws {
        // Longer than all attempts, on a busy machine, too.
        let time = isWaiting ? 8000 : forEver
        if let stall = InjectedStall(rawValue: name) {
            host.perform { stall.commit(milliseconds: time) }
            host.perform { Probe.say("after") }
            if isWaiting { host.perform { host.stop() } }
            return
        }
        switch name {
        case "spin":
            host.perform { spin() }
            return host.perform { Probe.say("after") }
        case "never": host.perform { spin() }
        case "no-deadline": host.perform { InjectedStall.busy.commit(milliseconds: 2000) }
        case "budget":
            host.perform { spin() }
            host.perform { spin() }
        case "short":
            for time in 0..<20 { host.perform { InjectedStall.busy.commit(milliseconds: 10 * time) } }
        case "held": host.perform { holdLock { InjectedStall.sleep.commit(milliseconds: time) } }
        case "critical": critical(host)
        case "interruptions": host.perform { countInterruptions() }
        case "library": host.perform { sortForEver() }
        case "item": return try item(host)
        case "exempt": return try exempt(host)
        case "policy": return try policy(host)
        case "thread": return try thread(host)
        case "nested-serving", "nested-polling", "nested-waiting": nested(name, host)
        case "nested-stuck": nestedStuck(host)
        case "cleanup": cleanup(host)
        case "allocating":
            rounds(host, { allocateForEver() }, { Probe.say("\([UInt8](repeating: 1, count: 1 << 20).count)") })
        case "locking": rounds(host, { lockForEver() }, { Probe.say(isLockFree() ? "free" : "held") })
        case "exclusion": rounds(host, { excludeForEver() }, { Probe.say(isMutexFree() ? "free" : "held") })
        case "items": rounds(host, { addForEver(host.loop) }, { addTimer(host.loop) })
        default: throw Errno.invalidArgument
        }
        finish(host)
    }

    private static func finish(_ host: EventHost) {
        host.perform { Probe.say("after") }
        host.perform { host.stop() }
    }

    // MARK: What takes too long

    @inline(never)
    static func spin() {
        let word = Atomic<Int>(0)
        while word.load(ordering: .relaxed) == 0 {}
    }

    private nonisolated(unsafe) static let mutex = {
        let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        return mutex
    }()

    private static func holdLock(_ body: () -> Void) {
        pthread_mutex_lock(mutex)
        body()
        pthread_mutex_unlock(mutex)
        Probe.say("let go")
    }

    /// The section ends while the attempts last.
    private static func critical(_ host: EventHost) {
        host.perform {
            EventHost.withCriticalSection {
                InjectedStall.busy.commit(milliseconds: 1400)
                Probe.say("left")
            }
            spin()
        }
    }

    /// How often a sleep is interrupted whose callout holds a lock.
    private static func countInterruptions() {
        var count = 0
        holdLock {
            var time = timespec(tv_sec: 8, tv_nsec: 0)
            var rest = timespec()
            while nanosleep(&time, &rest) != 0, errno == EINTR {
                time = rest
                count += 1
            }
        }
        Probe.say("interrupted \(count)")
    }

    /// The application's code is called by the C library all the while.
    private static func sortForEver() {
        var values = [3, 1, 2]
        qsort(&values, values.count, MemoryLayout<Int>.stride) { _, _ in
            InjectedStall.busy.commit(milliseconds: 3_600_000)
            return 0
        }
    }

    // MARK: Deadlines of items

    /// Only the timer has one.
    private static func item(_ host: EventHost) throws {
        let timer = HostRunLoop.Timer(label: "slow timer", after: .zero) { _ in spin() }
        timer.calloutDeadline = CalloutDeadline(after: .milliseconds(100))
        host.loop.add(timer)
        let order = HostRunLoop.Timer(label: "order", after: .milliseconds(1)) { _ in
            InjectedStall.busy.commit(milliseconds: 500)
            Probe.say("untouched")
        }
        host.loop.add(order)
        let end = HostRunLoop.Timer(label: "end", after: .milliseconds(2)) { _ in
            host.stop()
        }
        host.loop.add(end)
        host.perform { Probe.say("\(order.calloutDeadline == nil)") }
    }

    private static func exempt(_ host: EventHost) throws {
        let source = HostRunLoop.Source(label: "exempt") { _ in
            InjectedStall.busy.commit(milliseconds: 2500)
            Probe.say("untouched")
            host.stop()
        }
        source.calloutDeadline = .never
        host.loop.add(source)
        source.signal()
        host.loop.wakeUp()
    }

    private static func policy(_ host: EventHost) throws {
        let source = HostRunLoop.Source(label: "guarded") { _ in InjectedStall.busy.commit(milliseconds: forEver) }
        source.recoveryPolicy = .never
        host.loop.add(source)
        source.signal()
        host.loop.wakeUp()
    }

    // MARK: Loops

    /// A loop of another thread is abandoned in, and goes on, and so does the main loop meanwhile.
    private static func thread(_ host: EventHost) throws {
        let thread = try HostRunLoop.LoopThread(name: "second")
        try host.watch(thread.loop)
        try host.watch(thread.loop)
        let main = host.loop
        thread.loop.performForNobody(label: "stuck") { InjectedStall.sleep.commit(milliseconds: forEver) }
        thread.loop.performForNobody(label: "next") {
            Probe.say("second goes on")
            main.perform(label: "end") {
                MainActor.assumeIsolated {
                    withExtendedLifetime(thread) {}
                    host.stop()
                }
            }
        }
    }

    /// A callout whose own run takes long, in one of three ways, and serves what there is.
    private static func nested(_ name: String, _ host: EventHost) {
        let loop = host.loop
        host.perform {
            let begin = ContinuousClock.now
            switch name {
            case "nested-serving":
                let count = Atomic<Int>(0)
                let timer = HostRunLoop.Timer(label: "tick", after: .zero, repeating: .milliseconds(20)) { timer in
                    count.add(1, ordering: .relaxed)
                    if begin.duration(to: .now) > .milliseconds(2500) {
                        timer.invalidate()
                        loop.stop()
                    }
                }
                loop.add(timer)
                loop.run(in: .default, for: .seconds(100))
                Probe.say("served \(count.load(ordering: .relaxed) > 2)")
            case "nested-polling":
                while begin.duration(to: .now) < .milliseconds(2500) { loop.run(in: .default, for: .zero) }
                Probe.say("polled")
            default:
                loop.run(in: .default, for: .milliseconds(2500))
                Probe.say("waited")
            }
        }
    }

    /// The inner callout is abandoned; its run, and the callout around it, go on.
    private static func nestedStuck(_ host: EventHost) {
        let loop = host.loop
        host.perform {
            loop.perform(label: "inner") { spin() }
            loop.perform(label: "inner") {
                Probe.say("nesting \(loop.nesting)")
                loop.stop()
            }
            loop.run(in: .default, for: .seconds(100))
            Probe.say("outer goes on, nesting \(loop.nesting)")
        }
    }

    private static func cleanup(_ host: EventHost) {
        let box = Poisonable(1, name: "a box")
        host.perform {
            HostRunLoop.addCleanup { Probe.say("cleaned up") }
            try? box.withValue { value in
                value += 1
                spin()
            }
        }
        host.perform { Probe.say("poisoned \(box.isPoisoned)") }
    }

    // MARK: Rounds

    static let roundCount = 8

    /// The same again and again, with a look afterwards at what must not be left behind.
    private static func rounds(_ host: EventHost, _ body: @escaping () -> Void, _ check: @escaping () -> Void) {
        for _ in 0..<roundCount {
            host.perform { body() }
            host.perform { check() }
        }
    }

    /// The application's own code, without a call: else there would hardly be an instruction at which it could be abandoned.
    private static func compute() -> Int {
        var bits = bits
        var left = 2000
        while left > 0 {
            bits ^= bits &<< 13
            bits ^= bits &>> 7
            left &-= 1
        }
        self.bits = bits
        return 2000
    }

    /// What an optimised build cannot calculate beforehand.
    private nonisolated(unsafe) static var bits: UInt64 = 0x9e37_79b9_7f4a_7c15

    private static func allocateForEver() {
        var sum = 0
        while sum >= 0 { sum = ([UInt8](repeating: 1, count: 100 + sum % 1000).count & 7) &+ compute() }
    }

    private static func lockForEver() {
        var sum = 0
        while sum >= 0 {
            pthread_mutex_lock(mutex)
            pthread_mutex_unlock(mutex)
            sum = compute()
        }
    }

    private static func isLockFree() -> Bool {
        guard pthread_mutex_trylock(mutex) == 0 else { return false }
        pthread_mutex_unlock(mutex)
        return true
    }

    private nonisolated static let exclusion = Mutex(0)

    private static func excludeForEver() {
        while compute() > 0 { excludeOnce() }
    }

    /// A function that takes such a lock is never abandoned: inlined, it would be the whole loop.
    @inline(never)
    private static func excludeOnce() { exclusion.withLock { $0 &+= 1 } }

    private static func isMutexFree() -> Bool {
        exclusion.withLockIfAvailable { _ in true } ?? false
    }

    private static func addForEver(_ loop: HostRunLoop) {
        while compute() > 0 {
            let timer = HostRunLoop.Timer(label: "never", after: .seconds(1000)) { _ in }
            loop.add(timer)
            timer.invalidate()
        }
    }

    private static func addTimer(_ loop: HostRunLoop) {
        let timer = HostRunLoop.Timer(label: "now", after: .zero) { _ in Probe.say("fired") }
        loop.add(timer)
        // A pass may be the turn of the port with the crash messages.
        for _ in 0..<2 where timer.isValid { loop.run(in: .default, for: .zero) }
    }
}

/// Says what is logged as an error.
private struct DeadlineLog: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.error

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let item = event.metadata?["item"].map { ", item \($0)" } ?? ""
        Probe.say("log: \(event.message)\(item)")
    }
}
