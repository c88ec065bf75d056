import CFaultInjection
import Glibc
import Holdfast

/// What the kernel ends a process for, and what it refuses: `recovery-probe system STORE KIND [default|ignored|handled]`.
@MainActor
enum SystemScenarios {
    static func run(_ store: String, _ arguments: [String]) throws {
        let signals = ["forbidden-call": SIGSYS, "processor-time": SIGXCPU, "file-size": SIGXFSZ]
        if getenv("HOLDFAST_RESTARTS") == nil, arguments.count > 1, let number = signals[arguments[0]] {
            // Before there is a host.
            if arguments[1] == "ignored" { signal(number, SIG_IGN) }
            if arguments[1] == "handled" { signal(number) { _ in write(1, "handled\n", 8) } }
        }
        let host = try HostScenario.host(store)
        if host.restarts > 0 {
            Probe.say("restarted")
            return host.close()
        }
        host.perform {
            switch arguments[0] {
            case "forbidden-call": faultForbiddenCall()
            case "processor-time": faultProcessorTime()
            case "file-size": faultFileSize()
            case "halt": faultHalt()
            case "interrupt": faultInterrupt()
            case "terminate": faultCxxTerminate()
            default: break
            }
            Probe.say("went on")
            host.stop()
        }
        host.run()
        host.close()
    }
}
