import CommandOptions
import FaultInjection
import Holdfast
import SystemPackage

/// A small key-value daemon that is hosted by Holdfast: the example to copy from.
@MainActor
final class HoldfastAgent {
    private static let discussion = """
        A key-value daemon that survives its own faults.

        Speaks lines over TCP on 127.0.0.1. SET key value, GET key, PING, STATS, and FAULT name, which commits that fault in
        the callout that serves the connection. STALL busy|sleep|lock|read MILLISECONDS takes that long in it. SIGTERM and
        SIGINT end it in order, SIGHUP reads the --values file again.

        A restart in place, planned or for a fault, ends no connection but the one that faulted: requests that were on their
        way are answered by the next process. Values that were SET live in memory and do not survive a restart of either
        kind; those of --values are read again.
        """

    private(set) var port: UInt16 = 0
    private(set) var store: String?
    private(set) var injections: [Injection] = []
    private(set) var afterFault = AfterFaultChoice.keepGoing
    private(set) var exitStatus: UInt8?
    private(set) var crashLoopAfter: CrashLoopLimit?
    private(set) var values: String?
    private(set) var stallThreshold: Int?
    private(set) var calloutDeadline: Int?
    private(set) var tick: Int?
    private(set) var duration: Double?
    private var isUnprotected = false
    /// Prints something instead of serving.
    private var show: (@MainActor () -> Void)?

    /// Reads the command line.
    ///
    /// - Throws: `UsageError`.
    init(_ arguments: ArraySlice<String>) throws(UsageError) {
        let options = options()
        guard try options.readAll(arguments.first == "-h" ? ["--help"] : arguments).isEmpty else {
            throw UsageError(text: "holdfast-agent takes options only, each beginning with --")
        }
    }

    private func options() -> Options {
        var options = Options()
        options.add(
            "--port",
            "PORT",
            "The port to listen on; 0 for any free one.",
            as: UInt16.init(_:),
            "a number up to 65535"
        ) {
            self.port = $0
        }
        options.add(
            "--store",
            "DIR",
            "The folder for crash reports. (default: $HOLDFAST_STORE, $STATE_DIRECTORY, or the XDG state folder)"
        ) { self.store = $0 }
        options.add(
            "--inject",
            "FAULT@PLACE[:COUNT]",
            "A fault to commit at start; may be repeated. Places: \(Injection.Place.list).",
            as: Injection.init(_:),
            "a fault of --list-faults, @ and one of \(Injection.Place.list)"
        ) { self.injections.append($0) }
        options.add(
            "--after-fault",
            "WHAT",
            """
            What follows a fault: keep-going, restart-when-quiet, or restart, which resumes none.
            The values live in memory, so keep-going is the default.
            """,
            as: AfterFaultChoice.init(rawValue:),
            "one of \(AfterFaultChoice.allCases.map(\.rawValue).joined(separator: ", "))"
        ) { self.afterFault = $0 }
        options.add(
            "--exit-status",
            "N",
            "Exit with this status instead of restarting in place, for an outer supervisor; connections end.",
            as: UInt8.init(_:),
            "a number up to 255"
        ) { self.exitStatus = $0 }
        options.add(
            "--crash-loop-after",
            "N",
            """
            How many processes in a row that ended before they had served anything are a crash loop, or 'never'.
            Then it starts in safe mode. (default: 5)
            """,
            as: CrashLoopLimit.init(_:),
            "a number above 0, or never"
        ) { self.crashLoopAfter = $0 }
        options.add(
            "--values",
            "FILE",
            "A file of values to begin with, a line 'key value' each; read again on SIGHUP."
        ) {
            self.values = $0
        }
        addTimes(to: &options)
        options.add(
            "--unprotected",
            nil,
            "Serve without Holdfast, so that the first fault ends the process: to measure against."
        ) {
            _ in self.isUnprotected = true
        }
        options.add("--list-faults", nil, "List the faults and exit.") { _ in self.show = Self.listFaults }
        options.add("--version", nil, "Print the version and exit.") { _ in self.show = { print(EventHost.version) } }
        options.add("--help", nil, "Print this and exit.") { _ in
            self.show = { print("Usage: holdfast-agent [options]\n\n\(Self.discussion)\n\n\(self.options().help)") }
        }
        return options
    }

    private func addTimes(to options: inout Options) {
        let example = "a number of milliseconds from 1 to 86400000, which is a day"
        options.add(
            "--stall-threshold",
            "MILLISECONDS",
            "Report when the loop has served nothing for so long. (default: 1000)",
            as: Self.milliseconds,
            example
        ) { self.stallThreshold = $0 }
        options.add(
            "--callout-deadline",
            "MILLISECONDS",
            "Abandon a callout that runs for longer, as if it had faulted; restart where that cannot be.",
            as: Self.milliseconds,
            example
        ) { self.calloutDeadline = $0 }
        options.add(
            "--tick",
            "MILLISECONDS",
            "Let the loop tick so often; log a tick that is held up by 100 ms, and at the end how late ticks came.",
            as: Self.milliseconds,
            example
        ) { self.tick = $0 }
        options.add(
            "--duration",
            "SECONDS",
            "Stop after so many seconds.",
            as: Self.seconds,
            "a number of seconds above 0"
        ) { self.duration = $0 }
    }

    private static func milliseconds(_ text: String) -> Int? {
        Int(text).flatMap { (1...86_400_000).contains($0) ? $0 : nil }
    }

    private static func seconds(_ text: String) -> Double? { Double(text).flatMap { $0 > 0 && $0 < 1e9 ? $0 : nil } }

    private static func listFaults() {
        let width = Fault.allCases.map(\.rawValue.count).max() ?? 0
        for fault in Fault.allCases {
            print(fault.rawValue + String(repeating: " ", count: width + 2 - fault.rawValue.count) + fault.summary)
        }
    }

    /// Serves until a signal or the end of `--duration`, or prints what was asked for.
    func run() throws {
        if let show { return show() }
        guard !isUnprotected else { return try UnprotectedAgent(port: port).serve() }
        try Agent(options: self).serve()
    }
}

/// What `--after-fault` takes.
enum AfterFaultChoice: String, CaseIterable {
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

/// What `--crash-loop-after` takes: how many processes in a row that served nothing are a crash loop, or `never`.
struct CrashLoopLimit: Sendable {
    /// Nil for never.
    let earlyEnds: Int?

    init?(_ argument: String) {
        guard argument != "never" else {
            earlyEnds = nil
            return
        }
        guard let ends = Int(argument), ends > 0 else { return nil }
        earlyEnds = ends
    }
}

/// Writes a line now, also to a pipe: whoever started the agent waits for it.
func say(_ line: String, to file: FileDescriptor) { try? _ = file.writeAll((line + "\n").utf8) }
