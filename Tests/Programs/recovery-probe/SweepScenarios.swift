import FaultInjection
import Holdfast

/// What the way back after a fault serves: `recovery-probe sweep STORE all|used`.
@MainActor
enum SweepScenarios {
    /// A callout faults while a timer is due in a mode that the program has never run; ends when the loop would sleep again.
    static func run(_ store: String, _ arguments: [String]) throws {
        let host = try HostScenario.host(store) { configuration in
            if arguments.first == "used" { configuration.advanced.sweepsUnusedModes = false }
        }
        host.loop.add(HostRunLoop.Timer(label: "dialogue", after: .zero) { _ in Probe.say("dialogue") }, to: "dialogue")
        host.onFault { _ in
            Probe.say("told")
            // The sweep's own runs do not sleep.
            let end = HostRunLoop.Observer(label: "end", activities: .beforeWaiting) { _, _ in
                host.stop()
            }
            host.loop.add(end, to: .default)
        }
        host.perform { Fault.nilUnwrap.commit() }
        host.run()
        Probe.say("resumed \(host.statistics.resumedFaults)")
        host.close()
    }
}
