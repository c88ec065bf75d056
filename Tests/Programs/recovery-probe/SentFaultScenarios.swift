import CrashCapture
import Glibc
import Holdfast

/// Fault signals that nobody's code caused, and the handlers that stood before the host's.
@MainActor
enum SentFaultScenarios {
    /// `SIGNAL HOW PREVIOUS END`: how it is sent, what stood before, and whether the process is restarted or ends.
    static func run(_ store: String, _ arguments: [String]) throws {
        guard arguments.count == 4, let number = CInt(arguments[0]) else { exit(64) }
        switch arguments[2] {
        case "handler": installHandler(number)
        case "ignored": signal(number, SIG_IGN)
        default: break
        }
        var configuration = EventHost.Configuration.conservative
        // Reports are counted, and a busy machine makes stalls.
        configuration.stallPolicy = nil
        configuration.store = store
        // What is looked at is not how long a verdict takes on a busy machine.
        configuration.advanced.verdictDeadline = .seconds(10)
        configuration.recoveryPolicy.resumesTraps = false
        configuration.restart = arguments[3] == "restart" ? .inPlace : .never
        let host = try EventHost(configuration)
        guard host.restarts == 0 else {
            Probe.say("restarted")
            host.close()
            return
        }
        switch arguments[1] {
        case "raise":
            host.perform { raise(number) }
        case "abort":
            host.perform { abort() }
        case "thread":
            startSender(number)
        case "closed":
            host.perform { host.stop() }
        default: break
        }
        // Where a signal is ignored, the next shows that the process goes on.
        try host.onSignal(SIGUSR1) { _ in
            Probe.say("going on")
            host.stop()
        }
        // Before that, a lock that the main thread holds may keep it: then the verdict comes by the deadline.
        CrashCapture.awaitCrashThread()
        Probe.say("ready")
        host.run()
        host.close()
        if arguments[1] == "closed" { raise(number) }
        Probe.say("end")
    }

    private static func installHandler(_ number: CInt) {
        HandlerLine.prepare()
        var action = sigaction()
        action.sa_flags = SA_SIGINFO
        action.__sigaction_handler.sa_sigaction = { signal, information, _ in
            guard let information else { return }
            let sender = information.pointee._sifields._kill.si_pid
            HandlerLine.write("previous ", signal, " code ", information.pointee.si_code, " sender ", sender)
        }
        sigaction(number, &action, nil)
    }

    /// Sends the signal to the main thread, from another.
    private nonisolated static func startSender(_ number: CInt) {
        struct Order: Sendable {
            let number: CInt
            let main: pthread_t
        }
        let order = UnsafeMutablePointer<Order>.allocate(capacity: 1)
        order.initialize(to: Order(number: number, main: pthread_self()))
        var thread = pthread_t()
        let error = pthread_create(
            &thread,
            nil,
            { argument in
                guard let order = argument?.load(as: Order.self) else { return nil }
                pthread_kill(order.main, order.number)
                return nil
            },
            order
        )
        precondition(error == 0, "no thread for a test")
    }
}
