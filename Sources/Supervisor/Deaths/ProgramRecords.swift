internal import Glibc
internal import LinuxSystem

/// What is written down of a program: for whoever asks why it has ended, and for the next supervisor.
@MainActor
struct ProgramRecords {
    private let program: Program
    private let state: StateFolder?
    private let terminationLog: String?
    /// Records that could not be written yet.
    private var unwritten: [DeathRecord] = []
    /// Which process was noted.
    private var noted: CInt?
    /// What was written of it.
    private var note: LifeNote?

    /// - Parameters:
    ///   - program: The program.
    ///   - state: Where it is written; nil for nowhere.
    ///   - terminationLog: Where the container's runtime looks for why it has ended; nil for nowhere.
    init(_ program: Program, _ state: StateFolder?, terminationLog: String?) {
        self.program = program
        self.state = state
        self.terminationLog = terminationLog
    }

    /// Reports an end.
    ///
    /// - Parameters:
    ///   - facts: What is known of it.
    ///   - usage: What the process has used.
    ///   - generation: The process; nil if there was none.
    ///   - action: What follows, in a sentence.
    ///   - restarts: How often the program was started again before.
    ///   - isLast: Whether it was the one that counts, or is to: the end of one before it is news only if it was not wanted.
    mutating func report(
        _ facts: DeathFacts,
        _ usage: DeathRecord.Usage,
        of generation: Generation?,
        _ action: String,
        restarts: Int,
        isLast: Bool = true
    ) {
        let child = generation?.child
        let verdict = DeathVerdict(of: facts)
        Log.write("\(program.name)\(generation.map { " (pid \($0.pid))" } ?? ""): \(verdict.text) \(action)")
        let now = RealtimeClock.nanoseconds
        let record = DeathRecord(
            program: program,
            pid: generation?.pid ?? 0,
            supervisor: getpid(),
            file: child?.file ?? program.command[0],
            began: child?.startedRealtime ?? now,
            ended: now,
            restarts: restarts,
            facts: facts,
            verdict: verdict,
            usage: usage,
            action: action,
            wasReady: generation?.wasReady ?? false,
            statusText: generation?.statusText,
            lastOutput: child?.errors.tail ?? []
        )
        write(record, isNews: isLast || verdict.cause != .stopped)
    }

    /// Reports the end of a process whose supervisor has ended before it.
    ///
    /// - Returns: Why it has ended; nil if there was none.
    mutating func reportUnseenEnd(_ count: EndCount) -> DeathVerdict? {
        guard let record = state?.takeUnseenEnd(of: program, count) else { return nil }
        Log.write("\(program.name) (pid \(record.pid)) of the supervisor before: \(record.verdict.text)")
        write(record, isNews: true)
        return record.verdict
    }

    private mutating func write(_ record: DeathRecord, isNews: Bool) {
        if isNews, let terminationLog { TerminationLog.write(record, to: terminationLog) }
        guard let state else { return }
        unwritten.append(record)
        do {
            while let oldest = unwritten.first {
                try state.write(oldest)
                unwritten.removeFirst()
            }
        } catch {
            Log.write("\(program.name): the record of this death cannot be written yet: \(error)")
            // What a program wrote last takes most of the room.
            if unwritten.count > Self.mostOutputs { unwritten[unwritten.count - Self.mostOutputs - 1].lastOutput = [] }
            if unwritten.count > Self.mostUnwritten { unwritten.removeFirst() }
        }
    }

    /// As many as one or two megabytes hold.
    private static let mostUnwritten = 1024
    /// How many of them have what the program wrote last.
    private static let mostOutputs = 16

    /// Writes down which process runs.
    mutating func note(_ generation: Generation?) {
        noted = generation?.pid
        note = generation.flatMap { generation in
            guard let leader = generation.child.life else { return nil }
            let began = generation.child.startedRealtime
            return LifeNote(of: generation.pid, startedAs: leader, began: began, isReady: generation.wasReady)
        }
        // Without it its end is told of only if the supervisor sees it.
        try? state?.write(note, of: program.name)
    }

    /// Writes down that a process has ended, of which the next supervisor has nothing to tell; it may have others of its group to end.
    mutating func noteEnd(of generation: Generation?) {
        guard let told = note?.told, generation?.child.hasGroup == true else { return note(nil) }
        try? state?.write(told, of: program.name)
    }

    /// Writes down that another process is the main one now, if it is.
    mutating func noteMainProcess(of generation: Generation) {
        if noted != generation.pid { note(generation) }
    }

    /// Writes down how often it has ended.
    func write(_ count: EndCount) {
        // Without it only a later supervisor waits less.
        try? state?.write(count, of: program.name)
    }
}
