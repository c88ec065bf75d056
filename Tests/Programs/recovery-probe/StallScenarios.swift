import Dispatch
import FaultInjection
import Glibc
import Holdfast
import StallDetection
import Synchronization

/// Callouts that do not return, under a host that reports stalls: `PLACE KIND MILLISECONDS`.
@MainActor
enum StallScenarios {
    /// Until the process ends.
    private static var threads: [HostRunLoop.LoopThread] = []
    /// More than a test machine keeps a thread waiting for: that is a stall, too.
    private static let threshold = Duration.seconds(1)
    nonisolated private static let mainThread = pthread_self()

    static func run(_ store: String, _ arguments: [String]) throws {
        guard arguments.count == 3, let kind = InjectedStall(rawValue: arguments[1]), let time = Int(arguments[2])
        else { exit(64) }
        var configuration = EventHost.Configuration.conservative
        configuration.store = store
        configuration.afterResume = .keepServing
        configuration.advanced.earlyEnds = nil
        configuration.advanced.verdictDeadline = .seconds(10)
        _ = mainThread
        configuration.stallPolicy = StallPolicy(rule: .once(after: threshold))
        let host = try EventHost(configuration)
        host.onStall { warn($0) }
        let place = arguments[0]
        try start(host, place: place) { commit(kind, milliseconds: time, place: place) }
        host.run()
        host.flushReports(within: .seconds(15))
        Probe.say("resumed \(host.statistics.resumedFaults) stalls \(host.statistics.stalls)")
        host.close()
    }

    /// The stalls that were told while they last, by their loops; nil for what is pinged.
    nonisolated private static let told = Mutex<[ObjectIdentifier?: Int]>([:])

    /// Takes at least the time, and until its stall was told; then as long again, for what is found out of it meanwhile.
    nonisolated private static func commit(_ kind: InjectedStall, milliseconds: Int, place: String) {
        // What is not to be told; what is to last for ever does not come back from here.
        guard milliseconds > 0, place != "ignored" else { return kind.commit(milliseconds: milliseconds) }
        let loop = place == "ping" ? nil : ObjectIdentifier(HostRunLoop.current)
        let before = told.withLock { $0[loop] ?? 0 }
        let end = HostRunLoop.Instant.now.advanced(by: .seconds(30))
        var wasTold = false
        while true {
            // Called from here only: two callers would be two branches of the profile.
            kind.commit(milliseconds: milliseconds)
            if wasTold || .now > end { return }
            wasTold = told.withLock { $0[loop] ?? 0 } != before
        }
    }

    nonisolated private static func warn(_ stall: Stall) {
        let (what, loop): (String, ObjectIdentifier?) =
            switch stall.subject {
            case .loop(let loop): (loop === HostRunLoop.main ? "main" : "loop", ObjectIdentifier(loop))
            case .ping(let label): (label, nil)
            case .job: ("job", nil)
            }
        // A machine that keeps the process waiting may make another one, before or after.
        if stall.phase == .lasting, loop == nil || stall.item == "stuck" {
            told.withLock { $0[loop, default: 0] += 1 }
        }
        Probe.say(
            "\(stall.phase) \(what) \(pthread_equal(pthread_self(), mainThread) != 0 ? "on the main thread" : "elsewhere")"
        )
    }

