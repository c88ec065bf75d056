import ArgumentParser
import CrashReports
import ReportText

/// Which reports of a store are meant.
struct FilterOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Only reports of processes of this name.", valueName: "name"),
        completion: .custom(Completions.processes)
    )
    var process: String?

    @Option(help: ArgumentHelp("Only reports of the process with this identifier.", valueName: "pid"))
    var pid: Int?

    @Option(help: ArgumentHelp("Only reports from this host; without its domain, too.", valueName: "name"))
    var host: String?

    @Option(
        help: ArgumentHelp("Only this build: the start of its build identifier or release tag.", valueName: "start")
    )
    var build: String?

    @Option(
        help: ArgumentHelp("Only reports of this kind.", valueName: "kind")
    )
    var kind: KindChoice?

    @Option(
        help: ArgumentHelp("Only this signal, such as SEGV or SIGSEGV.", valueName: "signal"),
        completion: .list(SignalChoice.faults),
        transform: SignalChoice.init(text:)
    )
    var signal: SignalChoice?

    @Option(
        help: ArgumentHelp("Only this verdict.", valueName: "verdict")
    )
    var verdict: VerdictChoice?

    @Option(
        help: ArgumentHelp("Only the group whose fingerprint starts so.", valueName: "start"),
        completion: .custom(Completions.fingerprints)
    )
    var fingerprint: String?

    @Option(
        help: ArgumentHelp(
            "Only what happened since then: a time \(TimeExpression.forms), in UTC without --local.",
            valueName: "time"
        ),
        transform: TimeChoice.init(text:)
    )
    var since: TimeChoice?

    @Option(
        help: ArgumentHelp("Only what happened until this time.", valueName: "time"),
        transform: TimeChoice.init(text:)
    )
    var until: TimeChoice?

    @Option(
        help: ArgumentHelp(
            "Only reports with this text in the reason, the place or the process, in any case.",
            valueName: "text"
        )
    )
    var text: String?

    @Option(
        name: [.customLong("tag"), .customLong("where")],
        help: ArgumentHelp(
            "Only reports with this tag, such as request.id=4711; may be given more than once.",
            valueName: "key=value"
        ),
        transform: TagChoice.init(text:)
    )
    var tags: [TagChoice] = []

    @OptionGroup
    var times: TimeOptions

    func validate() throws {
        if let since, let until, until.time(in: times.zone) < since.time(in: times.zone) {
            throw ValidationError("--until \(until.text) is before --since \(since.text).")
        }
        if Set(tags.map(\.key)).count < Set(tags).count {
            throw ValidationError("No report has two values of one tag.")
        }
    }

    /// The filter of the store.
    var filter: ReportFilter {
        var filter = ReportFilter()
        filter.process = process
        filter.pid = pid
        filter.host = host
        filter.build = build
        filter.signal = signal?.name
        filter.verdict = verdict.map { .init(rawValue: $0.rawValue) }
        filter.kind = kind.map { .init(rawValue: $0.rawValue) }
        filter.fingerprint = fingerprint
        filter.since = since?.time(in: times.zone)
        filter.until = until?.time(in: times.zone)
        filter.text = text
        filter.tags = Dictionary(tags.map { ($0.key, $0.value) }) { first, _ in first }
        return filter
    }
}

/// A signal, as a user types it.
struct SignalChoice {
    /// The name, such as `SIGSEGV`.
    let name: String

    /// The signals that mean that code could not go on.
    static let faults = ["SIGSEGV", "SIGBUS", "SIGILL", "SIGTRAP", "SIGFPE", "SIGABRT", "SIGSYS", "SIGXCPU", "SIGXFSZ"]
    private static let names = (1...31).map(SignalNames.signal)

    init(text: String) throws {
        if let number = Int(text), (1...64).contains(number) {
            name = SignalNames.signal(number)
            return
        }
        let full = text.uppercased().hasPrefix("SIG") ? text.uppercased() : "SIG" + text.uppercased()
        guard Self.names.contains(full) || full.hasPrefix("SIGRTM") else {
            throw ValidationError("there is no such signal; those of faults are \(Self.faults.joined(separator: ", "))")
        }
        name = full
    }
}

/// What a report is about, as a user types it.
enum KindChoice: String, ExpressibleByArgument, CaseIterable {
    case fault
    case stall
    case death

    init?(argument: String) { self.init(rawValue: argument.lowercased()) }
}

/// A verdict, as a user types it.
enum VerdictChoice: String, ExpressibleByArgument, CaseIterable {
    case resume
    case restart
    case terminate
    case wait

    init?(argument: String) { self.init(rawValue: argument.lowercased()) }
}

/// A time, as a user types it.
struct TimeChoice {
    let text: String
    private let now = Timestamp.now

    init(text: String) throws {
        self.text = text
        guard TimeExpression.time(text, now: now) != nil else {
            throw ValidationError("a time is \(TimeExpression.forms)")
        }
    }

    /// The time, by the clocks and days of a time zone; what can be read in one zone can be in all.
    func time(in zone: DisplayZone) -> Timestamp {
        TimeExpression.time(text, now: now, zone: zone) ?? now
    }
}

/// In which time zone people are told times, and type them.
struct TimeOptions: ParsableArguments {
    @Flag(name: .customLong("local"), help: "Times are those of this machine's time zone, not UTC; JSON stays UTC.")
    var isLocal = false

    /// The time zone.
    var zone: DisplayZone { isLocal ? .local : .utc }
}

/// A tag with its value, as a user types it.
struct TagChoice: Hashable {
    let key: String
    let value: String

    init(text: String) throws {
        guard let equals = text.firstIndex(of: "="), equals > text.startIndex else {
            throw ValidationError("a tag is a key and its value, such as region=eu-1")
        }
        key = String(text[..<equals])
        value = String(text[text.index(after: equals)...])
    }
}
