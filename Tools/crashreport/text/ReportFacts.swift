internal import CrashReports

/// A line of what a report says: what it is about, in a word, and the rest.
package typealias ReportFact = (name: String, text: String)

extension ReportText {
    /// What the report says in a line each, as `show` has it below the diagnosis.
    ///
    /// - Parameter isBrief: Whether only what tells at a glance is wanted.
    /// - Returns: The lines; one without a name goes on with the line before.
    package func facts(isBrief: Bool = false) -> [ReportFact] {
        var facts = [("report", "\(report.id)  \(report.fingerprint)")] + subjectFacts(isBrief)
        if hasThread { facts.append(("where", report.location)) }
        let age = now.map { ", \(Age($0, since: report.timestamp).text)" } ?? ""
        facts.append(("when", layout.zone.stamp(report.timestamp) + age))
        let seen = report.occurrences
        let times = "\(seen.count) times: first \(layout.zone.brief(seen.first)), last \(layout.zone.stamp(seen.last))"
        if seen.count > 1, !isBrief { facts.append(("seen", times)) }
        let group = history?.lines(in: layout.zone) ?? (seen.count > 1 && isBrief ? [times] : [])
        facts += group.enumerated().map { ($0 == 0 ? "group" : "", $1) }
        facts.append(("verdict", "\(report.verdict.decision.rawValue): \(report.verdict.reason)"))
        if !isBrief, let recovery = report.recovery { facts += self.facts(of: recovery) }
        if let loop = report.loop { facts.append(("loop", Self.text(of: loop))) }
        // Of a task they say whose request it was.
        if isBrief, report.loop?.callout?.kind == .task { facts += tags }
        return facts + (isBrief ? briefProcess : process)
    }

    private func subjectFacts(_ isBrief: Bool) -> [ReportFact] {
        if let stall = report.stall {
            return stall.facts(in: layout.zone).prefix(isBrief ? 4 : .max).map { ($0.name, $0.text) }
        }
        if report.kind == .death, let death = report.death {
            return death.facts.filter { !isBrief || $0.name != "evidence" && $0.name != "" }.map { ($0.name, $0.text) }
        }
        guard let fault = report.fault else { return [] }
        let number = "fault \(fault.number) of its process"
        var facts = [("what", "\(fault.signal.name) (\(fault.code.name)), \(number)")]
        if let address = fault.address, !isBrief { facts.append(("address", Self.access(to: address, of: fault))) }
        if let message = fault.message { facts.append(("message", message)) }
        if let exception = fault.exception { facts.append(("exception", exception.text)) }
        if let sender = fault.sender { facts.append(("sender", "pid \(sender.pid), uid \(sender.uid)")) }
        if let death = report.death { facts.append(("end", "\(death.sentence) \(death.action)")) }
        return facts
    }

    private func facts(of recovery: CrashReport.Recovery) -> [ReportFact] {
        var sentences: [String] = []
        if recovery.drained { sentences.append("the process drained before it was restarted") }
        if recovery.quarantined { sentences.append("what faulted was quarantined") }
        if recovery.heldLocks > 0 {
            sentences.append(recovery.heldLocks == 1 ? "a lock was held" : "\(recovery.heldLocks) locks were held")
        }
        if recovery.inLockFrame { sentences.append("it was inside a function that holds a lock") }
        let facts = [
            ("recovery", sentences.joined(separator: "; ")), ("touched", recovery.touched.joined(separator: ", ")),
        ]
        return facts.filter { !$0.1.isEmpty }
    }

    private var restarts: String {
        let count = report.process.restarts
        return count == 0 ? "" : ", restarted \(Count.times(count)) before"
    }

    private var briefProcess: [ReportFact] {
        let process = report.process
        let uptime = CrashReport.Stall.text(seconds: process.uptimeSeconds)
        let facts = [("process", "\(process.name), pid \(process.pid) on \(report.host.name), up \(uptime)\(restarts)")]
        return facts + (process.buildID.map { [("program", "\(process.executable), build \($0.prefix(12))")] } ?? [])
    }

