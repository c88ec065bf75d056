internal import CLinuxShims
internal import LinuxSystem

/// What is kept of a death, until `crashreport` or an agent makes a report of it: JSON, in a file of the store's spool.
///
/// By hand: the JSON of FoundationEssentials would be half of the program. `CrashReports` reads it (`DeathRecord.swift` there).
struct DeathRecord: Sendable {
    /// The version of the form.
    static let version = 1

    let program: Program
    let pid: CInt
    let supervisor: CInt
    let file: String
    /// In nanoseconds of CLOCK_REALTIME.
    let began: Int64
    let ended: Int64
    /// How many processes of the program there were before.
    let restarts: Int
    let facts: DeathFacts
    let verdict: DeathVerdict
    let usage: Usage
    /// What follows, in words.
    let action: String
    let wasReady: Bool
    let statusText: String?
    var lastOutput: ArraySlice<UInt8>

    /// What the process used.
    struct Usage: Sendable {
        var userSeconds = 0.0
        var systemSeconds = 0.0
        var peakBytes: Int64 = 0
        var majorFaults: Int64 = 0
    }

    /// The record's text.
    var json: String {
        var object = JSONObject()
        object.add("version", Self.version)
        object.add("name", program.name)
        object.add("arguments", Self.shortened(program.command, to: 64 << 10))
        object.add("executable", file)
        object.add("pid", Int(pid))
        object.add("supervisor", Int(supervisor))
        object.add("began", began)
        object.add("ended", ended)
        object.add("restarts", restarts)
        // Without one if nobody has seen it.
        switch facts.unseen == nil ? facts.status : nil {
        case nil: break
        case .exited(let status): object.add("status", Int(status))
        case .signalled(let signal):
            object.add("signal", Int(signal))
            if let name = SignalName.of(signal) { object.add("signalName", name) }
        }
        if facts.dumpedCore { object.add("dumpedCore", true) }
        object.add("cause", verdict.cause.rawValue)
        object.add("confidence", verdict.confidence.rawValue)
        if let scope = verdict.scope { object.add("scope", scope) }
        object.add("sentence", verdict.sentence)
        object.add("next", verdict.next)
        object.add("evidence", Self.shortened(evidence, to: 64 << 10))
        object.add("userSeconds", usage.userSeconds)
        object.add("systemSeconds", usage.systemSeconds)
        object.add("peakBytes", usage.peakBytes)
        object.add("majorFaults", usage.majorFaults)
        object.add("wasReady", wasReady)
        if let statusText { object.add("statusText", statusText) }
        object.add("action", action)
        let machine = Machine()
        var host = JSONObject()
        host.add("name", machine.name)
        host.add("kernel", machine.kernel)
        host.add("os", machine.os)
        host.add("architecture", machine.architecture)
        host.add("processors", machine.processors)
        object.add("host", host)
        object.add("holdfast", HoldfastVersion.current)
        if !lastOutput.isEmpty { object.add("lastOutput", String(decoding: lastOutput, as: UTF8.self)) }
        return object.text + "\n"
    }

    /// The first of some texts, as many bytes as may be: whoever reads the record takes no more than two megabytes, and a byte may become six.
    private static func shortened(_ texts: [String], to most: Int) -> [String] {
        var left = most
        var taken: [String] = []
        for text in texts {
            guard text.utf8.count <= left else {
                taken.append(String(decoding: text.utf8.prefix(left), as: UTF8.self) + "…")
                break
            }
            left -= text.utf8.count
            taken.append(text)
        }
        return taken
    }

    /// What the verdict rests on, a line each.
    private var evidence: [String] {
        if let unseen = facts.unseen, unseen != .childOfAnother {
            return [
                "nobody waited for it: it was found gone when its program was started again; the time and the command are those of that moment"
            ]
        }
        var lines =
            facts.unseen == nil
            ? ["waitid: \(facts.status)" + (facts.dumpedCore ? ", core dumped" : "")]
            : ["pidfd: it has ended; it was no child of the supervisor"]
        lines += facts.log.map { "kernel log: \($0.text)" }
        if !facts.isLogReadable { lines.append("the kernel's log cannot be read here") }
        for group in facts.after?.groups ?? [] {
            let was = facts.before?.groups.first { $0.path == group.path }
            func change(_ count: UInt64, _ before: UInt64?) -> String {
                before.map { "\($0) → \(count)" } ?? "\(count)"
            }
            let limit = group.limit.map { ", limit \($0)" } ?? ""
            let peak = group.peak.map { ", peak \($0)" } ?? ""
            lines.append(
                "control group \(group.path): at its limit \(change(group.shortages, was?.shortages)), "
                    + "killed \(change(group.kills, was?.kills))\(peak)\(limit)"
            )
        }
        lines += facts.pressure.map(\.line)
        if let limits = facts.limits {
            let named: [(String, UInt64?)] = [
                ("processor seconds", limits.processorSeconds), ("file size", limits.fileSize),
                ("address space", limits.addressSpace),
            ]
            for (name, limit) in named { if let limit { lines.append("limit of \(name): \(limit)") } }
        }
        return lines + facts.threads
    }
}

extension DeathRecord.Usage {
    /// What the kernel says of a child that was taken.
    init(_ event: HFChildEvent) {
        self.init(
            userSeconds: Double(event.user_microseconds) / 1e6,
            systemSeconds: Double(event.system_microseconds) / 1e6,
            peakBytes: event.peak_kilobytes * 1024,
            majorFaults: event.major_faults
        )
    }
}
