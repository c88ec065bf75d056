internal import CLinuxShims
internal import CRecordLayout
internal import Glibc
internal import LinuxSystem
internal import RunLoops
internal import SystemPackage

/// A process that the supervisor has started, from fork(2) until its end was taken from the kernel.
@MainActor
final class Child {
    /// What it gets from the supervisor.
    struct Provisions {
        /// Where it says that it is ready; nil if it is not asked.
        var notifySocket: String?
        /// How often it must say that it is alive.
        var watchdog: Duration?
        /// Descriptors from number 3 on, with their names: LISTEN_FDS of sd_listen_fds(3).
        var descriptors: [(name: String, number: CInt)] = []
        /// The terminal whose foreground it becomes.
        var terminal: CInt?
        /// The page and the event of who stands by, and whether this process is to.
        var standby: (page: CInt, event: CInt, waits: Bool)?
        /// The process that serves while this one starts to take over from it.
        var predecessor: CInt?
    }

    let pid: CInt
    /// When it was started, in nanoseconds of CLOCK_MONOTONIC, and of CLOCK_REALTIME.
    let started: Int64
    let startedRealtime: Int64
    /// The process, told from later ones with its number; asked for first before its end is taken.
    private(set) lazy var life = LifeNote.Life(of: pid)
    let errors: OutputPassage
    /// The file that it began with.
    let file: String
    /// Why it did not become the program.
    private(set) var failure: StartFailure?
    private let descriptor: CInt
    private let directory: String?
    private var outcome: CInt
    private var outcomeSource: HostRunLoop.PortSource?
    private var isTaken = false
    private let onOutcome: @MainActor (Child) -> Void

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - program: What to start.
    ///   - environment: The environment of the supervisor, without what it was told alone.
    ///   - provisions: What the child gets.
    ///   - onOutcome: Called once it has become the program, or has failed to: `failure`.
    /// - Throws: `StartFailure`.
    init(
        _ program: Program,
        environment: [String: String],
        _ provisions: Provisions,
        onOutcome: @escaping @MainActor (Child) -> Void
    ) throws(StartFailure) {
        var variables = environment.merging(program.environment) { $1 }
        file = try CommandSearch.file(of: program.command[0], path: variables["PATH"])
        if let socket = provisions.notifySocket { variables["NOTIFY_SOCKET"] = socket }
        if let watchdog = provisions.watchdog, watchdog > .zero {
            variables["WATCHDOG_USEC"] = "\(watchdog.nanosecondCount / 1000)"
            variables["WATCHDOG_PID"] = Self.numberPlace
        }
        if !provisions.descriptors.isEmpty {
            variables["LISTEN_FDS"] = "\(provisions.descriptors.count)"
            variables["LISTEN_FDNAMES"] = provisions.descriptors.map(\.name).joined(separator: ":")
            variables["LISTEN_PID"] = Self.numberPlace
        }
        variables["HOLDFAST_PREDECESSOR"] = provisions.predecessor.map { "\($0)" }
        if let standby = provisions.standby {
            let first = 3 + provisions.descriptors.count
            variables["HOLDFAST_STANDBY"] = "\(first) \(first + 1) \(standby.waits ? "wait" : "serve")"
            variables["HOLDFAST_STANDBY_PID"] = Self.numberPlace
        }
        do {
            errors = try OutputPassage()
        } catch {
            throw StartFailure(fork: error)
        }
        self.onOutcome = onOutcome
        directory = program.directory
        started = MonotonicClock.nanoseconds
        startedRealtime = RealtimeClock.nanoseconds
        let streams: [CInt] = [STDIN_FILENO, STDOUT_FILENO, errors.childsEnd]
        var outcome: CInt = -1
        do throws(StartFailure) {
            let standby = provisions.standby.map { [$0.page, $0.event] } ?? []
            let descriptors = streams + provisions.descriptors.map(\.number) + standby
            pid = try Self.start(program, file, variables, descriptors, provisions.terminal, &outcome)
        } catch {
            errors.end()
            throw error
        }
        self.outcome = outcome
        descriptor = hf_pidfd_open(pid)
        errors.begin(label: program.name)
        let source = HostRunLoop.PortSource(
            label: "\(program.name) begins",
            descriptor: FileDescriptor(rawValue: outcome)
        ) { [self] _, _ in takeOutcome() }
        outcomeSource = source
        _ = try? HostRunLoop.main.add(source, to: .common)
    }

