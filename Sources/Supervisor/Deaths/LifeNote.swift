internal import CLinuxShims
internal import Glibc
internal import LinuxSystem

/// What is written of a process while it runs, so that its end is told of also if its supervisor ends first.
///
/// The kernel ends a program with its supervisor (PR_SET_PDEATHSIG of prctl(2)), and then nobody waits for it.
struct LifeNote: Sendable, Equatable {
    let process: Life
    /// The leader of the program's group: the process that was started, which may have named another one as its main process.
    let leader: Life
    let supervisor: Life
    /// The session of the supervisor, and with it of the group.
    let session: CInt
    /// When it was started, in nanoseconds of CLOCK_REALTIME.
    let began: Int64
    /// Whether it had become ready.
    let wasReady: Bool
    /// Which boot of the machine it was.
    let boot: String
    /// Whose numbers of processes these are (pid_namespaces(7)).
    let namespace: String
    /// Whether the end of the process was told: what is left of its group is being ended.
    private(set) var isTold = false

    /// A process, told from later ones with its number.
    struct Life: Sendable, Equatable {
        let pid: CInt
        /// When it was started, in ticks since the boot (proc(5)).
        let start: UInt64

        /// Nil if there is no such process.
        init?(of pid: CInt) {
            guard let fields = ProcessFields.of(pid) else { return nil }
            self.init(pid, fields)
        }

        private init?(_ pid: CInt, _ fields: [Substring]) {
            guard fields.count > 19, let start = UInt64(fields[19]) else { return nil }
            (self.pid, self.start) = (pid, start)
        }

        fileprivate init?(_ text: Substring) {
            let parts = text.split(separator: "@")
            guard parts.count == 2, let pid = CInt(parts[0]), pid > 0, let start = UInt64(parts[1]) else { return nil }
            (self.pid, self.start) = (pid, start)
        }

        fileprivate var text: String { "\(pid)@\(start)" }

        /// Whether it runs: one that has ended, and that nobody has waited for, does not.
        var isAlive: Bool {
            guard let fields = ProcessFields.of(pid), let state = fields.first else { return false }
            return Life(pid, fields) == self && state != "Z" && state != "X"
        }

        /// Waits until it has ended; returns whether it has.
        func hasEnded(within limit: Duration) -> Bool {
            guard isAlive else { return true }
            let descriptor = hf_pidfd_open(pid)
            guard descriptor >= 0 else { return !isAlive }
            defer { close(descriptor) }
            Readiness.wait(forAny: [descriptor], atMost: limit.nanosecondCount)
            return !isAlive
        }
    }

    /// Notes the main process of a program of this process.
    ///
    /// - Parameters:
    ///   - pid: The main process.
    ///   - leader: The child that was started.
    ///   - began: When it was started, in nanoseconds of CLOCK_REALTIME.
    ///   - isReady: Whether it is ready.
    init?(of pid: CInt, startedAs leader: Life, began: Int64, isReady: Bool) {
        guard let process = Life(of: pid), let supervisor = Life(of: getpid()) else { return nil }
        (self.process, self.leader, self.supervisor) = (process, leader, supervisor)
        (self.began, wasReady) = (began, isReady)
        (session, namespace) = (getsid(0), Self.currentNamespace)
        boot = Self.currentBoot
    }

    /// Reads what `text` wrote; nil if it is not understood.
    init?(text: String) {
        var words: [Substring: Substring] = [:]
        for word in text.split(whereSeparator: \.isWhitespace) {
            let parts = word.split(separator: "=", maxSplits: 1)
            if parts.count == 2 { words[parts[0]] = parts[1] }
        }
        guard let process = words["process"].flatMap(Life.init),
            let leader = words["leader"].flatMap(Life.init), let supervisor = words["supervisor"].flatMap(Life.init),
            let session = words["session"].flatMap({ CInt($0) }),
            let began = words["began"].flatMap({ Int64($0) }), began >= 0, let boot = words["boot"]
        else { return nil }
        (self.process, self.leader, self.supervisor, self.session) = (process, leader, supervisor, session)
        (self.began, self.boot) = (began, String(boot))
        namespace = words["namespace"].map(String.init) ?? ""
        wasReady = words["ready"] == "1"
        isTold = words["told"] == "1"
    }

    /// The same when its end was told.
    var told: LifeNote {
        var told = self
        told.isTold = true
        return told
    }

    /// A line of text.
    var text: String {
        "process=\(process.text) leader=\(leader.text) supervisor=\(supervisor.text) session=\(session) began=\(began)"
            + " ready=\(wasReady ? 1 : 0) told=\(isTold ? 1 : 0) namespace=\(namespace) boot=\(boot)\n"
    }

    /// Whether it was written in this boot of the machine.
    var isOfThisBoot: Bool { boot == Self.currentBoot }

    /// Whether its numbers are those that this process sees.
    var isOfThisNamespace: Bool { namespace == Self.currentNamespace }

    private static let currentNamespace: String = {
        var status = stat()
        return unsafe stat("/proc/self/ns/pid", &status) == 0 ? "\(status.st_ino)" : "unknown"
    }()

    private static let currentBoot: String = {
        let text = SmallFile.text("/proc/sys/kernel/random/boot_id") ?? ""
        return text.isEmpty ? "unknown" : text.filter { !$0.isWhitespace }
    }()
}

extension StateFolder {
    /// The end of a process whose supervisor has ended before it, which is told once.
    ///
    /// - Parameters:
    ///   - program: Its program.
    ///   - count: What is known of its ends.
    /// - Returns: Its record; nil if there is none.
    func takeUnseenEnd(of program: Program, _ count: EndCount) -> DeathRecord? {
        guard let note = life(of: program.name) else { return nil }
        if note.isTold {
            try? write(nil, of: program.name)
            return nil
        }
        if note.isOfThisBoot {
            // Another one with the same name and store.
            guard !note.supervisor.isAlive else { return nil }
            // Whose supervisor was killed is being killed itself: with much memory that takes a while.
            guard note.process.hasEnded(within: .seconds(1)) else {
                Log.write(
                    "\(program.name): process \(note.process.pid) of the supervisor before still runs, and is not supervised"
                )
                return nil
            }
        }
        try? write(nil, of: program.name)
        let unseen: DeathFacts.Unseen =
            note.isOfThisBoot ? .supervisorHadEnded(note.supervisor.pid) : .machineHadEnded
        // What the kernel sends with PR_SET_PDEATHSIG; said nowhere.
        let facts = DeathFacts(status: .signalled(SIGKILL), unseen: unseen)
        return DeathRecord(
            program: program,
            pid: note.process.pid,
            supervisor: note.supervisor.pid,
            file: program.command[0],
            began: note.began,
            ended: RealtimeClock.nanoseconds,
            restarts: count.restarts,
            facts: facts,
            verdict: DeathVerdict(of: facts),
            usage: DeathRecord.Usage(),
            action: "Another supervisor starts it again.",
            wasReady: note.wasReady,
            statusText: nil,
            lastOutput: []
        )
    }
}
