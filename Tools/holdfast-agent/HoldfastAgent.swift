import ArgumentParser
import FaultInjection
import Holdfast

/// A small key-value daemon that is hosted by Holdfast: the example to copy from.
@main
struct HoldfastAgent: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "holdfast-agent",
        abstract: "A key-value daemon that survives its own faults.",
        discussion: """
            Speaks lines over TCP on 127.0.0.1. SET key value, GET key, PING, STATS, and FAULT name, which commits that fault in \
            the callout that serves the connection. SIGTERM and SIGINT end it in order, SIGHUP reads the --values file again.
            """,
        version: EventHost.version
    )

    @Option(help: "The port to listen on; 0 for any free one.")
    var port: UInt16 = 0

    @Option(help: "The folder for crash reports. (default: $HOLDFAST_STORE, $STATE_DIRECTORY, or the XDG state folder)")
    var store: String?

    @Option(help: "A fault to commit at start: FAULT@PLACE[:COUNT]. Places: \(Injection.Place.list). May be repeated.")
    var inject: [Injection] = []

    @Option(
        help:
            "What follows a fault that was resumed: keep-going or restart. The values live in memory, so keep-going is the default."
    )
    var afterFault: AfterFaultChoice = .keepGoing

    @Option(help: "A file of values to begin with, a line 'key value' each; read again on SIGHUP.")
    var values: String?

    @Option(help: "Stop after so many seconds.")
    var duration: Double?

    @Flag(help: "List the faults and exit.")
    var listFaults = false

    func validate() throws {
        if let duration, !(duration > 0 && duration < 1e9) {
            throw ValidationError("--duration takes a number of seconds above 0.")
        }
    }

    func run() throws {
        if listFaults {
            let width = Fault.allCases.map(\.rawValue.count).max() ?? 0
            for fault in Fault.allCases {
                print(fault.rawValue + String(repeating: " ", count: width + 2 - fault.rawValue.count) + fault.summary)
            }
            return
        }
        // A synchronous main: the main thread is the main actor's, and the host's loop runs on it.
        try MainActor.assumeIsolated {
            let agent = try Agent(options: self)
            try agent.serve()
        }
    }
}

/// What `--after-fault` takes.
enum AfterFaultChoice: String, CaseIterable, ExpressibleByArgument {
    case keepGoing = "keep-going"
    case restart

    var value: EventHost.AfterFault {
        switch self {
        case .keepGoing: .keepGoing
        case .restart: .restart
        }
    }
}
