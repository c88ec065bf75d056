internal import CCrashCapture
internal import CRecoveryPoint
internal import Glibc
internal import SystemPackage

/// The capture of this process's faults: handlers, crash thread and spool file.
///
/// A process has one.
@safe
public final class CrashCapture: Sendable {
    /// What capture is set up with.
    public struct Configuration: Sendable {
        /// The folder for the spool file; made 0700 if it is not there.
        ///
        /// Its parent must exist.
        public var spoolFolder: String
        /// Whether capture fails where the spool file cannot be made; if not, records are kept in memory, and lost with the process.
        public var requiresSpool = true
        /// How long ago the process began to start: it may have waited since.
        public var elapsed = Duration.zero
        /// How long a parked thread waits for its verdict; twice as long where the crash thread waits for no lock.
        public var deadline: Duration
        /// What is done when no verdict came in time: never resume.
        public var verdictAtDeadline: Verdict
        /// How long a fault of another thread lets the main loop drain before the process is restarted.
        public var drainDeadline: Duration
        /// The status that the process exits with where it would be restarted; nil for a restart in place.
        public var exitCode: CInt?
        /// Signals that the process before this one held back for it, as bits.
        public var heldSignals: UInt64
        /// How often this process was restarted in place so far.
        public var restarts: Int
        /// Whether reports have the other threads of the process, too.
        ///
        /// They are sampled by SIGSTKFLT, which is then not the program's.
        public var capturesThreads: Bool
        /// Whether reports have memory contents: of the stack, and near the registers.
        public var capturesMemory: Bool
        /// How much the store of the reports may hold, for whoever finishes what this process leaves.
        public var storeLimits = StoreLimits()
        /// Holdfast's own version, for reports.
        public var version: String
        /// What may be told of the arguments in records; gets them all, the program's name first.
        public var tellingArguments: @Sendable ([[UInt8]]) -> [[UInt8]] = { $0 }
        /// What may be told of the environment, and how texts are redacted.
        public var told = ToldContext()

        /// Makes a configuration.
        public init(
            spoolFolder: String,
            deadline: Duration = .seconds(2),
            verdictAtDeadline: Verdict = .restart,
            drainDeadline: Duration = .seconds(5),
            exitCode: CInt? = nil,
            heldSignals: UInt64 = 0,
            restarts: Int = 0,
            capturesThreads: Bool = true,
            capturesMemory: Bool = false,
            version: String
        ) {
            self.spoolFolder = spoolFolder
            self.deadline = deadline
            self.verdictAtDeadline = verdictAtDeadline
            self.drainDeadline = drainDeadline
            self.exitCode = exitCode
            self.heldSignals = heldSignals
            self.restarts = restarts
            self.capturesThreads = capturesThreads
            self.capturesMemory = capturesMemory
            self.version = version
        }
    }

    /// The path of the spool file.
    public let spoolPath: String
    /// Whether records outlive the process: not when there was no room for the spool file, or it could not be made.
    public var isPersistent: Bool { hasSpoolFile && !hf_capture_is_spool_in_memory() }
    private let hasSpoolFile: Bool
    /// Where a process that takes this one's place in a restart can read the records; nil where they are in the spool file, or are lost.
    public let inheritedSpool: CInt?
    /// Why the spool file could not be made; nil where it was, or there was no room.
    public let spoolProblem: CrashCaptureError?
    /// Whether stacks can be walked: where they cannot, nothing is resumed.
    public let walksStacks: Bool
    /// Written by handlers; read by copying alone.
    nonisolated(unsafe) let spool: UnsafeRawPointer
    let spoolSize: Int

    /// The path of the executable of this process, as reports have it; "" where it cannot be had.
    public static var executable: String {
        String(decoding: ProcessImage.program ?? ProcessImage.arguments.first ?? [], as: UTF8.self)
    }

