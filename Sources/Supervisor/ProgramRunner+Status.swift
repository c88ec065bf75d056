internal import LinuxSystem

/// What is said of a program to who asks.
extension ProgramRunner {
    /// Where it is.
    enum State: Equatable {
        /// Not started yet, or held until others are ready.
        case idle
        /// A process runs, and has not said that it is ready.
        case starting
        /// A process runs and is ready.
        case ready
        /// The process has ended, and others of its process group are being ended.
        case clearing
        /// The next process is started later.
        case waiting
        /// Nothing is started any more.
        case ended
    }

    /// Why no process runs if one should and none is being started at once, in sentences; nil otherwise.
    var downReason: String? {
        guard state == .waiting || state == .ended && !isDone else { return nil }
        return "\(program.name) has ended again: \(lastVerdict?.text ?? "it could not be started.")"
    }

    /// Whether it is ready, or has ended well and needs not to be.
    var isDone: Bool {
        state == .ready || state == .ended && wasSuccess
    }

    /// What `holdfast status` shows of it.
    var report: JSONObject {
        var object = JSONObject()
        object.add("name", program.name)
        object.add("command", program.command)
        object.add("state", "\(state)")
        if let pid { object.add("pid", Int(pid)) }
        if let current { object.add("ageSeconds", current.child.age.secondCount) }
        if let standby {
            object.add("standby", "\(standby.state == .standingBy ? "ready" : "starting")")
            object.add("standbyPid", Int(standby.pid))
        }
        if lacksStandby { object.add("standbyEnds", standbyEnds) }
        let others = leaving.filter(\.isRunning)
        if !others.isEmpty {
            object.add(
                "leaving",
                others.map { generation in
                    var entry = JSONObject()
                    entry.add("pid", Int(generation.pid))
                    entry.add("ageSeconds", generation.child.age.secondCount)
                    return entry
                }
            )
        }
        if let successor { object.add("successor", Int(successor.pid)) }
        if let failure = handOvers.lastFailure { object.add("lastUpgradeFailure", failure) }
        if let statusText = current?.statusText { object.add("status", statusText) }
        if let probe { object.add("probe", probe) }
        object.add("restarts", count.restarts)
        object.add("earlyEnds", count.earlyEnds)
        if let startsAt {
            object.add("startsInSeconds", max(0, Double(startsAt - MonotonicClock.nanoseconds) / 1e9))
        }
        if let lastVerdict {
            object.add("lastEnd", lastVerdict.sentence)
            object.add("lastCause", lastVerdict.cause.rawValue)
        }
        return object
    }

    /// Whether one is to stand by, and does not, because those before have ended.
    private var lacksStandby: Bool { standbyEnds > 0 && standby == nil }

    /// How its probe goes; nil without one, and while nothing is asked.
    private var probe: JSONObject? {
        guard let prober = current?.prober, let probe = program.probe else { return nil }
        var object = JSONObject()
        object.add("state", !prober.hasAsked ? "waiting" : prober.problem == nil ? "good" : "failing")
        object.add("failures", prober.failures)
        object.add("allowed", probe.failures)
        if let problem = prober.problem { object.add("problem", problem) }
        return object
    }

    /// What `holdfast status` shows of it without `--json`.
    var description: String {
        var parts = ["\(program.name): \(state)"]
        if let pid { parts.append("pid \(pid)") }
        if let current, pid != nil { parts.append("for \(current.child.age.inPlainWords)") }
        if let standby {
            parts.append("pid \(standby.pid) \(standby.state == .standingBy ? "stands by" : "is to stand by")")
        }
        if lacksStandby { parts.append("\(standbyEnds) in a row have ended that were to stand by") }
        if let successor { parts.append("pid \(successor.pid) is to take over") }
        for generation in leaving where generation.isRunning { parts.append("pid \(generation.pid) leaves") }
        if let startsAt {
            let left = max(0, startsAt - MonotonicClock.nanoseconds)
            parts.append("starts in \(Duration.nanoseconds(left).inPlainWords)")
        }
        if count.restarts > 0 { parts.append("restarts: \(count.restarts)") }
        if count.earlyEnds > 0 { parts.append("early ends in a row: \(count.earlyEnds)") }
        if let problem = current?.prober?.problem, let failures = current?.prober?.failures {
            parts.append("its probe fails (\(problem), \(failures) of \(program.probe?.failures ?? 0))")
        }
        if let statusText = current?.statusText { parts.append("“\(statusText)”") }
        let last = lastVerdict.map { "\n  last end: \($0.text)" } ?? ""
        return parts.joined(separator: ", ") + last
    }
}
