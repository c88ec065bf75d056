internal import CLinuxShims
internal import Glibc
internal import LinuxSystem
internal import SystemPackage

/// What a supervisor that was killed has left: processes of its program's group, which nobody ends.
///
/// The kernel ends the program itself (PR_SET_PDEATHSIG), and not what that has started. They may hold the sockets that the next supervisor opens.
struct Leftovers {
    private let note: LifeNote

    /// What is left of a program that was noted; nil if its supervisor lives, or it is not known whose the group is.
    init?(of note: LifeNote) {
        guard note.isOfThisBoot, !note.supervisor.isAlive else { return nil }
        // The number of a group is given to no other process as long as somebody is in it: a leader that has begun later has a group of its own.
        if let leader = LifeNote.Life(of: note.leader.pid), leader != note.leader { return nil }
        self.note = note
    }

    /// Those that live.
    ///
    /// Another group of this number would have to be in the session of the supervisor before, too.
    var processes: [CInt] {
        guard let folder = try? FileDirectory(at: "/proc"), let names = try? folder.names() else { return [] }
        return names.compactMap { CInt($0) }.filter(isOne)
    }

    private func isOne(_ pid: CInt) -> Bool {
        guard let fields = ProcessFields.of(pid), fields.count > 19, let start = UInt64(fields[19]) else {
            return false
        }
        return CInt(fields[2]) == note.leader.pid && CInt(fields[3]) == note.session && start >= note.supervisor.start
            && fields[0] != "Z" && fields[0] != "X"
    }

    /// Ends them, and waits for that.
    ///
    /// - Parameters:
    ///   - signal: What they get first.
    ///   - limit: How long they may take before they are killed.
    /// - Returns: Those that live on.
    func end(by signal: CInt, within limit: Duration) -> [CInt] {
        for (signal, limit) in [(signal, limit), (SIGKILL, .seconds(2))] {
            var told: Set<CInt> = []
            let deadline = MonotonicClock.nanoseconds.addingReportingOverflow(limit.nanosecondCount)
            repeat {
                // Taken first, and looked at again: a number may have become another's.
                let open = processes.map { (pid: $0, descriptor: hf_pidfd_open($0)) }.filter { $0.descriptor >= 0 }
                defer { for (_, descriptor) in open { close(descriptor) } }
                if open.isEmpty { break }
                for (pid, descriptor) in open where isOne(pid) && told.insert(pid).inserted {
                    _ = hf_pidfd_signal(descriptor, signal)
                    _ = hf_pidfd_signal(descriptor, SIGCONT)
                }
                // One may start another one meanwhile.
                Readiness.wait(forAny: open.map(\.descriptor), atMost: 100_000_000)
            } while deadline.overflow || MonotonicClock.nanoseconds < deadline.partialValue
        }
        return processes
    }
}

extension StateFolder {
    /// Ends what a supervisor that was killed has left of a program, before its sockets are opened.
    func endLeftovers(of program: Program) {
        guard let note = life(of: program.name), let leftovers = Leftovers(of: note) else { return }
        let processes = leftovers.processes
        guard !processes.isEmpty else { return }
        Log.write(
            "\(program.name): ends what the supervisor before has left, which was killed: \(Self.list(processes))"
        )
        let rest = leftovers.end(by: program.stopSignal, within: program.stopTimeout)
        guard !rest.isEmpty else { return }
        Log.write("\(program.name): cannot be ended: \(Self.list(rest)); 'ps -o pid,user,stat,cmd -p PID' shows more")
    }

    private static func list(_ processes: [CInt]) -> String {
        let shown = processes.prefix(8).map { "\($0)" }.joined(separator: ", ")
        let more = processes.count > 8 ? " and \(processes.count - 8) more" : ""
        return (processes.count == 1 ? "process " : "processes ") + shown + more
    }
}