    /// The arguments of this process as records have them: as far as they may be told, and find room.
    ///
    /// - Parameter told: What may be told of them, as `Configuration.tellingArguments` has it.
    /// - Returns: The arguments, the program's name first.
    public static func arguments(telling told: ([[UInt8]]) -> [[UInt8]]) -> [String] {
        ProcessIdentity.withRoom(told(ProcessImage.arguments)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The control group of this process; "" where it has none or is in a namespace of its own.
    public static var controlGroup: String {
        ControlGroups(ProcessImage.file("/proc/self/cgroup").map { String(decoding: $0, as: UTF8.self) } ?? "").path
    }

    /// Whether a process of this executable that has this pid is alive; not this process.
    public static func isAlive(pid: Int) -> Bool {
        guard let pid = CInt(exactly: pid), pid > 0, pid != getpid() else { return false }
        guard let own = ProcessImage.executable(of: "self") else { return kill(pid, 0) == 0 }
        return ProcessImage.executable(of: "\(pid)") == own
    }

    /// Whether this is a set-user-ID or set-group-ID program that another user than root executed: its environment is theirs.
    public static var actsForAnother: Bool { hf_acts_for_another() }

    /// The path by which the file of the executable can be read; nil where there is none.
    ///
    /// If possible it is one that names this file whatever has taken its place since.
    public static var executableFile: String? { ProcessImage.programFile }

    /// Whether faults can be resumed in this process at all, and if not, why.
    ///
    /// Needs libswiftCore as a library of its own, which is what tells the runtime's frames from the application's, the
    /// runtime functions that keep exclusivity accesses apart, and a Foundation whose locks are known, if there is one.
    public static var obstacleToResuming: StaticString? {
        if !hf_capture_runtime_is_dynamic() {
            return "the Swift runtime is linked statically, so its frames cannot be told from the application's"
        }
        if !hf_recovery_tracks_exclusivity() {
            return "this Swift runtime lacks the functions that keep exclusivity accesses apart"
        }
        if !hf_capture_counts_condition_locks() {
            return "this Foundation has another NSConditionLock, so nobody knows whether one is held"
        }
        return nil
    }

    /// Installs capture and prepares the calling thread.
    ///
    /// - Parameters:
    ///   - configuration: What it is set up with.
    ///   - inspection: What is known of the functions of the executable.
    ///   - decide: Gives the verdict on a fault. Called on the crash thread while the thread that faulted is parked: must not
    ///     allocate or lock.
    ///   - mayAbandon: Whether the verdict on a callout that is interrupted for its deadline would be to resume. Called like `decide`,
    ///     any number of times for one callout.
    ///   - decided: Called on the crash thread after a thread was sent to its recovery point, or was told to let the main loop
    ///     drain.
    ///   - recorded: Called on the crash thread when nothing more is added to the record of a fault that was resumed, or that restarts
    ///     the process no more; with its slot.
    /// - Throws: `CrashCaptureError`.
    public init(
        _ configuration: Configuration,
        inspection: CodeInspection,
        decide: @escaping @Sendable (FaultSummary) -> Decision,
        mayAbandon: @escaping @Sendable (FaultSummary) -> Bool = { _ in false },
        decided: @escaping @Sendable (FaultSummary, Decision) -> Void,
        recorded: @escaping @Sendable (UInt32) -> Void
    ) throws(CrashCaptureError) {
        let identity = ProcessIdentity(
            restarts: configuration.restarts,
            holdfastVersion: configuration.version,
            elapsed: configuration.elapsed,
            telling: configuration.tellingArguments
        )
        let (spool, problem) = try Self.makeSpool(configuration, identity)
        spoolProblem = problem
        unsafe configuration.storeLimits.write(to: spool.header)
        spoolPath = spool.path
        hasSpoolFile = spool.isPersistent
        inheritedSpool = spool.memoryDescriptor
        unsafe self.spool = unsafe UnsafeRawPointer(spool.header)
        spoolSize = spool.size
        let sampler = unsafe ThreadSampler(
            spool: spool.header,
            capturesThreads: configuration.capturesThreads,
            capturesMemory: configuration.capturesMemory,
            deadline: Self.nanoseconds(configuration.deadline)
        )
        let thread = unsafe CrashThread(
            spool: spool.header,
            sampler: sampler,
            inspection: inspection,
            decide: decide,
            mayAbandon: mayAbandon,
            decided: decided,
            recorded: recorded
        )

        walksStacks = thread.walker != nil
        var settings = unsafe HFCaptureConfiguration(
            spool: spool.header,
            spool_size: UInt64(spool.size),
            deadline_nanoseconds: Self.nanoseconds(configuration.deadline),
            verdict_at_deadline: configuration.verdictAtDeadline.rawCode,
            drain_nanoseconds: Self.nanoseconds(configuration.drainDeadline),
            restart_exit_code: configuration.exitCode ?? -1,
            spool_folder: strdup(configuration.spoolFolder),
            spool_descriptor: spool.descriptor,
            hands_spool_over: spool.memoryDescriptor != nil,
            held_signals: configuration.heldSignals,
            executable: UnsafePointer(CStringList.copy(identity.executable)),
            fallback_executable: strdup("/proc/self/exe"),
            arguments: CStringList.make(identity.arguments)
        )
        let error = unsafe hf_capture_install(&settings)
        guard error == 0 else {
            if error == EALREADY { spool.closeFile() } else { hf_capture_withdraw() }
            spool.remove()
            throw CrashCaptureError(error == EALREADY ? .alreadyInstalled : .handlers, Errno(rawValue: error))
        }
        // Without the signal, reports say that there is none.
        _ = hf_sample_install(configuration.capturesThreads)
        do {
            try Self.prepareThread()
            try thread.start()
        } catch {
            hf_sample_uninstall()
            hf_capture_withdraw()
            spool.remove()
            throw error
        }
    }

    /// Makes the spool file; or memory, where the file cannot be had and need not.
    private static func makeSpool(
        _ configuration: Configuration,
        _ identity: ProcessIdentity
    ) throws(CrashCaptureError) -> (SpoolFile, CrashCaptureError?) {
        do throws(CrashCaptureError) {
            let spool = try SpoolFile(
                folder: configuration.spoolFolder,
                identity: identity,
                telling: configuration.told,
                hasMemory: configuration.capturesMemory
            )
            return (spool, nil)
        } catch {
            guard !configuration.requiresSpool else { throw error }
            let spool = try SpoolFile(
                folder: nil,
                identity: identity,
                telling: configuration.told,
                hasMemory: configuration.capturesMemory
            )
            return (spool, error)
        }
    }

    static func nanoseconds(_ duration: Duration) -> UInt64 {
        let (seconds, attoseconds) = duration.components
        // Centuries are for ever.
        return UInt64(min(max(0, seconds), 1 << 33)) * 1_000_000_000 + UInt64(max(0, attoseconds / 1_000_000_000))
    }

    /// Gives the calling thread a guarded alternate signal stack, so that a stack overflow of it is captured.
    public static func prepareThread() throws(CrashCaptureError) {
        let error = hf_capture_prepare_thread()
        guard error == 0 else { throw CrashCaptureError(.thread, Errno(rawValue: error)) }
    }

    /// Where the executable lies in memory, as the images were listed last; nil when none could be.
    public var executableAddresses: Range<UInt64>? { executableImage.map { $0.base..<$0.end } }

    /// The build identifier of the executable in memory; nil when it has none.
    public var executableBuildID: [UInt8]? {
        guard var image = executableImage, image.build_id_length > 0 else { return nil }
        return unsafe withUnsafeBytes(of: &image.build_id) { unsafe Array($0.prefix(Int(image.build_id_length))) }
    }

    private var executableImage: HFImage? {
        let header = unsafe spool.assumingMemoryBound(to: HFSpoolHeader.self)
        guard unsafe header.pointee.image_count > 0 else { return nil }
        // The executable is the first (dl_iterate_phdr(3)).
        return unsafe spool.load(fromByteOffset: Int(header.pointee.image_offset), as: HFImage.self)
    }

    /// A number that changes when the spool's table of images does.
    public var imagesVersion: UInt32 { hf_loaded_images_version() }

    /// How many faults have no report yet.
    public var slotsInUse: Int { Int(hf_capture_slots_in_use()) }

    /// Frees a slot whose report is in the store.
    public func release(slot: UInt32) {
        hf_capture_release(slot)
    }

    /// Whether the thread that faulted still reads its record: it goes on in a moment.
    public func isParked(slot: UInt32) -> Bool { hf_capture_is_parked(slot) }

    /// Counts a fault in the record of an equal one, and frees its slot.
    ///
    /// Nobody may read either record meanwhile, the thread that faulted included (`isParked(slot:)`).
    ///
    /// - Parameters:
    ///   - slot: The slot of the later fault.
    ///   - other: The slot of the earlier one.
    public func fold(slot: UInt32, into other: UInt32) {
        hf_capture_fold(slot, other)
    }

    /// Forgets the texts of a fault that was resumed.
    ///
    /// Call once for each, on the loop's thread.
    public func clearMessages() {
        hf_capture_clear_messages()
    }

    /// Sets what a restart in place begins with.
    ///
    /// One thread at a time.
    ///
    /// - Parameters:
    ///   - environment: The whole environment, as `key=value`.
    ///   - table: The table of the descriptors that stay open (`KeptTable`), which the environment names; nil for none.
    public func prepareRestart(environment: [[UInt8]], keptTable table: CInt?) {
        let plan = UnsafeMutablePointer<HFRestartPlan>.allocate(capacity: 1)
        unsafe plan.initialize(
            to: HFRestartPlan(environment: CStringList.make(environment), kept_table: table ?? -1)
        )
        guard let before = unsafe hf_async_exchange_restart_plan(plan) else { return }
        unsafe CStringList.free(before.pointee.environment)
        unsafe UnsafeMutablePointer(mutating: before).deallocate()
    }

    /// Replaces the process by a fresh one in place.
    ///
    /// Returns only when that failed.
    public func restart() {
        hf_async_restart()
    }

    /// Whether the facts that the handler left with an abandoned callout say that its item is to be taken out of its loop.
    public static func isQuarantined(facts: UInt32) -> Bool {
        facts & UInt32(HF_FACT_QUARANTINED) != 0
    }

    /// Whether they say that nothing faulted: the callout was interrupted, at its deadline.
    public static func isOverdue(facts: UInt32) -> Bool {
        facts & UInt32(HF_FACT_OVERDUE) != 0
    }

    /// Changes what is done about a fault that nobody decides on in time: `.restart` or `.terminate`.
    public func setVerdictWithoutDecision(_ verdict: Verdict) {
        hf_capture_set_verdict_without_decision(verdict.rawCode)
    }

    /// Sets how far the process has come, as records have it from now on.
    ///
    /// - Parameters:
    ///   - isRunning: Whether its host runs.
    ///   - hasServed: Whether it has served something since.
    public func setProgress(isRunning: Bool, hasServed: Bool) {
        let running = isRunning ? UInt32(HF_FACT_RUNNING) : 0
        hf_capture_set_process_facts(running | (hasServed ? UInt32(HF_FACT_SERVING) : 0))
    }

    /// Sets which items records mark as those of the start, which can be told apart in the next process, too.
    ///
    /// The list stays in memory for ever: a handler may be reading it.
    public func setStartItems(_ items: some Sequence<UInt64>) {
        let sorted = items.sorted()
        let copy = UnsafeMutableBufferPointer<UInt64>.allocate(capacity: sorted.count)
        _ = unsafe copy.initialize(from: sorted)
        let list = UnsafeMutablePointer<HFStartItems>.allocate(capacity: 1)
        unsafe list.initialize(to: HFStartItems(items: UnsafePointer(copy.baseAddress), count: UInt64(sorted.count)))
        unsafe hf_capture_set_start_items(list)
    }

    /// Takes everything back, as if there had been no capture: handlers, crash thread and spool file.
    ///
    /// For a start that fails. Capture can be installed again.
    public func withdraw() {
        hf_sample_uninstall()
        hf_capture_withdraw()
        if hasSpoolFile { _ = unsafe unlink(spoolPath) }
    }

    /// Puts the handlers back that stood before, and removes the spool file if every record in it was released.
    public func uninstall() {
        hf_sample_uninstall()
        hf_capture_uninstall()
        if hasSpoolFile, slotsInUse == 0 {
            _ = unsafe unlink(spoolPath)
        }
    }
}
