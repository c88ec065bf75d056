internal import CLinuxShims
internal import CRecordLayout
internal import Glibc

/// What ended a process, in one word of a list, with what it rests on.
struct DeathVerdict: Sendable, Equatable {
    /// What ended it.
    enum Cause: String, Sendable {
        /// It ended itself.
        case exit
        /// The supervisor ended it, because somebody asked for that.
        case stopped
        /// A signal, from whom is not known.
        case signal
        /// A fault that it did not handle.
        case fault
        /// A system call that a seccomp filter forbids.
        case seccomp
        /// The kernel, for want of memory.
        case outOfMemory = "out of memory"
        /// The kernel, because of a limit of its own: setrlimit(2).
        case limit
        /// The supervisor, because it said nothing for too long.
        case watchdog
        /// The supervisor, because a probe had no answer.
        case probe
        /// The supervisor, because it was not ready in time.
        case startTimeout = "start timeout"
        /// The kernel, because its supervisor had ended.
        case supervisor
        /// The machine has ended, and with it everything.
        case machine
        /// It never became the program.
        case exec
        /// Nothing shows what it was.
        case unknown
    }

    /// How sure that is.
    enum Confidence: String, Sendable {
        /// The kernel says so, of this process.
        case certain
        /// Everything fits, and nothing else is known that would.
        case likely
        /// It is not known.
        case none
    }

    var cause: Cause
    var confidence: Confidence
    /// Whose limit it was: `own group`, `group above`, `machine`, or `beyond` for one of those above that cannot be told apart; the limit of setrlimit(2).
    var scope: String?
    /// What happened, in one sentence.
    var sentence: String
    /// What to look at next.
    var next: [String] = []

    /// The sentence, for where nothing else tells how sure it is.
    var text: String { confidence == .likely ? "\(sentence) That is likely, not certain." : sentence }
}

/// What is known of a death.
struct DeathFacts: Sendable {
    /// What the supervisor did to it before.
    enum Order: Sendable, Equatable {
        /// It was asked to end, by whom in words.
        case stop(by: String)
        /// It was killed.
        case watchdog(Duration?)
        case probe(String)
        case startTimeout(Duration)
    }

    /// Why nobody has seen its end.
    enum Unseen: Sendable, Equatable {
        /// The supervisor, a process with this number, had ended before.
        case supervisorHadEnded(CInt)
        /// It ran in another boot of the machine.
        case machineHadEnded
        /// It was the child of another process, which alone is told how it ended.
        case childOfAnother
    }

    /// Whether the supervisor ended it because it did not answer, or was not ready in time.
    var hung: Bool {
        switch order {
        case .watchdog, .probe, .startTimeout: true
        case .stop, nil: false
        }
    }

    var status: ProcessEnd
    /// Nil if its supervisor has seen it: then the status is what the kernel said.
    var unseen: Unseen?
    var dumpedCore = false
    /// Why it never became the program.
    var startFailure: StartFailure?
    /// What the supervisor did, the first that it did.
    var order: Order?
    /// With which signal, if with one.
    var orderSignal: CInt?
    /// Whether it had another process serve before that.
    var hasHandedOver = false
    /// Where its threads were when it was ended because it hung, a line each.
    var threads: [String] = []
    /// The signals that the supervisor has just passed on, with who wanted that.
    var passedOn: [CInt: String] = [:]
    /// Whether the supervisor has sent SIGKILL, because it did not end in time.
    var wasKilledByUs = false
    var before: MemoryAccounts?
    var after: MemoryAccounts?
    /// Who waited for memory when it ended.
    var pressure: [MemoryPressure] = []
    /// Whether a seccomp filter was in force; nil if that is not known.
    var hasFilter: Bool?
    /// What the kernel's log says of it.
    var log: [KernelLogEntry] = []
    var isLogReadable = false
    var limits: ResourceLimits?
    /// What it used, in seconds of processor time.
    var processorSeconds = 0.0
    /// Whether the last that it said is that it got no memory.
    var saidNoMemory = false

    /// Whether it used so much processor time that a limit may have ended it.
    ///
    /// For limits the kernel counts ticks, which on a busy machine are more than what /proc and waitid(2) tell
    /// (linux/kernel/sched/cputime.c, cputime_adjust).
    ///
    /// - Parameters:
    ///   - seconds: How much.
    ///   - share: How much of it is enough.
    /// - Returns: Whether it did.
    func hasUsed(seconds: UInt64, share: Double) -> Bool { processorSeconds >= Double(seconds) * share - 0.1 }

