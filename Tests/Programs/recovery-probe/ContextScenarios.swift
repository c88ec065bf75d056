import Dispatch
import FaultInjection
import Glibc
import Holdfast
import Logging
import SystemPackage

/// What a program leaves for its reports: `recovery-probe context STORE SCENARIO ARGUMENT…`.
@MainActor
struct ContextScenarios {
    let host: EventHost
    let log = Logger(label: "mail") { label in
        MultiplexLogHandler([CrashContext.logHandler(label: label), StreamLogHandler.standardError(label: label)])
    }

    static func run(_ store: String, _ arguments: [String]) throws {
        var configuration = EventHost.Configuration.conservative
        // Reports are counted, and a busy machine makes stalls.
        configuration.stallPolicy = nil
        configuration.store = store
        // What is looked at is not how long a verdict takes on a busy machine.
        configuration.advanced.verdictDeadline = .seconds(10)
        configuration.afterResume = .keepServing
        configuration.advanced.earlyEnds = nil
        configuration.budget = .generous
        configuration.privacy.patterns = ["ACME-####"]
        configuration.privacy.environment.insert("PROBE_TOLD_*")
        let scenario = arguments.first ?? ""
        if ["terminated", "other-thread", "no-descriptors"].contains(scenario) { configuration.restart = .never }
        if scenario == "no-arguments" { configuration.privacy.arguments = .none }
        let probe = ContextScenarios(host: try EventHost(configuration))
        switch scenario {
        case "trail": probe.trail()
        case "killed": probe.killed()
        case "terminated": probe.terminated()
        case "flood": probe.flood()
        case "values": probe.values()
        case "secrets": probe.secrets()
        case "no-descriptors": probe.withoutDescriptors()
        case "other-thread": probe.otherThread()
        case "no-arguments": probe.perform("fault") { Fault.nilUnwrap.commit() }
        default: throw Errno.invalidArgument
        }
        // These go on after a signal or a message, and end by themselves.
        if !["trail", "no-descriptors"].contains(scenario) { probe.perform("end") { probe.host.stop() } }
        probe.host.run()
        probe.host.close()
    }

    private func perform(_ label: String, _ body: @escaping @MainActor () -> Void = {}) {
        host.loop.performWithoutWaking(in: .default, label: label) { body() }
    }

    /// Two faults with something before each, and something else in between.
    private func trail() {
        CrashContext.tags["region"] = "eu-1"
        perform("first") {
            CrashContext.annotations["queue"] = "17 waiting"
            log.warning("the disk is nearly full", metadata: ["free": "3 %", "password": "hunter2 and more"])
        }
        perform("nested") {
            // Due once the loop sleeps, however long that takes.
            let tick = HostRunLoop.Timer(label: "tick", fireAt: .distantFuture) { _ in }
            host.loop.add(tick, to: "quiet")
            Probe.startThread { [loop = host.loop] in
                while !loop.isWaiting { sched_yield() }
                usleep(3000)
                tick.nextFireDate = .now
            }
            host.loop.run(in: "quiet", for: .seconds(100))
        }
        perform("a label of more characters than an event has room for: ä")
        perform("the fault") { Fault.nilUnwrap.commit() }
        perform("afterwards") {
            CrashContext.annotations["queue"] = "none waiting"
            CrashContext.tags["region"] = nil
            log.info("later")
            kill(getpid(), SIGUSR1)
        }
        do {
            try host.onSignal(SIGUSR1) { _ in
                perform("the second fault") { Fault.nullRead.commit() }
                perform("end of all") { host.stop() }
            }
        } catch {
            Probe.say("error \(error)")
        }
    }

    /// The process is killed as soon as it goes on.
    private func killed() {
        CrashContext.annotations["state"] = "about to be killed"
        perform("before") { log.notice("before the fault") }
        perform("the fault") { Fault.nilUnwrap.commit() }
        perform("the end") { kill(getpid(), SIGKILL) }
    }

    private func terminated() {
        CrashContext.annotations["state"] = "about to end"
        perform("before") { log.notice("before the fault") }
        perform("the fault") { Fault.wildPointer.commit() }
    }

    /// More callouts than are kept, and then more notes.
    private func flood() {
        perform("the first of all")
        for _ in 0..<500 { perform("drop") }
        perform("noisy") { for number in 1...100 { log.info("line \(number)") } }
        for _ in 0..<200 { perform("drop") }
        perform("the fault") { Fault.nilUnwrap.commit() }
    }

    /// Threads that change values without a pause while the loop faults again and again.
    private func values() {
        let haveValues = DispatchSemaphore(value: 0)
        for number in 0..<3 {
            Probe.startThread {
                var round = number
                while true {
                    if round == number + 1 { haveValues.signal() }
                    round += 1
                    let letter = String(UnicodeScalar(UInt8(97 + round % 26)))
                    CrashContext.annotations["thread \(number)"] = String(repeating: letter, count: 200)
                    CrashContext.tags["thread \(number)"] = String(repeating: letter, count: 20)
                }
            }
        }
        for _ in 0..<3 { haveValues.wait() }
        for _ in 0..<20 { perform("the fault") { Fault.nilUnwrap.commit() } }
    }

    private func secrets() {
        CrashContext.annotations["upstream"] = "https://joe:hunter2@example.org/"
        CrashContext.annotations["api_token"] = "hunter2"
        perform("logs") {
            log.warning("login failed", metadata: ["password": "hunter2", "user": "joe"])
            log.info("Authorization: Bearer hunter2hunter2 for ACME-2222")
        }
        perform("waits") {
            Probe.say("ready")
            kill(getpid(), SIGSTOP)
        }
        perform("the fault") { fatalError("cannot log in with password=hunter2 as ACME-2222") }
        perform("reported") {
            host.flushReports(within: .seconds(60))
            Probe.say("reported")
            kill(getpid(), SIGSTOP)
        }
    }

    /// Neither the handler nor the crash thread may depend on a descriptor being left.
    private func withoutDescriptors() {
        CrashContext.annotations["state"] = "exhausted"
        perform("the fault") {
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            var none = limit
            none.rlim_cur = 0
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &none)
            // Not resumed: then all that there is was taken before the process ends.
            Fault.wildPointer.commit()
        }
    }

    /// A thread without a loop: what the main loop did is told.
    private func otherThread() {
        perform("of the main loop") { Probe.startThread { Fault.wildPointer.commit() } }
        perform("waits") { while true { pause() } }
    }
}