    /// Ten bytes, in which the child writes its number.
    private static let numberPlace = "0000000000"

    private static func start(
        _ program: Program,
        _ file: String,
        _ variables: [String: String],
        _ descriptors: [CInt],
        _ terminal: CInt?,
        _ outcome: inout CInt
    ) throws(StartFailure) -> CInt {
        let arguments = CTexts(program.command)
        let environment = CTexts(variables.map { "\($0.key)=\($0.value)" })
        let paths = CTexts([file, program.directory ?? ""])
        guard let path = unsafe paths.pointers[0] else { throw StartFailure(fork: .noMemory) }
        let result: (pid: CInt, error: CInt) = unsafe descriptors.withUnsafeBufferPointer { descriptors in
            guard let numbers = descriptors.baseAddress else { return (-1, EINVAL) }
            var plan = unsafe HFProgramPlan(
                path: path,
                arguments: arguments.pointers,
                environment: environment.pointers,
                own_number: (
                    environment.value(of: "LISTEN_PID", if: numberPlace),
                    environment.value(of: "WATCHDOG_PID", if: numberPlace),
                    environment.value(of: "HOLDFAST_STANDBY_PID", if: numberPlace)
                ),
                directory: program.directory == nil ? nil : paths.pointers[1],
                descriptors: numbers,
                descriptor_count: UInt32(descriptors.count),
                terminal: terminal ?? -1,
                // Also if it ignores SIGTERM: nobody would be left to end it.
                death_signal: SIGKILL
            )
            let pid = unsafe hf_program_start(&plan, &outcome)
            return (pid, errno)
        }
        guard result.pid > 0 else { throw StartFailure(fork: Errno(rawValue: result.error)) }
        return result.pid
    }

    /// How long it has lived.
    var age: Duration { .nanoseconds(MonotonicClock.nanoseconds - started) }

    /// Sends a signal to it alone; nothing if its end was taken.
    func signal(_ number: CInt) {
        guard !isTaken else { return }
        if descriptor < 0 || hf_pidfd_signal(descriptor, number) != 0 { _ = kill(pid, number) }
    }

    /// Asks a process with Holdfast inside to accept no more connections.
    ///
    /// - Returns: False if it does not catch the signal that asks, and would end by it.
    func askToRest() -> Bool {
        guard !isTaken, ProcessStatus.catches(SIGSTKFLT, SmallFile.text("/proc/\(pid)/status") ?? "") else {
            return false
        }
        let value = UInt(HF_QUESTION_MARK) | UInt(HF_QUESTION_REST)
        return unsafe sigqueue(pid, SIGSTKFLT, sigval(sival_ptr: UnsafeMutableRawPointer(bitPattern: value))) == 0
    }

    /// Sends a signal to everything in its process group, also if it has ended itself.
    ///
    /// Its number is that of the group until the group is empty, so no other process has it (setpgid(2)).
    func signalGroup(_ number: CInt) { _ = kill(-pid, number) }

    /// Whether something in its process group lives still.
    var hasGroup: Bool { kill(-pid, 0) == 0 || errno == EPERM }

    /// Reads whether it has become the program.
    func takeOutcome() {
        guard outcome >= 0 else { return }
        var failure = HFStartFailure()
        let size = MemoryLayout<HFStartFailure>.size
        let count = unsafe withUnsafeMutableBytes(of: &failure) { unsafe read(outcome, $0.baseAddress, size) }
        if count < 0, errno == EAGAIN || errno == EINTR { return }
        outcomeSource?.invalidate()
        outcomeSource = nil
        _ = close(outcome)
        outcome = -1
        if count == size { self.failure = StartFailure(failure, path: file, directory: directory) }
        onOutcome(self)
    }

    /// Closes what belongs to it, when its end was taken.
    ///
    /// Its standard error is passed on as long as somebody has it open.
    func noteTaken() {
        takeOutcome()
        isTaken = true
        if descriptor >= 0 { _ = close(descriptor) }
    }
}
