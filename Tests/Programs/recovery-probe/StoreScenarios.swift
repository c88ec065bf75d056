import FaultInjection
import Glibc
import Holdfast

/// Stores that cannot be used.
@MainActor
enum StoreScenarios {
    /// `resume`, `hard`, `both`, `budget`, `told`, `chdir`, `setuid`, `mended` or `required` is the first argument; a store called `-` is the
    /// default one.
    static func run(_ store: String, _ arguments: [String]) throws {
        var configuration = EventHost.Configuration.conservative
        configuration.store = store == "-" ? nil : store
        configuration.advanced.verdictDeadline = .seconds(10)
        configuration.afterResume = .keepServing
        configuration.stallPolicy = nil
        if arguments.first == "budget" { configuration.budget.perProcess = 3 }
        configuration.advanced.requiresStore = arguments.first == "required"
        let host: EventHost
        do {
            host = try EventHost(configuration)
        } catch {
            Probe.say("no host")
            return
        }
        guard host.restarts == 0 else {
            host.flushReports(within: .seconds(60))
            if arguments.first == "hard" { Probe.say("spools in memory \(spoolsInMemory)") }
            Probe.say("restarted \(host.restarts) \(state(of: host))")
            return host.close()
        }
        switch arguments.first {
        case "chdir":
            chdir("other")
            host.perform { Fault.wildPointer.commit() }
        case "setuid":
            setuid(65_534)
            host.perform { Fault.wildPointer.commit() }
        case "hard":
            let greeter = HostRunLoop.Timer(label: "greeter", after: .zero) { _ in Fault.wildPointer.commit() }
            host.loop.add(greeter, to: .common)
        case "both":
            host.perform { Fault.nilUnwrap.commit() }
            host.perform { Fault.wildPointer.commit() }
        case "budget":
            for _ in 0..<5 { host.perform { Fault.nilUnwrap.commit() } }
        case "told":
            host.perform { Fault.nilUnwrap.commit() }
            host.perform {
                host.flushReports(within: .seconds(20))
                Fault.wildPointer.commit()
            }
        case "mended":
            try host.onSignal(SIGUSR1) { _ in
                host.perform { Fault.nilUnwrap.commit() }
                finish(host)
            }
            host.perform { Fault.nilUnwrap.commit() }
            host.perform {
                host.flushReports(within: .seconds(10))
                Probe.say(state(of: host))
            }
        default:
            host.perform { Fault.nilUnwrap.commit() }
            finish(host)
        }
        host.run()
        host.close()
    }

    private static func finish(_ host: EventHost) {
        host.perform {
            // Not all of them, where the store cannot be used.
            host.flushReports(within: .seconds(20))
            Probe.say("resumed \(host.statistics.resumedFaults) \(state(of: host))")
            host.stop()
        }
    }

    /// How many descriptors there are of records in memory: that of the process before is closed.
    private static var spoolsInMemory: Int {
        StartScenarios.names(in: "/proc/self/fd").count { name in
            var bytes = [CChar](repeating: 0, count: 256)
            let count = readlink("/proc/self/fd/" + name, &bytes, bytes.count)
            let path = String(decoding: bytes.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
            return path.hasPrefix("/memfd:holdfast-spool")
        }
    }

    private static func state(of host: EventHost) -> String {
        host.storeProblem == nil ? "usable" : "unusable"
    }
}