    private var process: [ReportFact] {
        let (process, host, runtime) = (report.process, report.host, report.runtime)
        let uptime = (process.uptimeSeconds * 10).rounded() / 10
        let parent = process.isForkedChild == true ? "a forked child of" : "parent"
        let system = "\(host.os), Linux \(host.kernel), \(host.architecture), \(host.processors) processors"
        let versions = ["Holdfast \(runtime.holdfast)", runtime.swift.map { "Swift \($0)" }, runtime.libc]
        let facts = [
            ("process", "\(process.name), pid \(process.pid), \(parent) \(process.parentPid)"),
            ("", "up \(uptime) s since \(layout.zone.stamp(process.startTime))\(restarts)"),
            ("command", process.arguments.joined(separator: " ")),
            ("program", process.executable + (process.buildID.map { ", build \($0)" } ?? "")),
            ("host", "\(host.name), \(system)"), ("runtime", versions.compactMap(\.self).joined(separator: ", ")),
        ]
        return facts + tags
    }

    private var tags: [ReportFact] {
        let tags = (report.context?.tags ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        return tags.isEmpty ? [] : [("tags", tags.joined(separator: ", "))]
    }

    private static func access(to address: HexAddress, of fault: CrashReport.Fault) -> String {
        let verb = [.none, .unknown].contains(fault.access) ? "" : ", \(fault.access.rawValue)"
        return address.description + (fault.addressKind.map { " (\($0.rawValue))" } ?? "") + verb
    }

    private static func text(of loop: CrashReport.LoopState) -> String {
        if let callout = loop.callout, callout.kind == .task {
            return "none: in a task of fault boundary \"\(callout.label)\""
        }
        var parts = ["mode \(loop.mode)", loop.activity]
        if let callout = loop.callout {
            let label = callout.label.isEmpty ? "" : " \"\(callout.label)\""
            parts.append("in \(callout.kind.rawValue)\(label) (item \(callout.item))")
        }
        return (parts + ["nesting \(loop.nesting)", "pass \(loop.pass)"]).joined(separator: ", ")
    }
}

extension CrashReport.Context {
    /// What the process had, in a line each.
    package var resources: [ReportFact] {
        var facts: [ReportFact] = []
        if let memory { facts.append(("memory", Self.text(of: memory))) }
        if let load, !load.isEmpty {
            facts.append(("load", load.prefix(3).map { "\(($0 * 100).rounded() / 100)" }.joined(separator: ", ")))
        }
        if let descriptors {
            let limit = descriptors.limit.map { " of \($0)" } ?? ""
            facts.append(("files", "\(descriptors.open)\(limit) descriptors open"))
        }
        if let threadCount { facts.append(("threads", String(threadCount))) }
        if let container {
            let parts = [
                container.runtime, container.id.map { String($0.prefix(12)) }, container.controlGroup,
                container.memoryLimit.map { "memory up to \(ByteCount($0).text)" },
                container.processorLimit.map { "\($0) processors" },
            ]
            facts.append(("container", parts.compactMap(\.self).joined(separator: ", ")))
        }
        let limits = limits.sorted { $0.key < $1.key }.prefix(200).compactMap { name, limit in
            limit.soft.map { "\(name.hasPrefix("Max ") ? String(name.dropFirst(4)) : name) \($0)" }
        }
        if !limits.isEmpty { facts.append(("limits", limits.joined(separator: ", "))) }
        return facts
    }

    private static func text(of memory: Memory) -> String {
        var parts = ["\(ByteCount(memory.resident).text) resident"]
        if let peak = memory.peakResident { parts.append("\(ByteCount(peak).text) at most") }
        parts.append("\(ByteCount(memory.virtual).text) mapped")
        if let available = memory.systemAvailable {
            let total = memory.systemTotal.map { " of \(ByteCount($0).text)" } ?? ""
            parts.append("the machine had \(ByteCount(available).text)\(total) left")
        }
        return parts.joined(separator: ", ")
    }
}