    /// Whether a program says in its last lines that it got no memory: in the words of the C library, C++, Python, Java and Go.
    static func saysNoMemory(_ output: ArraySlice<UInt8>) -> Bool {
        let text = String(decoding: output.suffix(4096), as: UTF8.self)
        let words = [
            "Cannot allocate memory", "std::bad_alloc", "MemoryError", "OutOfMemoryError", "memory exhausted",
            "out of memory",
        ]
        return words.contains { word in
            text.utf8.indices.contains { text.utf8[$0...].starts(with: word.utf8) }
        }
    }
}

extension DeathVerdict {
    /// What is said of a death: a pure function of the facts.
    ///
    /// What the facts do not show is unknown.
    init(of facts: DeathFacts) {
        if let failure = facts.startFailure {
            self.init(
                cause: .exec,
                confidence: .certain,
                scope: failure.stage.rawValue,
                sentence: "\(failure.text).",
                next: ["Nothing was started: look at the command, and at what it needs."]
            )
            return
        }
        if let unseen = facts.unseen {
            self = Self.unseen(unseen, facts)
            return
        }
        switch facts.status {
        case .exited(let status): self = Self.exit(status, facts)
        case .signalled(let signal): self = Self.signal(signal, facts)
        }
    }

    private static func unseen(_ unseen: DeathFacts.Unseen, _ facts: DeathFacts) -> DeathVerdict {
        switch unseen {
        case .childOfAnother: childOfAnother(facts)
        case .supervisorHadEnded(let pid):
            DeathVerdict(
                cause: .supervisor,
                confidence: .likely,
                sentence: "Its supervisor (pid \(pid)) ended without ending it, and it ended with its supervisor.",
                next: [
                    "Look who has ended process \(pid), or its container: the log of what started it, and 'oom-kill' in the kernel's."
                ]
            )
        case .machineHadEnded:
            DeathVerdict(
                cause: .machine,
                confidence: .likely,
                sentence: "The machine ended while it ran.",
                next: ["Look at the end of that boot's log: journalctl -b -1 -e."]
            )
        }
    }

    private static func childOfAnother(_ facts: DeathFacts) -> DeathVerdict {
        // Counters alone say nothing: it may have ended itself.
        if !facts.log.isEmpty, let verdict = outOfMemory(facts) { return verdict }
        if let verdict = ordered(facts, end: "ended") { return verdict }
        return DeathVerdict(
            cause: .unknown,
            confidence: .none,
            sentence:
                "Its main process (MAINPID) has ended; how is told to its parent alone, which is not the supervisor.",
            next: ["Look at the log of the process that has started it, or have that one be the main process."]
        )
    }

    // MARK: Its own end

    private static func exit(_ status: CInt, _ facts: DeathFacts) -> DeathVerdict {
        // One that was on its way out is not ended by whoever asks for that meanwhile.
        let isLeaving = facts.hasHandedOver && status == HF_STANDBY_EXIT_STATUS
        if case .stop(let by)? = facts.order, !isLeaving {
            let sentence = "It was stopped (\(by)), and ended with status \(status)."
            return DeathVerdict(cause: .stopped, confidence: .certain, sentence: sentence)
        }
        if !isLeaving, let verdict = ordered(facts, end: "ended with status \(status)") { return verdict }
        if status != 0, let verdict = addressSpace(facts) { return verdict }
        var next: [String] = []
        if status > 128, status < 128 + 65 {
            let name = SignalName.of(status - 128) ?? "signal \(status - 128)"
            next.append("A shell ends with \(status) if a command of its was ended by \(name).")
        }
        if let kills = facts.killsElsewhere, status != 0 {
            next.append(
                "The kernel has killed \(kills) other process(es) of its control group for want of memory meanwhile."
            )
        }
        let meaning =
            status == 0
            ? ", which is success" : isLeaving ? ", because another process serves in its place after a fault" : ""
        next.append(
            isLeaving
                ? "The fault has a report: 'crashreport list' has it."
                : status == 0
                    ? "If it was not to end, its own log says why it did."
                    : "Look at the last of its standard error: it says why, if the program does."
        )
        return DeathVerdict(
            cause: .exit,
            confidence: .certain,
            sentence: "It ended itself with status \(status)\(meaning).",
            next: next
        )
    }

