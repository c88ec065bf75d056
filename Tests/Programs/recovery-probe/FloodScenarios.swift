import FaultInjection
import Glibc
import Holdfast

/// Many faults while no report can be written: `recovery-probe flood STORE equal|different COUNT`.
@MainActor
enum FloodScenarios {
    static func run(_ store: String, _ arguments: [String]) throws {
        guard arguments.count == 2, let count = Int(arguments[1]) else { return }
        // Before it finishes any report: who is ended in the middle of that counts some of them twice.
        if getenv("HOLDFAST_RESTARTS") != nil {
            Probe.say("restarted")
            _exit(0)
        }
        var configuration = EventHost.Configuration.conservative
        // Reports are counted, and a busy machine makes stalls.
        configuration.stallPolicy = nil
        configuration.store = store
        configuration.afterResume = .keepServing
        configuration.budget = .generous
        configuration.advanced.quarantine = nil
        let host = try EventHost(configuration)
        // As a disk that stands still: whoever writes a report waits for this lock.
        let reports = open(store + "/reports", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        precondition(reports >= 0 && flock(reports, LOCK_EX) == 0)
        for number in 0..<count {
            // As each client has one, or names that differ in more than a number.
            let label = arguments[0] == "equal" ? "client \(number)" : name(number)
            host.loop.performWithoutWaking(in: .default, label: label) { Fault.nilUnwrap.commit() }
        }
        host.perform {
            close(reports)
            // Who is ended while a report is written counts its faults twice.
            while !host.flushReports(within: .seconds(5)) { Probe.say("writing") }
            host.stop()
        }
        host.run()
        Probe.say("resumed \(host.statistics.resumedFaults)")
        host.close()
    }

    private static func name(_ number: Int) -> String {
        "item " + String(number, radix: 2).map { $0 == "0" ? "a" : "b" }
    }
}
