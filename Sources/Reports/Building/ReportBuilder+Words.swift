internal import Glibc
internal import LinuxSystem
internal import Symbolication

/// The parts of a report that are said in words.
extension ReportBuilder {
    func process(uptimeNanoseconds: Int64, buildID: String?) -> CrashReport.Process {
        CrashReport.Process(
            name: process.name,
            pid: process.pid,
            parentPid: process.parentPid,
            executable: process.executable,
            arguments: process.arguments,
            buildID: buildID,
            startTime: process.startTime,
            uptimeSeconds: max(0, Double(uptimeNanoseconds) / 1e9),
            restarts: process.restarts
        )
    }

    func process(of record: FaultRecord, buildID: String?) -> CrashReport.Process {
        var process = process(uptimeNanoseconds: record.uptimeNanoseconds, buildID: buildID)
        process.phase = record.phase
        guard record.facts.contains(.forkedChild) else { return process }
        process.isForkedChild = true
        process.pid = pid(of: record)
        // A child's record may be in the spool file of its parent, or in one of its own.
        if process.pid != self.process.pid { process.parentPid = self.process.pid }
        return process
    }

    /// The process that faulted.
    func pid(of record: FaultRecord) -> Int {
        record.facts.contains(.forkedChild) ? record.pid ?? process.pid : process.pid
    }

    /// When it happened; of a record that was cut off before, when the process started.
    func time(of record: FaultRecord) -> Timestamp {
        record.time.microsecondsSinceEpoch == 0 ? process.startTime : record.time
    }

    func fault(of record: FaultRecord, runtimeFailure: String?) -> (CrashReport.Fault, reason: String) {
        let place = FaultAddress(record)
        let signal = CInt(clamping: record.signal)
        // The runtime's text is of the last fatal error, which a memory fault is not.
        let says = signal == SIGILL || signal == SIGTRAP || signal == SIGABRT
        let message = record.message.isEmpty ? record.abortMessage : record.message
        let trimmed = message.reversed().drop(while: \.isWhitespace).reversed()
        let isTerminated = signal == SIGABRT && record.exception?.type == FaultRecord.noException
        let exception = isTerminated ? nil : record.exception
        let text =
            says && !trimmed.isEmpty ? String(trimmed) : isTerminated ? FaultReason.terminateWithoutException : nil
        let sender = record.sender.flatMap { $0.pid == 0 ? nil : $0 }
        let fault = CrashReport.Fault(
            number: record.number,
            signal: .signal(record.signal),
            code: .code(record.code, ofSignal: record.signal),
            address: place.address,
            access: place.access,
            addressKind: place.kind,
            mapping: place.address == nil ? nil : record.mapping,
            message: text,
            sender: sender,
            exception: exception,
            deadlineSeconds: record.deadlineSeconds,
            instructions: instructions(of: record),
            memory: memory(of: record)
        )
        let reason = FaultReason(
            fault: fault,
            pid: pid(of: record),
            callout: record.loop?.callout,
            runtimeFailure: runtimeFailure,
            isRuntimeMessage: !record.message.isEmpty,
            isPrivileged: signal == SIGSEGV && record.code == 128
                && PrivilegedInstruction.begins(record.codeBytes.from)
        )
        return (fault, cutOffReason(record) ?? reason.text)
    }

    /// Of a record that was cut off before its cause: a zero there would read as a signal that somebody sent.
    private func cutOffReason(_ record: FaultRecord) -> String? {
        guard record.isCutOff, record.code == 0, record.sender.map({ $0.pid == 0 }) ?? true else { return nil }
        return record.signal == 0
            ? "a fault of which nothing was recorded"
            : "\(SignalNames.signal(record.signal)) of which the cause was not recorded"
    }

    func verdict(of record: FaultRecord) -> CrashReport.Verdict {
        guard let decision = record.verdict else {
            return CrashReport.Verdict(decision: .terminate, reason: CrashReport.Verdict.noneYet)
        }
        if record.facts.contains(.restartFailed) {
            return CrashReport.Verdict(decision: .terminate, reason: "the process could not be restarted in place")
        }
        if record.facts.contains(.deadline) {
            let words = ["no verdict came within the deadline", record.crashThread.flatMap(obstacle)]
            return CrashReport.Verdict(decision: decision, reason: words.compactMap { $0 }.joined(separator: ": "))
        }
        let reason = record.verdictReason.isEmpty ? "the fault could not be judged" : record.verdictReason
        return CrashReport.Verdict(decision: decision, reason: reason)
    }

    /// What kept the crash thread from its verdict, as far as its state tells (proc_pid_stat(5)).
    private func obstacle(_ crashThread: FaultRecord.CrashThread) -> String? {
        switch crashThread.state {
        case "R": return "the crash thread was at work all the time, or waited for a processor"
        case "D": return "the crash thread waited for a disk, or for memory that is on one"
        case "T", "t": return "the crash thread was stopped"
        case "S":
            guard let number = crashThread.systemCall else { return nil }
            let name = SystemCallNames.name(number)
            // Every lock of user space waits in it (futex(7)).
            if name == "futex" { return "a lock that the crash thread needs was held" }
            return "the crash thread waited in the system call \(name ?? String(number))"
        default: return nil
        }
    }

    /// Nil if there is nothing to say.
    func recovery(of record: FaultRecord) -> CrashReport.Recovery? {
        let recovery = CrashReport.Recovery(
            drained: record.facts.contains(.drained),
            quarantined: record.facts.contains(.quarantined),
            heldLocks: record.facts.contains(.lockHeld) ? record.heldLocks : 0,
            inLockFrame: record.facts.contains(.lockFrame),
            touched: record.touched
        )
        return recovery == CrashReport.Recovery() ? nil : recovery
    }

    func notes(on record: FaultRecord) -> [String] {
        var notes: [String] = []
        switch record.stage {
        case .incomplete: notes.append("the process ended while the record was being written: parts of it are missing")
        case .captured: notes.append("the process ended before the stack was walked: only the innermost frame is known")
        case .decided where record.isCutOff: notes.append("the record is damaged: parts of it are missing")
        case .decided: break
        }
        return notes + notesOnThreads(of: record) + self.notes
    }

    /// What holds for all reports of the process.
    var notes: [String] {
        let lost = process.faultsLost
        return [
            DebugLibrary.problem.map { "no lines: libdw cannot be loaded (\($0))" },
            lost > 0 ? "\(lost) more faults of this process found no room for a record" : nil,
        ].compactMap(\.self)
    }
}

extension FaultRecord {
    /// Whether what the handler writes last but one is missing: then a zero means nothing.
    ///
    /// No fault has a program counter, a stack pointer and flags of zero.
    var isCutOff: Bool {
        stage == .incomplete || ["rip", "rsp", "eflags"].allSatisfy { registers[$0] ?? 0 == 0 }
    }
}
