package import CrashReports

/// What two reports have in common, and what not.
///
/// Times and numbers of processes are left out: they always differ. What differs from one run to the next, as addresses do and
/// numbers in texts, is told apart from what may be a cause.
package struct ReportComparison: Sendable, Hashable, Encodable {
    /// Something that a report says.
    package struct Field: Sendable, Hashable, Encodable {
        /// What it is.
        package var name: String
        /// What the first report says; nil if nothing.
        package var first: String?
        /// What the second report says; nil if nothing.
        package var second: String?
    }

    /// A call, or the lack of one.
    package struct Call: Sendable, Hashable, Encodable {
        /// In which of the reports it is.
        package enum Change: String, Sendable, Hashable, Encodable {
            /// In both, at the same place.
            case same
            /// In both, with another place in the source.
            case moved
            /// Only in the first.
            case removed
            /// Only in the second.
            case added
        }

        /// In which of the reports it is.
        package var change: Change
        /// Where it is in the first report.
        package var first: String?
        /// Where it is in the second report.
        package var second: String?
    }

    /// More calls than these are not compared: it takes time that grows with the square of what differs.
    private static let mostCalls = 256

    /// The fingerprint of the first, by the rule of this version if the two were made by different ones.
    package let firstFingerprint: Fingerprint
    /// The fingerprint of the second, by the same rule.
    package let secondFingerprint: Fingerprint
    /// Whether both have the same cause, as far as the fingerprint tells.
    package let isSameGroup: Bool
    /// What differs.
    package let differences: [Field]
    /// What differs from one run to the next, and says nothing of the cause; none in reports of different groups.
    package let circumstances: [Field]
    /// The names of what both say alike.
    package let alike: [String]
    /// The calls of the thread that faulted, or those that took most of the time of a stall.
    package let calls: [Call]

    /// Compares two reports.
    ///
    /// - Parameters:
    ///   - first: A report.
    ///   - second: Another report.
    package init(_ first: CrashReport, _ second: CrashReport) {
        // Fingerprints of different rules are never equal.
        let isComparable = Self.rule(of: first) == Self.rule(of: second)
        firstFingerprint = isComparable ? first.fingerprint : Fingerprint(of: first)
        secondFingerprint = isComparable ? second.fingerprint : Fingerprint(of: second)
        isSameGroup = firstFingerprint == secondFingerprint
        let fields = Self.fields(of: first, second)
        // Where the causes differ, anything may be why.
        let isEqual = isSameGroup
        differences = fields.filter { $0.first != $0.second && !(isEqual && Self.isCircumstance($0)) }
        circumstances = fields.filter { $0.first != $0.second && isEqual && Self.isCircumstance($0) }
        alike = fields.filter { $0.first == $0.second && $0.first != nil }.map(\.name)
        calls = Self.calls(of: first, second)
    }

    /// The version of the rule that made a fingerprint.
    private static func rule(of report: CrashReport) -> Substring { report.fingerprint.rawValue.prefix { $0 != "-" } }

    /// The calls that are compared, the innermost first: of a stall those that took most of the time, for the last sample is chance.
    private static func steps(of report: CrashReport) -> [(name: String, location: String)] {
        if let profile = report.stall?.profile {
            return profile.heaviestPath.reversed().prefix(mostCalls).map { call in
                call.function == nil && call.imageName == nil ? unknownCode : (call.name, call.location)
            }
        }
        let frames = report.thread.frames.filter { $0.runtimeFailure == nil }.prefix(mostCalls)
        return frames.map { frame in
            frame.function == nil && frame.imageName == nil ? unknownCode : (frame.comparisonName, frame.location)
        }
    }

    /// An address without a function and without an image is another one in each process.
    private static let unknownCode = (name: "unknown code", location: "unknown code")

    private static func calls(of first: CrashReport, _ second: CrashReport) -> [Call] {
        let (old, new) = (steps(of: first), steps(of: second))
        let difference = new.map(\.name).difference(from: old.map(\.name))
        var removed: Set<Int> = []
        var added: Set<Int> = []
        for change in difference {
            switch change {
            case .remove(let offset, _, _): removed.insert(offset)
            case .insert(let offset, _, _): added.insert(offset)
            }
        }
        var calls: [Call] = []
        var (i, j) = (0, 0)
        while i < old.count || j < new.count {
            if i < old.count, removed.contains(i) {
                calls.append(Call(change: .removed, first: old[i].location))
                i += 1
            } else if j < new.count, added.contains(j) {
                calls.append(Call(change: .added, second: new[j].location))
                j += 1
            } else if i < old.count, j < new.count {
                let (before, after) = (old[i].location, new[j].location)
                calls.append(Call(change: before == after ? .same : .moved, first: before, second: after))
                i += 1
                j += 1
            } else {
                // What is in neither set is in both lists.
                break
            }
        }
        return calls
    }

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

extension CrashReport.Frame {
    /// What makes it the same call in another build: its function, or else where in which image.
    fileprivate var comparisonName: String { function ?? imageLocation ?? address.description }
}