    /// The verdict if the supervisor had a reason to end it.
    private static func ordered(_ facts: DeathFacts, end: String) -> DeathVerdict? {
        switch facts.order {
        case nil: nil
        case .stop(let by):
            DeathVerdict(
                cause: .stopped,
                confidence: .certain,
                sentence: facts.wasKilledByUs
                    ? "It was stopped (\(by)), did not end in time, and was killed."
                    : "It was stopped (\(by)), and \(end).",
                next: facts.wasKilledByUs
                    ? ["Look what it does when it is told to end: it may need a longer --stop-timeout."] : []
            )
        case .watchdog(let limit):
            DeathVerdict(
                cause: .watchdog,
                confidence: .certain,
                sentence: limit.map { "It had not said WATCHDOG=1 for \($0.inPlainWords), so it was ended; it \(end)." }
                    ?? "It asked to be ended (WATCHDOG=trigger); it \(end).",
                next: ["Look where its threads were (crashreport show --full): it hung, or its main loop was held up."]
            )
        case .probe(let what):
            DeathVerdict(
                cause: .probe,
                confidence: .certain,
                sentence: "A probe failed (\(what)), so it was ended; it \(end).",
                next: ["Look where its threads were (crashreport show --full), and what the probe asks for."]
            )
        case .startTimeout(let limit):
            DeathVerdict(
                cause: .startTimeout,
                confidence: .certain,
                sentence: "It was not ready within \(limit.inPlainWords), so it was ended; it \(end).",
                next: ["Does it say READY=1 to NOTIFY_SOCKET (sd_notify(3))? If not, it needs --ready exec."]
            )
        }
    }

    // MARK: Signals

    private static func signal(_ signal: CInt, _ facts: DeathFacts) -> DeathVerdict {
        let name = SignalName.of(signal) ?? "signal \(signal)"
        // First what the kernel did by itself: also to one that was just being stopped.
        if signal == SIGKILL, let verdict = outOfMemory(facts) { return verdict }
        if let verdict = limit(signal, facts) { return verdict }
        if let verdict = fault(signal, name, facts) { return verdict }
        // One that crashes on its way out was not ended by who had asked for its end.
        var meanwhile = ""
        if case .stop(let by)? = facts.order, facts.orderSignal != signal, crashSignals.contains(signal) {
            meanwhile = " It was being stopped meanwhile (\(by))."
        } else if let verdict = ordered(facts, end: "ended by \(name)") {
            return verdict
        }
        if signal == SIGKILL { return unknown(facts) }
        if let reason = facts.passedOn[signal] {
            return DeathVerdict(
                cause: .signal,
                confidence: .certain,
                sentence: "It ended by \(name), which the supervisor has passed on (\(reason)).",
                next: ["If it was not to end by that signal, it has to handle it."]
            )
        }
        if crashSignals.contains(signal), let verdict = addressSpace(facts) { return verdict }
        return DeathVerdict(
            cause: .signal,
            confidence: .certain,
            sentence: sentence(signal, name) + meanwhile,
            next: next(signal)
        )
    }

    private static let faultSignals: Set<CInt> = [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP]
    private static let crashSignals = faultSignals.union([SIGABRT, SIGSYS])

    private static func fault(_ signal: CInt, _ name: String, _ facts: DeathFacts) -> DeathVerdict? {
        // Without a filter the kernel sends it to nobody.
        if signal == SIGSYS, facts.hasFilter != false {
            let isLogged = facts.log.contains { $0.event == .seccomp }
            return DeathVerdict(
                cause: .seccomp,
                confidence: isLogged ? .certain : .likely,
                sentence: "It made a system call that a seccomp filter forbids (\(name)).",
                next: [
                    isLogged
                        ? "The kernel's log has the number of the system call; the filter is the container's or the unit's."
                        : "The kernel's log (dmesg, journalctl -k) or auditd has the number of the system call."
                ]
            )
        }
        guard faultSignals.contains(signal), facts.log.contains(where: { $0.event == .fault }) else { return nil }
        return DeathVerdict(
            cause: .fault,
            confidence: .certain,
            sentence: "It faulted, and did not handle that: \(name).",
            next: ["With Holdfast inside, the report would say where; without, a core dump does (coredumpctl)."]
        )
    }

