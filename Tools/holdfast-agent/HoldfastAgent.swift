import ArgumentParser
import FaultInjection
import Holdfast
import SystemPackage

/// A small key-value daemon that is hosted by Holdfast: the example to copy from.
struct HoldfastAgent: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "holdfast-agent",
        abstract: "A key-value daemon that survives its own faults.",
        discussion: """
            Speaks lines over TCP on 127.0.0.1. SET key value, GET key, PING, STATS, and FAULT name, which commits that fault in \
            the callout that serves the connection. STALL busy|sleep|lock|read MILLISECONDS takes that long in it. SIGTERM and \
            SIGINT end it in order, SIGHUP reads the --values file again.

            A restart in place, planned or for a fault, ends no connection but the one that faulted: requests that were on their \
            way are answered by the next process. Values that were SET live in memory and do not survive a restart of either \
            kind; those of --values are read again.
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
            """
            What follows a fault: keep-going, restart-when-quiet, or restart, which resumes none. The values live in memory, so \
            keep-going is the default.
            """
    )
    var afterFault: AfterFaultChoice = .keepGoing

    @Option(help: "Exit with this status instead of restarting in place, for an outer supervisor; connections end.")
    var exitStatus: UInt8?

    @Option(
        help:
            """
            How many processes in a row that ended before they had served anything are a crash loop, or 'never'. Then it starts \
            in safe mode. (default: 5)
            """
    )
    var crashLoopAfter: CrashLoopLimit?

    @Option(help: "A file of values to begin with, a line 'key value' each; read again on SIGHUP.")
    var values: String?

    @Option(
        help: ArgumentHelp(
            "Report when the loop has served nothing for so long. (default: 1000)",
            valueName: "milliseconds"
        )
    )
    var stallThreshold: Int?

    @Option(
        help: ArgumentHelp(
            "Abandon a callout that runs for longer, as if it had faulted; restart where that cannot be.",
            valueName: "milliseconds"
        )
    )
    var calloutDeadline: Int?

    @Option(
        help: ArgumentHelp(
            "Let the loop tick so often; log a tick that is held up by 100 ms, and at the end how late ticks came.",
            valueName: "milliseconds"
        )
    )
    var tick: Int?

    @Option(help: "Stop after so many seconds.")
    var duration: Double?

    @Flag(help: "Serve without Holdfast, so that the first fault ends the process: to measure against.")
    var unprotected = false

    @Flag(help: "List the faults and exit.")
    var listFaults = false

    func validate() throws {
        if let duration, !(duration > 0 && duration < 1e9) {
            throw ValidationError("--duration takes a number of seconds above 0.")
        }
        let times = [
            ("--stall-threshold", stallThreshold), ("--callout-deadline", calloutDeadline), ("--tick", tick),
        ]
        for (option, value) in times {
            guard let value, !(1...86_400_000).contains(value) else { continue }
            throw ValidationError("\(option) takes a number of milliseconds from 1 to 86400000, which is a day.")
        }
    }

    @MainActor func serve() throws {
        if listFaults {
            let width = Fault.allCases.map(\.rawValue.count).max() ?? 0
            for fault in Fault.allCases {
                print(fault.rawValue + String(repeating: " ", count: width + 2 - fault.rawValue.count) + fault.summary)
            }
            return
        }
        guard !unprotected else { return try UnprotectedAgent(port: port).serve() }
        do {
            let agent = try Agent(options: self)
            try agent.serve()
        } catch let error as EventHostError {
            say("Error: \(error)", to: .standardError)
            throw ExitCode.failure
        }
    }
}

/// What `--after-fault` takes.
enum AfterFaultChoice: String, CaseIterable, ExpressibleByArgument {
    case keepGoing = "keep-going"
    case restartWhenQuiet = "restart-when-quiet"
    case restart

    func apply(to configuration: inout EventHost.Configuration) {
        switch self {
        case .keepGoing: configuration.afterResume = .keepServing
        case .restartWhenQuiet: configuration.afterResume = .restartWhenQuiet
        case .restart: configuration.recoveryPolicy = .never
        }
    }
}

/// Writes a line now, also to a pipe: whoever started the agent waits for it.
func say(_ line: String, to file: FileDescriptor) { try? _ = file.writeAll((line + "\n").utf8) }

/// What `--crash-loop-after` takes: how many processes in a row that served nothing are a crash loop, or `never`.
struct CrashLoopLimit: ExpressibleByArgument, Sendable {
    /// Nil for never.
    let earlyEnds: Int?

    init?(argument: String) {
        guard argument != "never" else {
            earlyEnds = nil
            return
        }
        guard let ends = Int(argument), ends > 0 else { return nil }
        earlyEnds = ends
    }
}
