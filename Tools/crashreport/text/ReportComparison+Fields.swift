internal import CrashReports

extension ReportComparison {
    private static let mostPairs = 200

    /// What is another one in each run, whatever it says.
    private static let changing: Set<String> = ["restarts", "container", "length", "end", "activity"]
    /// The same, of what systemd sets for a run (systemd.exec(5)).
    private static let changingVariables: Set<String> = [
        "INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID", "MEMORY_PRESSURE_WATCH", "LISTEN_PID", "HOLDFAST_PID",
    ]
    /// What may have numbers in it that change from run to run: of a client, of a message, of a port.
    private static let numbered: Set<String> = [
        "reason", "diagnosis", "message", "exception", "why", "callout", "thread", "command", "stalled",
    ]

    /// Whether a field that differs may do so between two runs of the same program with the same fault.
    static func isCircumstance(_ field: Field) -> Bool {
        if field.name == "address" {
            // That one is in the null page and the other is not is no chance.
            return [field.first, field.second].allSatisfy { $0?.hasPrefix("0x") ?? false }
        }
        let words = field.name.split(separator: " ", maxSplits: 1).map(String.init)
        if changing.contains(field.name) { return true }
        if words.count == 2, words[0] == "environment", changingVariables.contains(words[1]) { return true }
        guard numbered.contains(field.name) || words.count == 2 && ["annotation", "environment"].contains(words[0]),
            let first = field.first, let second = field.second
        else { return false }
        return stable(first) == stable(second)
    }

    /// Without numbers, but with what stands in quotes: a label is a name.
    private static func stable(_ text: String) -> String {
        let open = String(text.map { ["\"", "“", "”"].contains($0) ? "'" : $0 })
        return StableText.of(open, limit: .max, lookingAt: 20000)
    }

    /// What both reports say, line by line.
    static func fields(of first: CrashReport, _ second: CrashReport) -> [Field] {
        func field(_ name: String, _ value: (CrashReport) -> String?) -> Field {
            Field(name: name, first: value(first), second: value(second))
        }
        var fields = [
            field("kind") { $0.kind.rawValue },
            field("reason") { $0.reason },
            field("diagnosis") { $0.diagnosis?.summary },
            field("where") { $0.location },
            field("signal") { $0.fault.map { "\($0.signal.name) (\($0.code.name))" } },
            field("address") { $0.fault?.addressKind?.rawValue ?? $0.fault?.address?.description },
            field("access") { $0.fault?.access.rawValue },
            field("message") { $0.fault?.message },
            field("exception") { $0.fault?.exception?.text },
            field("verdict") { $0.verdict.decision.rawValue },
            field("why") { $0.verdict.reason },
            field("quarantined") { $0.recovery?.quarantined == true ? "yes" : nil },
            field("held locks") { report in report.recovery.flatMap { $0.heldLocks == 0 ? nil : String($0.heldLocks) }
            },
            field("loop mode") { $0.loop?.mode },
            field("callout") { $0.loop?.callout.map { "\($0.kind.rawValue) \"\($0.label)\"" } },
            field("thread") { ($0.thread.name ?? "unnamed") + ($0.thread.isMain ? ", the main thread" : "") },
            field("process") { $0.process.name },
            field("program") { $0.process.executable },
            field("build") { $0.process.buildID },
            field("command") { $0.process.arguments.joined(separator: " ") },
            field("restarts") { String($0.process.restarts) },
            field("host") { $0.host.name },
            field("system") { $0.host.os },
            field("kernel") { $0.host.kernel },
            field("architecture") { $0.host.architecture },
            field("processors") { String($0.host.processors) },
            field("Holdfast") { $0.runtime.holdfast },
            field("Swift") { $0.runtime.swift },
            field("C library") { $0.runtime.libc },
            field("container") { $0.context?.container.flatMap { $0.id ?? $0.controlGroup } },
        ]
        fields += stallFields(of: first, second)
        let (left, right) = (first.context, second.context)
        fields += pairs("tag", left?.tags, right?.tags)
        fields += pairs("annotation", left?.annotations, right?.annotations)
        fields += pairs("environment", left?.environment, right?.environment)
        fields += pairs("limit", left?.limits.mapValues(text), right?.limits.mapValues(text))
        fields += pairs("image", builds(of: first), builds(of: second))
        return fields
    }

    private static func stallFields(of first: CrashReport, _ second: CrashReport) -> [Field] {
        func field(_ name: String, _ value: (CrashReport.Stall) -> String?) -> Field {
            Field(name: name, first: first.stall.flatMap(value), second: second.stall.flatMap(value))
        }
        return [
            field("stalled") { $0.whose },
            field("length") { CrashReport.Stall.text(seconds: $0.length) },
            field("threshold") { CrashReport.Stall.text(seconds: $0.threshold) },
            field("end") { $0.end.rawValue },
            field("activity") { $0.activities.first?.text },
        ]
    }

    private static func pairs(_ name: String, _ first: [String: String]?, _ second: [String: String]?) -> [Field] {
        let (first, second) = (first ?? [:], second ?? [:])
        return Set(first.keys).union(second.keys).sorted().prefix(mostPairs).map { key in
            Field(name: "\(name) \(key)", first: first[key], second: second[key])
        }
    }

    private static func text(of limit: CrashReport.Context.Limit) -> String {
        limit.soft.map(String.init) ?? "unlimited"
    }

    /// The build of each image, by name: the paths differ from machine to machine.
    private static func builds(of report: CrashReport) -> [String: String] {
        Dictionary(report.images.map { ($0.name, $0.buildID ?? "of an unknown build") }) { first, _ in first }
    }
}
