internal import CrashCapture
internal import CrashReports
internal import Glibc

/// The faults of this program instance in the last minutes, by which a start is decided: of the process before this one, and of others.
struct PastFaults {
    /// Far enough back for any crash loop.
    private static let seconds: Double = 300

    /// In no order.
    ///
    /// Only those of the predecessor, after a restart in place: such a start is decided by the environment.
    let all: [PastFault]
    /// Those of the process before a restart in place, which had the same pid.
    let ofPredecessor: [PastFault]

    /// Reads them from a store and from its spool.
    ///
    /// If nothing can be read, there are none.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - instance: The program instance of this process: others have counts of their own.
    ///   - isRestarted: Whether it was restarted in place.
    init(store: ReportStore, instance: @autoclosure () -> ProgramInstance, isRestarted: Bool) {
        let executable = CrashCapture.executable
        let name = executable.split(separator: "/").last.map(String.init) ?? executable
        let pid = getpid()
        let recent =
            isRestarted
            ? RecentFaults.ofPredecessor(
                pid: Int(pid),
                in: store,
                processName: name,
                executable: executable,
                withinSeconds: Self.seconds
            )
            : RecentFaults.find(in: store, processName: name, executable: executable, withinSeconds: Self.seconds)
        // A forked child's fault does not end the program. A process that is alive is not a predecessor.
        let instance = recent.isEmpty ? nil : instance()
        let own = recent.filter {
            !$0.isForkedChild && instance.map($0.instance.mayBe) == true && !CrashCapture.isAlive(pid: $0.pid)
        }
        all = own.map(PastFault.init)
        let last = own.filter { $0.pid == Int(pid) }.map(\.processStart).max()
        ofPredecessor = own.filter { $0.pid == Int(pid) && $0.processStart == last }.map(PastFault.init)
    }
}

extension PastFault {
    fileprivate init(_ fault: RecentFault) {
        let outcome: Outcome =
            switch fault.verdict {
            case .resume: fault.isQuarantined ? .quarantined : .resumed
            case .restart: .restarted
            // Without a verdict, the process ended before there was one.
            default: .terminated
            }
        self.init(
            number: fault.number,
            signal: CInt(clamping: fault.signal),
            outcome: outcome,
            label: fault.label ?? "",
            time: fault.time,
            processStart: fault.processStart,
            pid: fault.pid,
            phase: fault.phase.flatMap { ProcessPhase(rawValue: $0.rawValue) },
            isOfStartItem: fault.isFromStart
        )
    }
}
