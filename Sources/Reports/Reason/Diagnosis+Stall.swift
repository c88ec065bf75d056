/// The words for what did not go on.
extension FaultPlace {
    /// One line of what happened.
    func summary(of stall: CrashReport.Stall) -> String {
        let time = CrashReport.Stall.text(seconds: stall.length)
        let took = stall.end == .never ? "had not ended after \(time)" : "took \(time)"
        guard stall.subject != .ping else {
            return "\(stall.label?.quotedBriefly ?? "What was asked") did not answer for \(time)\(doing(stall))."
        }
        if stall.subject == .job {
            let boundary = report.loop?.callout.map { " in the fault boundary \($0.label.quotedBriefly)" } ?? ""
            return "A job of a task\(boundary) \(took), and whoever waited for it waited\(doing(stall)), \(inFunction)."
        }
        let callout = report.loop?.callout.map { "The \($0.words)" }
        return
            "\(callout ?? "What the loop did") \(took), and nothing else was served meanwhile\(doing(stall)), \(inFunction)."
    }

    private func doing(_ stall: CrashReport.Stall) -> String {
        guard let main = stall.activities.first else { return "" }
        switch main.activity {
        case .running: return ": its thread was calculating"
        case .ready: return ": its thread was ready to run, but no processor was free"
        case .lock: return ": its thread waited for a lock"
        case .systemCall: return ": its thread waited in the system call \(main.systemCall ?? "that is not known")"
        case .disk: return ": its thread waited for a disk or a file system"
        case .stopped: return ": its thread was stopped"
        default: return ""
        }
    }

    /// What to look at next.
    func next(after stall: CrashReport.Stall) -> [String] {
        let line = stall.profile?.culprit.map { call in call.location } ?? location
        guard stall.subject != .ping || stall.profile != nil else {
            return ["Look at the other threads: one of them holds what did not answer, or has work that is too long."]
        }
        switch stall.activities.first?.activity {
        case .running:
            return [
                "Open \(line): what does it calculate, and on how much? Input that is larger than usual is the usual cause.",
                "Work that may take long belongs on another thread, or into slices that let the loop serve in between.",
            ]
        case .ready:
            return [
                "Other threads or processes had the processors: look at the load, and at what else ran then.",
                "In a container, look at its limit of processor time (cpu.max); a batch job next to it may need a lower priority.",
            ]
        case .lock:
            return [
                "Look for the thread that holds the lock among the other threads: what does it wait for, or do?",
                "Open \(line): a lock that is held during input, output or a long calculation stalls whoever needs it.",
            ]
        case .disk:
            return [
                "Look at the disk and the file system (iostat, dmesg): a slow or full one stalls whoever reads or writes."
            ]
        case .stopped: return ["Find out who stopped the thread: a debugger, or a signal that was sent to it alone."]
        case .systemCall:
            return [
                stall.subject == .job
                    ? "Open \(line): it waits in the kernel, and keeps a thread of the pool. Await it instead."
                    : "Open \(line): it waits for something outside. Make that asynchronous, or give it a time limit.",
                "A descriptor belongs on the loop as a source: it is served when there is something to read or room to write.",
            ]
        default: return ["Open \(line), and look at the profile: it shows where the time went."]
        }
    }
}