    private static func sentence(_ signal: CInt, _ name: String) -> String {
        if faultSignals.contains(signal) {
            return "It ended by \(name): by a fault of its own, unless somebody sent it that signal."
        }
        if signal == SIGPIPE {
            return
                "It ended by SIGPIPE: it wrote to a pipe or a connection that nobody reads, unless somebody sent it that signal."
        }
        if [SIGALRM, SIGVTALRM, SIGPROF].contains(signal) {
            return "It ended by \(name): by a timer of its own, unless somebody sent it that signal."
        }
        if signal == SIGXCPU || signal == SIGXFSZ {
            return "It ended by \(name): by a limit of its own, unless somebody sent it that signal."
        }
        if signal == SIGABRT { return "It ended by SIGABRT: by abort(3), unless somebody sent it that signal." }
        return "Somebody sent it \(name), which ended it. Who is not known."
    }

    private static func next(_ signal: CInt) -> [String] {
        if faultSignals.contains(signal) || signal == SIGABRT {
            return ["Look at the last of its standard error, and for a core dump (coredumpctl)."]
        }
        return ["Look who sends that signal: an operator, a script, another supervisor (auditd can tell)."]
    }

    // MARK: The kernel's own reasons

    private static func outOfMemory(_ facts: DeathFacts) -> DeathVerdict? {
        for entry in facts.log {
            guard case .outOfMemory(let limitedBy, let group) = entry.event else { continue }
            guard let limitedBy else { return memory("machine", .certain, facts) }
            return memory(limitedBy == group ? "own group" : "group above", .certain, facts, group: limitedBy)
        }
        // The line that names the limit is left out where there are many (linux/mm/oom_kill.c, oom_rs).
        for entry in facts.log {
            guard case .outOfMemoryKill(let isOfGroup) = entry.event else { continue }
            let shortage = facts.shortage
            guard isOfGroup else { return memory("machine", .certain, facts) }
            return memory(
                shortage.scope == "machine" ? "beyond" : shortage.scope,
                .certain,
                facts,
                group: shortage.group
            )
        }
        // The log would have it.
        if facts.isLogReadable { return nil }
        // Who killed it otherwise is known.
        if facts.wasKilledByUs { return nil }
        guard let before = facts.before, let after = facts.after, before.version == after.version,
            let own = after.groups.first, let was = before.groups.first(where: { $0.path == own.path }),
            own.kills > was.kills || own.groupKills > was.groupKills
        else { return nil }
        // The kernel has killed in this group, in its time.
        let shortage = facts.shortage
        return memory(shortage.scope, .likely, facts, group: shortage.group)
    }

    private static func memory(
        _ scope: String,
        _ confidence: Confidence,
        _ facts: DeathFacts,
        group: String? = nil
    ) -> DeathVerdict {
        let whose =
            switch scope {
            case "own group": "its control group (\(group ?? ""))"
            case "group above": "a control group above its own (\(group ?? ""))"
            case "machine": "the machine"
            default: "a control group, or the machine"
            }
        let limit =
            facts.after?.groups.first { $0.path == group }?.limit.map { ", whose limit is \($0 >> 20) MiB," } ?? ""
        // Of the group that is named, which may be another than the one in which it began.
        let named = group == nil ? facts.after?.groups.first : facts.after?.groups.first { $0.path == group }
        let peak =
            named?.peak.map { " \(scope == "group above" ? "That" : "Its") group used \($0 >> 20) MiB at most." } ?? ""
        let doubt =
            confidence == .certain ? "" : " The kernel's log, which would name the process, cannot be read here."
        return DeathVerdict(
            cause: .outOfMemory,
            confidence: confidence,
            scope: scope,
            sentence: "The kernel killed it, because \(whose)\(limit) was out of memory.\(peak)\(doubt)",
            next: [
                scope == "machine"
                    ? "Look what else ran on the machine (the kernel's log lists it), and at its swap."
                    : "Look what it keeps in memory, and whether the limit (memory.max) fits its work."
            ]
        )
    }

