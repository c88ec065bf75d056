import FaultInjection
import Holdfast
import SystemPackage

/// What is told of a fault.
@MainActor
enum LogScenarios {
    /// A timer faults once; its message is printed.
    static func run(_ store: String) throws {
        var configuration = EventHost.Configuration()
        configuration.store = FilePath(store)
        configuration.verdictDeadline = .seconds(10)
        configuration.afterFault = .keepGoing
        configuration.stalls = nil
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
