internal import CLinuxShims
internal import Glibc
internal import LinuxSystem
internal import SystemPackage

/// What a supervisor that was killed has left: processes of its program's group, which nobody ends.
///
/// The kernel ends the program itself (PR_SET_PDEATHSIG), and not what that has started. They may hold the sockets that the next supervisor opens.
struct Leftovers {
    private let note: LifeNote
    /// Those that have got the first signal.
    private var told: Set<CInt> = []

    /// What is left of a program that was noted; nil if its supervisor lives, or it is not known whose the group is.
    init?(of note: LifeNote) {
        guard note.isOfThisBoot, note.isOfThisNamespace, !note.supervisor.isAlive, getpgrp() != note.leader.pid else {
            return nil
        }
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
        return pid != getpid() && CInt(fields[2]) == note.leader.pid && CInt(fields[3]) == note.session
            && start >= note.leader.start && fields[0] != "Z" && fields[0] != "X"
    }

    /// The same, each with a descriptor that is readable when it has ended, and that is to be closed.
    private var open: [(pid: CInt, descriptor: CInt)] {
        processes.map { (pid: $0, descriptor: hf_pidfd_open($0)) }.filter { $0.descriptor >= 0 }
    }

    /// Tells them to end.
    mutating func tell(_ signal: CInt) {
        for (pid, descriptor) in open {
            // Looked at again: its number may have become another's before there was a descriptor.
            if isOne(pid), told.insert(pid).inserted {
                _ = hf_pidfd_signal(descriptor, signal)
                _ = hf_pidfd_signal(descriptor, SIGCONT)
            }
            close(descriptor)
        }
    }

    /// Kills those that live, and waits until they have ended.
    mutating func kill() {
        told = []
        wait(SIGKILL, within: .seconds(2), unless: nil)
    }

    /// Waits until they have ended.
    ///
    /// - Parameters:
    ///   - signal: What one gets that has begun meanwhile.
    ///   - limit: How long they may take.
    ///   - interruption: A descriptor that is readable when it is not to wait any more; nil for none.
    mutating func wait(_ signal: CInt, within limit: Duration, unless interruption: CInt?) {
        let deadline = MonotonicClock.nanoseconds + limit.nanosecondCount
        while MonotonicClock.nanoseconds < deadline {
            tell(signal)
            let open = open
            defer { for (_, descriptor) in open { close(descriptor) } }
            if open.isEmpty { return }
            if let interruption, Readiness.now(of: interruption, for: .readable).contains(.readable) { return }
            Readiness.wait(forAny: open.map(\.descriptor) + [interruption].compactMap(\.self), atMost: 100_000_000)
        }
    }
}

extension StateFolder {
    /// How long those that were left may take to end at most: nobody is served meanwhile.
    private static let mostPatience = Duration.seconds(30)

    /// Ends what a supervisor that was killed has left of programs, before their sockets are opened.
    ///
    /// - Parameters:
    ///   - programs: The programs.
    ///   - signals: A descriptor that is readable when a signal has come: then they are killed at once.
    func endLeftovers(of programs: [Program], unless signals: CInt) {
        var all: [(program: Program, leftovers: Leftovers)] = []
        for program in programs {
            guard let note = life(of: program.name), var leftovers = Leftovers(of: note) else { continue }
            let processes = leftovers.processes
            guard !processes.isEmpty else { continue }
            Log.write(
                "\(program.name): ends what the supervisor before has left, which was killed: \(Self.list(processes))"
            )
            leftovers.tell(program.stopSignal)
            all.append((program, leftovers))
        }
        for (program, var leftovers) in all {
            let limit = min(program.stopTimeout, Self.mostPatience)
            leftovers.wait(program.stopSignal, within: limit, unless: signals)
            leftovers.kill()
            let processes = leftovers.processes
            guard !processes.isEmpty else { continue }
            Log.write(
                "\(program.name): cannot be ended: \(Self.list(processes)); 'ps -o pid,user,stat,cmd -p PID' shows more"
            )
        }
    }

    private static func list(_ processes: [CInt]) -> String {
        let shown = processes.prefix(8).map { "\($0)" }.joined(separator: ", ")
        let more = processes.count > 8 ? " and \(processes.count - 8) more" : ""
        return (processes.count == 1 ? "process " : "processes ") + shown + more
    }
}
