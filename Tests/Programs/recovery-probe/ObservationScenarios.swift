import FaultInjection
import Glibc
import Holdfast
import Synchronization

/// Who hears of faults, signals and stalls, and who does not any more: `observations STORE WHAT`.
@MainActor
enum ObservationScenarios {
    /// SIGRTMIN, which Swift does not import.
    private static let realTimeSignal: CInt = 34

    /// How many sequences have ended.
    private static var ended = 0

    static func run(_ store: String, _ arguments: [String]) throws {
        let host = try HostScenario.host(store) { configuration in
            configuration.budget = .generous
            configuration.stallPolicy = StallPolicy(rule: .once(after: .seconds(1)))
        }
        switch arguments.first {
        case "sequences": try sequences(host)
        case "dropped": try dropped(host)
        case "given-up": try givenUp(host)
        default: exit(64)
        }
    }

    /// One after the other: a fault, a signal, and a stall that is told while it lasts.
    private static func sequences(_ host: EventHost) throws {
        let (faults, stalls) = (host.faults, host.stalls)
        // Once the task is over, nobody has it any more.
        var signals: AsyncStream<SignalEvent>? = try host.signals(SIGUSR1)
        let isLasting = Atomic<Bool>(false)
        // What takes long on a busy machine may be a stall before, or be a part of this one.
        let isStuck = Atomic<Bool>(false)
        Task {
            for await fault in faults {
                Probe.say("fault \(fault.number)")
                kill(getpid(), SIGUSR1)
            }
            Probe.say("no more faults")
            ended += 1
        }
        Task { [taken = signals] in
            guard let taken else { return }
            for await signal in taken {
                Probe.say("signal \(signal.signal == SIGUSR1) \(signal.senderPid == getpid())")
                break
            }
            host.perform {
                isStuck.store(true, ordering: .releasing)
                while !isLasting.load(ordering: .acquiring) { usleep(1000) }
            }
        }
        signals = nil
        Task.detached {
            for await stall in stalls {
                isLasting.store(stall.phase == .lasting, ordering: .releasing)
                guard stall.phase == .over, isStuck.load(ordering: .acquiring) else { continue }
                Probe.say("stall over")
                await host.stop()
            }
            Probe.say("no more stalls")
            await MainActor.run { ended += 1 }
        }
        host.perform { Fault.nilUnwrap.commit() }
        host.run()
        Probe.say("observed \(disposition(SIGUSR1))")
        host.close()
        let end = HostRunLoop.Instant.now.advanced(by: .seconds(60))
        while ended < 2, .now < end { host.loop.run(in: .default, for: .milliseconds(20)) }
        Probe.say("resumed \(host.statistics.resumedFaults) dropped \(host.statistics.dropped)")
    }

    private static func disposition(_ signal: CInt) -> Bool {
        var action = sigaction()
        sigaction(signal, nil, &action)
        return action.__sigaction_handler.sa_handler != nil
    }

    /// More signals than a sequence holds, before anybody takes them.
    private static func dropped(_ host: EventHost) throws {
        let signals = try host.signals(realTimeSignal)
        var count = 0
        try host.onSignal(realTimeSignal) { _ in
            count += 1
            if count == 300 { host.stop() }
        }
        for number in 1...300 {
            sigqueue(getpid(), realTimeSignal, sigval(sival_ptr: UnsafeMutableRawPointer(bitPattern: number)))
        }
        host.run()
        host.close()
        var values: [Int64] = []
        var isOver = false
        Task {
            for await signal in signals { values.append(signal.value) }
            isOver = true
        }
        let end = HostRunLoop.Instant.now.advanced(by: .seconds(60))
        while !isOver, .now < end { host.loop.run(in: .default, for: .milliseconds(20)) }
        Probe.say(
            "\(values.count) from \(values.first ?? 0) to \(values.last ?? 0), dropped \(host.statistics.dropped)"
        )
    }

    /// Of two handlers of each kind the first is given up, by the second or beforehand.
    private static func givenUp(_ host: EventHost) throws {
        var first: [Observation] = []
        first.append(host.onFault { _ in Probe.say("wrong") })
        first.append(host.onDrain { _ in Probe.say("wrong") })
        first.append(host.onRestart { Probe.say("wrong") })
        first.append(host.onStall { _ in Probe.say("wrong") })
        first.append(try host.onSignal(SIGUSR1) { _ in Probe.say("wrong") })
        for observation in first { observation.invalidate() }
        Probe.say("valid \(first.filter(\.isValid).count) observed \(disposition(SIGUSR1))")
        var last: Observation?
        host.onFault { _ in
            Probe.say("fault")
            last?.invalidate()
            // While the handlers are called: the one that follows is not called any more.
            host.perform {
                host.restart()
                Probe.say("not restarted")
            }
        }
        last = host.onFault { _ in Probe.say("wrong") }
        let again = host.onRestart { Probe.say("restart") }
        if host.restarts > 0 {
            Probe.say("restarted")
            return host.close()
        }
        host.perform { Fault.nilUnwrap.commit() }
        host.run()
        Probe.say("\(again.isValid)")
    }
}
