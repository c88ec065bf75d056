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
        help: ArgumentHelp("Only reports of this kind: fault or stall; all for both.", valueName: "kind"),
        completion: .list(KindChoice.names),
        transform: KindChoice.init(text:)
    )
    var kind: KindChoice?

    @Option(
        help: ArgumentHelp("Only this signal, such as SEGV or SIGSEGV.", valueName: "signal"),
        completion: .list(SignalChoice.faults),
        transform: SignalChoice.init(text:)
    )
    var signal: SignalChoice?

    @Option(
        help: ArgumentHelp("Only this verdict: resume, restart, terminate or wait.", valueName: "verdict"),
        completion: .list(VerdictChoice.names),
        transform: VerdictChoice.init(text:)
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
        name: .customLong("tag"),
        help: ArgumentHelp("Only reports with this tag; may be given more than once.", valueName: "key=value"),
        transform: TagChoice.init(text:)
    )
    var tags: [TagChoice] = []

    @OptionGroup
    var times: TimeOptions

    func validate() throws {
        if let since, let until, until.time(in: times.zone) < since.time(in: times.zone) {
            throw ValidationError("--until \(until.text) is before --since \(since.text).")
        }
    }

    /// The filter of the store.
    var filter: ReportFilter {
        ReportFilter(
            process: process,
            pid: pid,
            host: host,
            build: build,
            signal: signal?.name,
            verdict: verdict?.decision,
            kind: kind?.kind,
            fingerprint: fingerprint?.lowercased(),
            since: since?.time(in: times.zone),
            until: until?.time(in: times.zone),
            text: text,
            tags: Set(tags.map(\.tag))
        )
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
            throw ValidationError("there is no such signal" + Spelling.hint(for: full, among: Self.names))
        }
        name = full
    }
}

/// What a report is about, as a user types it.
struct KindChoice {
    /// Nil for everything.
    let kind: CrashReport.Kind?

    static let names = ["fault", "stall", "all"]

    init(text: String) throws {
        let name = text.lowercased()
        guard Self.names.contains(name) else {
            throw ValidationError("it is fault, stall or all" + Spelling.hint(for: name, among: Self.names))
        }
        kind = name == "all" ? nil : CrashReport.Kind(rawValue: name)
    }
}

/// A verdict, as a user types it.
struct VerdictChoice {
    let decision: CrashReport.Verdict.Decision

    static let names = ["resume", "restart", "terminate", "wait"]

    init(text: String) throws {
        let name = text.lowercased()
        guard Self.names.contains(name) else {
            let hint = Spelling.hint(for: name, among: Self.names)
            throw ValidationError("it is resume, restart, terminate or wait" + hint)
        }
        decision = CrashReport.Verdict.Decision(rawValue: name)
    }
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
struct TagChoice {
    let tag: ReportFilter.Tag

    init(text: String) throws {
        guard let equals = text.firstIndex(of: "="), equals > text.startIndex else {
            throw ValidationError("a tag is a key and its value, such as region=eu-1")
        }
        tag = ReportFilter.Tag(key: String(text[..<equals]), value: String(text[text.index(after: equals)...]))
    }
}
