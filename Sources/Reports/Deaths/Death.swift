extension CrashReport {
    /// How a process ended, as its supervisor saw it: the subject of a report of its own, or part of that of the fault which ended it.
    public struct Death: Codable, Sendable, Hashable {
        /// What the supervisor calls the program.
        public var program: String
        /// What ended it: `exit`, `stopped`, `signal`, `fault`, `seccomp`, `out of memory`, `limit`, `watchdog`, `probe`, `start timeout`,
        /// `supervisor` (it ended with it), `machine` (the same), `exec` or `unknown`.
        public var cause: CrashReport.Word
        /// How sure that is: `certain` (the kernel says so of this process), `likely`, or `none`.
        public var confidence: CrashReport.Word
        /// Whose memory it was, which limit, or where a start failed; nil for other causes.
        package var scope: String?
        /// What happened, in one sentence.
        public var sentence: String
        /// What to look at next.
        package var next: [String] = []
        /// What the sentence rests on, a line each.
        package var evidence: [String] = []
        /// The exit status; nil if a signal ended it.
        public var status: Int?
        /// The name of the signal; nil if it ended itself.
        public var signal: String?
        /// Whether the kernel wrote a core dump.
        package var dumpedCore: Bool = false
        /// The process of the supervisor.
        package var supervisor: Int
        /// What the supervisor did then.
        package var action: String
        /// Whether it had become ready.
        package var wasReady: Bool
        /// What it had said of itself last: `STATUS=` of sd_notify(3).
        package var statusText: String?
        /// Seconds of processor time that it used in its own code.
        package var userSeconds: Double
        /// Seconds of processor time that the kernel used for it.
        package var systemSeconds: Double
        /// The most memory that it had, in bytes.
        package var peakResident: Int
        /// The last that it wrote to standard error; nil for nothing.
        public var lastOutput: String?
    }
}

extension CrashReport.Death {
    /// What it is about in a word or two, where a fault has its signal: `SIGKILL`, `status 3`.
    package var subject: String { signal ?? status.map { "status \($0)" } ?? cause.rawValue }

    /// The reason of an end that somebody had asked for.
    package static let wasStopped = "was stopped"

    /// Whether nothing speaks of a mistake: it had done its work, or somebody had asked for its end.
    package var isOrderly: Bool { Self.isOrderly(reason) }

    /// The same by the reason of a report, which may have ` (7 times)` behind it.
    package static func isOrderly(_ reason: String) -> Bool {
        [wasStopped, success].contains { reason == $0 || reason.hasPrefix($0 + " (") }
    }

    private static let success = "ended itself with status 0"

    /// What is said in the report's first line.
    package var reason: String {
        switch cause {
        case "exit": "ended itself with status \(status ?? 0)"
        case "stopped": Self.wasStopped
        case "out of memory": "killed for want of memory" + (scope.map { " (\($0))" } ?? "")
        case "limit": "ended by its limit" + (scope.map { " of \($0)" } ?? "")
        case "watchdog": "hung, and was ended by its watchdog"
        case "probe": "did not answer a probe, and was ended"
        case "start timeout": "was not ready in time, and was ended"
        case "supervisor": "ended with its supervisor"
        case "machine": "ended with the machine"
        case "exec": "could not be started" + (scope.map { ": \($0)" } ?? "")
        case "fault": "ended by a fault: \(signal ?? "")"
        case "seccomp": "made a forbidden system call"
        case "unknown": "killed by \(signal ?? "a signal"), by whom is not known"
        default: "ended by \(signal ?? "a signal")"
        }
    }

    /// What it says, in a line each.
    package var facts: [(name: String, text: String)] {
        let doubt = confidence == "certain" ? "" : confidence == "likely" ? ", likely" : ", not known"
        var facts = [("what", "\(reason) (\(subject))\(dumpedCore ? ", core dumped" : "")\(doubt)")]
        facts += evidence.enumerated().map { ($0 == 0 ? "evidence" : "", $1) }
        let used =
            "\(Self.rounded(userSeconds)) s user, \(Self.rounded(systemSeconds)) s system, \(peakResident >> 20) MiB at most"
        facts.append(("used", used))
        if let statusText { facts.append(("said", statusText)) }
        facts.append(("then", action))
        facts.append(("by", "holdfast run, pid \(supervisor)" + (wasReady ? "" : "; it had not become ready")))
        return facts
    }

    private static func rounded(_ seconds: Double) -> String {
        guard seconds.isFinite, seconds >= 0, seconds < 1e12 else { return "?" }
        return "\((seconds * 1000).rounded() / 1000)"
    }

    /// The last lines of its standard error, for people.
    ///
    /// - Parameter most: How many lines.
    /// - Returns: The lines; none if it wrote nothing.
    package func lastLines(_ most: Int) -> [String] {
        (lastOutput ?? "").split(separator: "\n", omittingEmptySubsequences: false).reversed()
            .drop { $0.isEmpty }.prefix(most).reversed().map(String.init)
    }
}
