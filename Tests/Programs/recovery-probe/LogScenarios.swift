import FaultInjection
import Holdfast

/// What is told of a fault.
@MainActor
enum LogScenarios {
    /// A timer faults once; its message is printed.
    static func run(_ store: String) throws {
        var configuration = EventHost.Configuration.conservative
        configuration.store = store
        configuration.advanced.verdictDeadline = .seconds(10)
        configuration.afterResume = .keepServing
        configuration.stallPolicy = nil
        let host = try EventHost(configuration)
        host.onFault { message in
            Probe.say("\(message)")
            host.stop()
        }
        let greeter = HostRunLoop.Timer(label: "greeter", after: .zero) { _ in Fault.nilUnwrap.commit() }
        host.loop.add(greeter, to: .common)
        host.run()
        host.close()
    }
}