    private static func start(_ host: EventHost, place: String, _ stall: @escaping @Sendable () -> Void) throws {
        switch place {
        case "main": perform(host, "stuck", stall)
        case "repeated":
            // A timer is called once in a pass: stalls of one pass are one.
            let count = Atomic<Int>(0)
            let timer = HostRunLoop.Timer(label: "stuck", after: .zero, repeating: .milliseconds(10)) { _ in
                stall()
                if count.add(1, ordering: .relaxed).newValue == 3 { host.stop() }
            }
            host.loop.add(timer, to: .common)
        case "timer":
            let timer = HostRunLoop.Timer(label: "stuck", after: .zero) { _ in
                stall()
                host.stop()
            }
            host.loop.add(timer, to: .common)
        case "ignored", "patient":
            let timer = HostRunLoop.Timer(label: "stuck", after: .zero) { _ in
                stall()
                host.stop()
            }
            // For ever, or longer than for the others.
            let policy = place == "ignored" ? StallPolicy.Item.ignored : StallPolicy.Item(threshold: .seconds(2))
            timer.stallPolicy = policy
            host.loop.add(timer, to: .common)
        case "loop":
            let thread = try HostRunLoop.LoopThread(name: "second")
            threads = [thread]
            try host.watch(thread.loop)
            thread.loop.performForNobody(label: "stuck", stall)
            stopAfter(thread, host)
        case "two":
            threads = try (1...2).map { try HostRunLoop.LoopThread(name: "loop \($0)") }
            for thread in threads {
                try host.watch(thread.loop)
                thread.loop.performForNobody(label: "stuck", stall)
            }
            for thread in threads { stopAfter(thread, threads.last === thread ? host : nil) }
        case "nested":
            host.loop.performWithoutWaking(in: .default, label: "outer") { [loop = host.loop] in
                let mode = HostRunLoop.Mode("private")
                loop.performWithoutWaking(in: mode, label: "stuck") {
                    stall()
                    loop.stop()
                }
                _ = loop.run(in: mode, for: .seconds(100))
                host.stop()
            }
        case "faulting":
            perform(host, "stuck") {
                stall()
                Fault.nilUnwrap.commit()
            }
            perform(host, "over") {}
        case "faults-meanwhile":
            let thread = try HostRunLoop.LoopThread(name: "second")
            threads = [thread]
            perform(host, "stuck") {
                for _ in 0..<20 { thread.loop.performForNobody(label: "faults") { Fault.nilUnwrap.commit() } }
                stall()
                // All of them, before the host ends.
                _ = try? thread.loop.performAndWait { true }
            }
        case "counted":
            // How often a sleep is interrupted.
            perform(host, "stuck") {
                var time = timespec(tv_sec: 6, tv_nsec: 0)
                var interruptions = 0
                var rest = timespec()
                while nanosleep(&time, &rest) != 0, errno == EINTR {
                    time = rest
                    interruptions += 1
                }
                Probe.say("interrupted \(interruptions)")
            }
        case "outlasted":
            // Behind it in the same pass is something that takes longer.
            host.loop.performWithoutWaking(in: .default, label: "stuck", stall)
            perform(host, "after") { InjectedStall.busy.commit(milliseconds: 1500) }
        case "followed":
            // What may take any time, and behind it in the same pass something that may not.
            for label in ["allowed", "stuck"] {
                let source = HostRunLoop.Source(label: label, order: label == "allowed" ? 0 : 1) { _ in
                    if label == "allowed" { usleep(2_000_000) } else { stall() }
                    if label == "stuck" { host.stop() }
                }
                if label == "allowed" { source.stallPolicy = .ignored }
                host.loop.add(source, to: .common)
                source.signal()
            }
        case "unwatched":
            perform(host, "stuck") {
                stall()
                host.stopWatching(host.loop)
                // Until nobody is expected to tell of its end any more.
                sleep(2)
            }
        case "ping":
            let queue = DispatchQueue(label: "late")
            queue.async {
                stall()
                DispatchQueue.main.async { host.stop() }
            }
            try host.watch(pinging: "late queue", every: .milliseconds(10)) { answer in
                queue.async(execute: answer)
            }
        default: exit(64)
        }
    }

    /// Queues a callout; the last one ends the run.
    private static func perform(_ host: EventHost, _ label: String, _ body: @escaping @Sendable () -> Void) {
        host.loop.performWithoutWaking(in: .default, label: label) {
            body()
            host.stop()
        }
    }

    private static func stopAfter(_ thread: HostRunLoop.LoopThread, _ host: EventHost?) {
        thread.loop.performForNobody(label: "over") {
            guard let host else { return }
            DispatchQueue.main.async {
                // Its last callout is over, too.
                for thread in threads {
                    thread.stop()
                    thread.join()
                }
                host.stop()
            }
        }
    }
}