    private static func limit(_ signal: CInt, _ facts: DeathFacts) -> DeathVerdict? {
        guard let limits = facts.limits else { return nil }
        switch signal {
        case SIGXCPU:
            // The kernel raises the limit by a second with each signal (linux/kernel/time/posix-cpu-timers.c, check_process_timers).
            guard let limit = limits.processorSeconds, facts.hasUsed(seconds: limit &- 1, share: 0.75) else {
                return nil
            }
            return processor(facts.processorSeconds >= Double(limit) - 0.1 ? limit : limit - 1, "SIGXCPU")
        case SIGKILL:
            guard let limit = limits.mostProcessorSeconds, facts.hasUsed(seconds: limit, share: 0.9),
                !facts.wasKilledByUs
            else { return nil }
            return processor(limit, "SIGKILL")
        case SIGXFSZ:
            guard let limit = limits.fileSize else { return nil }
            return DeathVerdict(
                cause: .limit,
                confidence: .likely,
                scope: "file size",
                sentence: "It wrote a file beyond its limit of \(limit) bytes, and got SIGXFSZ.",
                next: ["Look for the file, which may be a log, and at RLIMIT_FSIZE (LimitFSIZE=, ulimit -f)."]
            )
        default: return nil
        }
    }

    /// The limit of what it may map, of which the kernel tells nobody but the program.
    private static func addressSpace(_ facts: DeathFacts) -> DeathVerdict? {
        guard facts.saidNoMemory, let limit = facts.limits?.addressSpace else { return nil }
        return DeathVerdict(
            cause: .limit,
            confidence: .likely,
            scope: "address space",
            sentence:
                "It said that it got no memory, and may map no more than \(limit >> 20) MiB; it ended by \(facts.status).",
            next: ["Look what it keeps in memory, and at RLIMIT_AS (LimitAS=, ulimit -v)."]
        )
    }

    private static func processor(_ limit: UInt64, _ name: String) -> DeathVerdict {
        DeathVerdict(
            cause: .limit,
            confidence: .likely,
            scope: "processor time",
            sentence: "It used its limit of \(limit) s of processor time, and got \(name).",
            next: ["Look whether it calculates without end, and at RLIMIT_CPU (LimitCPU=, ulimit -t)."]
        )
    }

    private static func unknown(_ facts: DeathFacts) -> DeathVerdict {
        var evidence: [String] = []
        if facts.isLogReadable, let kills = facts.killsElsewhere {
            evidence.append(
                "the kernel's log does not say that it was for want of memory, for which it has killed \(kills) of its control group meanwhile"
            )
        } else if facts.isLogReadable {
            evidence.append("the kernel's log has no kill for want of memory")
        } else if let before = facts.before, let after = facts.after,
            let own = after.groups.first, before.groups.contains(where: { $0.path == own.path })
        {
            evidence.append("the control group in which it began has counted no kill for want of memory")
        } else {
            evidence.append("neither the kernel's log nor the counters of its control group can be read")
        }
        return DeathVerdict(
            cause: .unknown,
            confidence: .none,
            sentence: "It was killed by SIGKILL, and nothing shows by whom: \(evidence.joined(separator: ", ")).",
            next: [
                "Look who kills here: an operator, a script, another supervisor, a container's runtime (auditd can tell)."
            ]
        )
    }
}

extension DeathFacts {
    /// How many processes of its group were killed for want of memory meanwhile; nil for none.
    fileprivate var killsElsewhere: UInt64? {
        guard let own = after?.groups.first, let was = before?.groups.first(where: { $0.path == own.path }),
            own.kills > was.kills
        else { return nil }
        return own.kills - was.kills
    }

    /// Whose limit was reached, as far as the counters tell: the scope of a verdict, and the group.
    fileprivate var shortage: (scope: String, group: String?) {
        guard let before, let after, before.version == after.version, let own = after.groups.first else {
            return ("beyond", nil)
        }
        let short = after.groups.filter { group in
            before.groups.contains { $0.path == group.path && $0.shortages < group.shortages }
        }
        guard let first = short.first else { return (after.isCutOff ? "beyond" : "machine", nil) }
        // v1 counts each time that a group had to give something back, too: then it is not known which one had nothing left.
        if after.version == 1, short.count > 1 { return ("beyond", nil) }
        return (first.path == own.path ? "own group" : "group above", first.path)
    }
}
