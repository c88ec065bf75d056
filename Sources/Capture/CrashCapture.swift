internal import CCrashCapture
internal import CRecordLayout
internal import CRecoveryPoint
internal import Glibc
internal import SystemPackage

/// The capture of a process's faults: handlers, crash thread and spool file.
///
/// A process has one.
@safe
package final class CrashCapture: Sendable {
    /// The path of the spool file.
    package let spoolPath: String
    /// Whether records outlive the process: not if there was no room for the spool file, or if it could not be made.
    package var isPersistent: Bool { hasSpoolFile && !hf_capture_is_spool_in_memory() }
    private let hasSpoolFile: Bool
    /// The descriptor by which the next process can read the records after a restart in place; nil if they are in the spool file, or are
    /// lost.
    package let inheritedSpool: CInt?
    /// Why the spool file could not be made; nil if it was, or if there was no room.
    package let spoolProblem: CrashCaptureError?
    /// Written by handlers; read by copying alone.
    private nonisolated(unsafe) let spool: UnsafeRawPointer
    private let spoolSize: Int

    /// Why no fault can be resumed in this process; nil if faults can be.
    ///
    /// The runtime must have the functions that keep exclusivity accesses apart, and the locks of Foundation, if the process has it, must
    /// be known. Whether a static runtime can be told from the program is found out later (`CodeInspector`).
    package static var obstacleToResuming: StaticString? {
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
    ///   - configuration: The settings.
    ///   - inspection: What is known of the functions of the executable.
    ///   - decide: Gives the verdict on a fault. Called on the crash thread while the thread that faulted is parked: must not
    ///     allocate or lock.
    ///   - mayAbandon: Whether the verdict on a callout that is interrupted for its deadline would be to resume. Called like `decide`,
    ///     any number of times for one callout.
    ///   - decideBeforeWalk: Gives the verdict on a fault of the main thread before its stack is walked, of which the summary has nothing, if it
    ///     is to restart the process whatever that shows; called like `decide`. It holds if another process is told to serve for it.
    ///   - decided: Called on the crash thread after a thread was sent to its recovery point, or before it is told to let the main loop
    ///     drain. Then what else is to be written down waits for it.
    ///   - recorded: Called on the crash thread when nothing more is added to the record of a fault that was resumed, or that restarts
    ///     the process no more; with its slot.
    ///   - succeeded: Called on the crash thread when the process that stood by was told to serve. Must not allocate or lock.
    ///   - asked: Called on the crash thread when another process wants to know what the tasks do (`CrashCapture.question`), with the number
    ///     of its question.
    ///   - prepare: Called once on the crash thread, before the first verdict, with what that thread has found.
    /// - Throws: `CrashCaptureError`.
    package init(
        _ configuration: Configuration,
        inspection: CodeInspection,
        decide: @escaping @Sendable (FaultSummary) -> Decision,
        mayAbandon: @escaping @Sendable (FaultSummary) -> Bool = { _ in false },
        decideBeforeWalk: @escaping @Sendable (FaultSummary) -> Decision? = { _ in nil },
        decided: @escaping @Sendable (FaultSummary, Decision) -> Void,
        recorded: @escaping @Sendable (UInt32) -> Void,
        succeeded: @escaping @Sendable () -> Void = {},
        asked: @escaping @Sendable (UInt32) -> Void = { _ in },
        prepare: @escaping @Sendable (ProcessView) -> Void = { _ in }
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
        // Without the signal, reports say that threads cannot be sampled.
        _ = hf_sample_install(configuration.capturesThreads)
        do {
            try Self.prepareThread()
            let limit = Self.nanoseconds(configuration.deadline)
            let (capturesThreads, capturesMemory) = (configuration.capturesThreads, configuration.capturesMemory)
            nonisolated(unsafe) let header = unsafe spool.header
            try CrashThread.start {
                let sampler = unsafe ThreadSampler(
                    spool: header,
                    capturesThreads: capturesThreads,
                    capturesMemory: capturesMemory,
                    deadline: limit
                )
                return unsafe CrashThread(
                    spool: header,
                    sampler: sampler,
                    inspection: inspection,
                    decide: decide,
                    mayAbandon: mayAbandon,
                    decideBeforeWalk: decideBeforeWalk,
                    decided: decided,
                    recorded: recorded,
                    succeeded: succeeded,
                    asked: asked,
                    prepare: prepare
                )
            }
        } catch {
            hf_sample_uninstall()
            hf_capture_withdraw()
            spool.remove()
            throw error
        }
    }

    /// Makes the spool file, or memory in its place if the file cannot be made and is not required.
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
        // A limit of centuries, so that the sum does not overflow.
        return UInt64(min(max(0, seconds), 1 << 33)) * 1_000_000_000 + UInt64(max(0, attoseconds / 1_000_000_000))
    }

    /// Waits for the crash thread, which prepares itself while the program starts: a millisecond, or until it has a processor.
    ///
    /// - Returns: Whether it is ready: everything that `prepare` was to do is done.
    @discardableResult package static func awaitCrashThread() -> Bool { hf_capture_await_ready(10_000_000_000) }

    /// Gives the calling thread a guarded alternate signal stack, so that an overflow of its stack is captured.
    package static func prepareThread() throws(CrashCaptureError) {
        let error = hf_capture_prepare_thread()
        guard error == 0 else { throw CrashCaptureError(.thread, Errno(rawValue: error)) }
    }

    /// A number that changes when the spool's table of images does.
    package var imagesVersion: UInt32 { hf_loaded_images_version() }

    /// How many faults have no report yet.
    package var slotsInUse: Int { Int(hf_capture_slots_in_use()) }

    /// Frees a slot whose report is in the store.
    package func release(slot: UInt32) {
        hf_capture_release(slot)
    }

    /// Whether the thread that faulted still reads its record; it goes on in a moment.
    package func isParked(slot: UInt32) -> Bool { hf_capture_is_parked(slot) }

    /// The number and the time (nanoseconds of CLOCK_REALTIME) of the fault in a slot, if it has cost a fault boundary; nil of others.
    package func abandonedJob(slot: UInt32) -> (fault: Int, time: Int64)? {
        let record = unsafe hf_capture_record(slot)
        guard unsafe record.pointee.callout_kind == HFCalloutKind.task.rawValue,
            unsafe record.pointee.verdict == UInt32(HF_VERDICT_RESUME)
        else { return nil }
        return unsafe (Int(record.pointee.number), record.pointee.time_unix_nanoseconds)
    }

    /// Counts a fault in the record of an equal one, and frees its slot.
    ///
    /// Nobody may read either record meanwhile, not even the thread that faulted (`isParked(slot:)`).
    ///
    /// - Parameters:
    ///   - slot: The slot of the later fault.
    ///   - other: The slot of the earlier one.
    package func fold(slot: UInt32, into other: UInt32) {
        hf_capture_fold(slot, other)
    }

    /// How many bytes the tags of a fault may have, the ends of their keys and values included.
    package static var faultTagsSize: Int { Int(HF_FAULT_TAGS_SIZE) }

    /// Puts what is known of a fault into its record, unless that was freed: a later process can tell it, too.
    ///
    /// Nobody may free the record or read its tags meanwhile.
    ///
    /// - Parameters:
    ///   - tags: Keys and values in turns, each with a NUL behind; no more than `faultTagsSize` bytes.
    ///   - number: Which fault of the process it was.
    package func setTags(_ tags: [UInt8], ofFault number: Int) {
        guard let slot = slot(ofFault: number), tags.count <= Self.faultTagsSize else { return }
        let record = unsafe hf_capture_record(slot)
        unsafe withUnsafeMutableBytes(of: &record.pointee.tags) { unsafe $0.copyBytes(from: tags) }
        unsafe record.pointee.tags_length = UInt32(tags.count)
    }

    /// Notes in the record of a decided slot that the log has a line of the fault.
    package func noteTold(slot: UInt32) {
        hf_capture_note_told(slot)
    }

    /// Notes the same in the record of a fault, unless it was freed.
    ///
    /// If somebody frees the record meanwhile, the note may go to another fault, whose line is then missing if the process dies now.
    package func noteTold(ofFault number: Int) {
        if let slot = slot(ofFault: number) { hf_capture_note_told(slot) }
    }

    /// Drops the runtimes' texts of a fault that was resumed.
    ///
    /// Call this once for each such fault, on the loop's thread.
    package func clearMessages() {
        hf_capture_clear_messages()
    }

    /// Notes that this process serves: what the page says of a release is that of this one, and no other.
    ///
    /// - Parameter page: The address of the page that it shares with its supervisor.
    package static func noteOwnRelease(by page: UInt) {
        if let page = unsafe UnsafeRawPointer(bitPattern: page) { unsafe hf_capture_note_own_release(page) }
    }

    /// Sets the process that is told to serve in place of a restart; nil for none.
    ///
    /// - Parameters:
    ///   - page: A mapped `HFStandbyPage`, which stays mapped.
    ///   - event: What it waits for: an eventfd.
    ///   - keeps: Whether this process keeps something, which is handed over first.
    package func setStandby(_ page: UInt?, event: CInt, keeps: Bool) {
        unsafe hf_capture_set_standby(page.flatMap { unsafe UnsafeMutableRawPointer(bitPattern: $0) }, event, keeps)
    }

    /// Sets the socket by which the process that stands by gets what is kept.
    ///
    /// - Parameters:
    ///   - socket: The socket, which stays open until another one is set: then nobody uses it any more.
    ///   - serial: Which process that is (standby_page.h).
    package func setStandbyLink(_ socket: CInt, serial: UInt32) { hf_capture_set_standby_link(socket, serial) }

    /// Tells the process that stands by to serve, and hands over what is kept.
    ///
    /// For the thread that changes what is kept.
    ///
    /// - Returns: Whether there was one: then this process has to end, with `standbyExitStatus`.
    package func releaseStandby() -> Bool { hf_capture_release_standby() }

    /// Waits while another thread replaces this process: for ever, unless that fails.
    package static func awaitRestart() { hf_kept_await_restart() }

    /// The exit status of a process in whose place another one serves.
    package static var standbyExitStatus: CInt { HF_STANDBY_EXIT_STATUS }

    /// The variable by which a process that was restarted in place learns who holds the memory of the one before.
    package static let memoryHolderVariable = "HOLDFAST_MEMORY_HOLDER"

    /// Takes the value of that variable.
    package func setMemoryHolder(_ pid: CInt) { hf_capture_set_memory_holder(pid) }

    /// Waits until the memory of the process before is freed, if somebody holds it.
    package func reapMemoryHolder() { hf_capture_reap_memory_holder() }

    /// Sets the environment and the kept descriptors of a restart in place.
    ///
    /// One thread at a time.
    ///
    /// - Parameters:
    ///   - variables: What the next process is not to have of this one's environment.
    ///   - entries: What it gets beside the rest, as `key=value`.
    ///   - table: The table of the descriptors that stay open (`KeptTable`), which the environment names; nil for none.
    package func prepareRestart(without variables: [String], with entries: [String], keptTable table: CInt?) {
        let name = "\(Self.memoryHolderVariable)="
        let left = Self.texts(variables)
        let added = Self.texts(entries + [name + "0000000000"])
        var last: UnsafeMutablePointer<CChar>?
        guard let list = unsafe hf_capture_make_environment(left, left.count, added, added.count, &last),
            let last = unsafe last
        else { return }
        let plan = UnsafeMutablePointer<HFRestartPlan>.allocate(capacity: 1)
        unsafe plan.initialize(
            to: HFRestartPlan(environment: list, kept_table: table ?? -1, memory_holder: last + name.utf8.count)
        )
        guard let before = unsafe hf_async_exchange_restart_plan(plan) else { return }
        unsafe free(UnsafeMutableRawPointer(mutating: before.pointee.environment))
        unsafe UnsafeMutablePointer(mutating: before).deallocate()
    }

    /// Texts with a NUL behind each: what comes after one of their own is left out, or it would be another entry.
    private static func texts(_ texts: [String]) -> [CChar] {
        var bytes: [CChar] = []
        for text in texts {
            bytes += text.utf8.prefix { $0 != 0 }.lazy.map { CChar(bitPattern: $0) }
            bytes.append(0)
        }
        return bytes
    }

    /// Replaces the process by a fresh one in place.
    ///
    /// Returns only if that failed.
    package func restart() {
        hf_capture_restart()
    }

    /// Whether an abandoned callout's item is to be taken out of its loop, by the facts that the handler left.
    package static func isQuarantined(facts: UInt32) -> Bool {
        facts & UInt32(HF_FACT_QUARANTINED) != 0
    }

    /// Whether nothing faulted, by the same facts: the callout was interrupted at its deadline.
    package static func isOverdue(facts: UInt32) -> Bool {
        facts & UInt32(HF_FACT_OVERDUE) != 0
    }

    /// Sets what is done about a fault if no verdict comes in time: `.restart` or `.terminate`.
    package func setVerdictWithoutDecision(_ verdict: Verdict) {
        hf_capture_set_verdict_without_decision(verdict.rawCode)
    }

    /// Sets how far the process has come, for records from now on.
    ///
    /// - Parameters:
    ///   - isRunning: Whether its host runs.
    ///   - hasServed: Whether it has served something since.
    package func setProgress(isRunning: Bool, hasServed: Bool) {
        let running = isRunning ? UInt32(HF_FACT_RUNNING) : 0
        hf_capture_set_process_facts(running | (hasServed ? UInt32(HF_FACT_SERVING) : 0))
    }

    /// Sets the items of the start, which can be recognised in the next process.
    ///
    /// Records mark them.
    ///
    /// The list is never freed: a handler may be reading it.
    package func setStartItems(_ items: some Sequence<UInt64>) {
        let sorted = items.sorted()
        let copy = UnsafeMutableBufferPointer<UInt64>.allocate(capacity: sorted.count)
        _ = unsafe copy.initialize(from: sorted)
        let list = UnsafeMutablePointer<HFStartItems>.allocate(capacity: 1)
        unsafe list.initialize(to: HFStartItems(items: UnsafePointer(copy.baseAddress), count: UInt64(sorted.count)))
        unsafe hf_capture_set_start_items(list)
    }

    /// Undoes the whole install: handlers, crash thread and spool file.
    ///
    /// For a start that fails. Capture can be installed again.
    package func withdraw() {
        hf_sample_uninstall()
        hf_capture_withdraw()
        if hasSpoolFile { _ = unsafe unlink(spoolPath) }
    }

    /// How many records there is room for.
    package static var slotCount: Int { SpoolFile.slotCount }

    /// Has a call of exit(3) count as the orderly end of the process: an async `main` ends by it, and closes nothing.
    package func expectExit() { hf_capture_expect_exit() }

    /// Restores the former handlers, and removes the spool file if every record in it was released.
    package func uninstall() {
        hf_sample_uninstall()
        hf_capture_uninstall()
        if hasSpoolFile, slotsInUse == 0 {
            _ = unsafe unlink(spoolPath)
        }
    }

    // MARK: Records

    // Handlers write these; they are read by copying.

    /// The bytes of the whole spool file as it is now: the process, its images, and every record.
    package func spoolBytes() -> [UInt8] {
        unsafe Array(UnsafeRawBufferPointer(start: spool, count: spoolSize))
    }

    /// The bytes before the first record: the process and its images.
    ///
    /// The rest is 30 times as much.
    package func spoolHead() -> [UInt8] {
        let size = unsafe spool.assumingMemoryBound(to: HFSpoolHeader.self).pointee.slot_offset
        return unsafe Array(UnsafeRawBufferPointer(start: spool, count: min(Int(size), spoolSize)))
    }

    /// The bytes of a decided record, for the report writer.
    package func recordBytes(slot: UInt32) -> [UInt8] {
        let record = unsafe hf_capture_record(slot)
        return unsafe Array(UnsafeRawBufferPointer(start: record, count: MemoryLayout<HFRecord>.size))
    }

    /// The bytes of the record of a fault; nil if it was freed.
    ///
    /// Callable from any thread, in ordinary code. If somebody frees the record meanwhile, these are the bytes of another: check the number
    /// in them.
    package func recordBytes(ofFault number: Int) -> [UInt8]? {
        slot(ofFault: number).map { recordBytes(slot: $0) }
    }

    private func slot(ofFault number: Int) -> UInt32? {
        let count = unsafe spool.assumingMemoryBound(to: HFSpoolHeader.self).pointee.slot_count
        return (0..<count).first { slot in unsafe Int(hf_capture_record(slot).pointee.number) == number }
    }

    /// The bytes of the snapshot of the other threads for a decided record, for the report writer; empty if there is none.
    package func threadBytes(slot: UInt32) -> [UInt8] {
        let header = unsafe spool.assumingMemoryBound(to: HFSpoolHeader.self)
        let number = unsafe hf_capture_record(slot).pointee.thread_snapshot
        guard number > 0, unsafe number <= header.pointee.snapshot_count else { return [] }
        let size = MemoryLayout<HFThreadSnapshot>.size
        let start = unsafe spool + Int(header.pointee.snapshot_offset) + (Int(number) - 1) * size
        let before = unsafe start.load(as: UInt32.self)
        let bytes = unsafe Array(UnsafeRawBufferPointer(start: start, count: size))
        // The last fault of a process may take a snapshot whose report is being written.
        return unsafe start.load(as: UInt32.self) == before ? bytes : []
    }

    /// The bytes of the memory contents for a decided record, for the report writer; empty if there are none.
    package func memoryBytes(slot: UInt32) -> [UInt8] {
        let header = unsafe spool.assumingMemoryBound(to: HFSpoolHeader.self)
        let number = unsafe hf_capture_record(slot).pointee.memory_area
        guard number > 0, unsafe number <= header.pointee.memory_count else { return [] }
        let size = MemoryLayout<HFMemoryArea>.size
        let start = unsafe spool + Int(header.pointee.memory_offset) + (Int(number) - 1) * size
        return unsafe Array(UnsafeRawBufferPointer(start: start, count: size))
    }

    /// Takes over the records that the process before this one left in memory, and closes that memory.
    ///
    /// - Parameter descriptor: The former process's `inheritedSpool`.
    /// - Returns: The bytes, in the form of a spool file; nil if the descriptor is something else.
    package static func takeOverSpool(_ descriptor: CInt) -> [UInt8]? {
        var status = stat()
        // Above the standard three, and checked: anybody may write the environment.
        guard descriptor > 2, hf_capture_is_memory_spool(descriptor), unsafe fstat(descriptor, &status) == 0,
            status.st_size < 1 << 28, hf_kept_is_trusted(status.st_uid, status.st_gid)
        else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe pread(descriptor, $0.baseAddress, $0.count, 0) }
        return count == bytes.count ? bytes : nil
    }

    /// Makes the spool whole again if somebody has cut its file; returns how often that was done so far.
    ///
    /// Callable from any thread, in ordinary code. Handlers do it by themselves, before they write.
    package func mendSpool() -> Int {
        hf_capture_check_spool()
        return Int(hf_capture_spool_mends())
    }

    /// The bytes of the context that was kept for a fault, for the report writer.
    ///
    /// - Parameter fault: The number of the fault.
    /// - Returns: The bytes; nil if nothing was kept.
    package func contextBytes(ofFault fault: Int) -> [UInt8]? {
        guard let number = UInt32(exactly: fault), number > 0 else { return nil }
        let size = hf_context_snapshot_size()
        var isKept = false
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            guard let start = buffer.baseAddress else { return }
            isKept = unsafe hf_context_copy_snapshot(number, start)
            count = isKept ? size : 0
        }
        return isKept ? bytes : nil
    }

    // MARK: Turns

    // When threads whose faults restart the process may do so.

    /// When the main loop must have drained, in nanoseconds of the monotonic clock; the threads that wait for it have the same deadline.
    ///
    /// Valid once a decision with `drains` was handed over.
    package static var drainDeadline: Int64 { Int64(clamping: hf_capture_drain_deadline()) }

    /// Tells the threads that wait for the main loop that it has drained.
    ///
    /// They carry out their verdicts at once.
    package func endDrain() {
        hf_capture_end_drain()
    }

    /// Forbids faults to restart the process, because it was told to end.
    ///
    /// Threads that waited for a drain stand still from then on.
    ///
    /// Callable from any thread. A second call finds nothing new.
    ///
    /// - Returns: The slots of the faults that were to restart the process after a drain. The caller makes their reports.
    package func forgoRestart() -> [UInt32] {
        hf_capture_forgo_restart()
        let count = unsafe spool.assumingMemoryBound(to: HFSpoolHeader.self).pointee.slot_count
        return (0..<count).filter { hf_capture_forgo_restart_of($0) }
    }

    /// Lets later faults restart the process again, after a drain of their own.
    package func allowRestart() {
        hf_capture_allow_restart()
    }

    /// Sets a time before which no fault restarts the process: a thread that faults stands still until then.
    ///
    /// - Parameter end: In nanoseconds of the monotonic clock.
    package func deferRestarts(until end: Int64) {
        hf_capture_set_earliest_restart(UInt64(max(0, end)))
    }

    /// Whether a thread that faulted waits until it may restart the process.
    package var awaitsRestart: Bool { hf_capture_awaits_restart() }

    /// Whether a thread that faulted stands still, with its locks, because the process was told to end.
    package var hasThreadThatStandsStill: Bool { hf_capture_stands_still() }
}

/// Lists of C strings in the form of execve(2), in memory that a signal handler can read.
enum CStringList {
    /// Copies strings into a list that ends with a null pointer.
    static func make(_ strings: [[UInt8]]) -> UnsafePointer<UnsafeMutablePointer<CChar>?> {
        let list = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: strings.count + 1)
        for (index, string) in strings.enumerated() {
            unsafe (list + index).initialize(to: copy(string))
        }
        unsafe (list + strings.count).initialize(to: nil)
        return unsafe UnsafePointer(list)
    }

    /// Copies a string and ends it with a NUL.
    static func copy(_ string: [UInt8]) -> UnsafeMutablePointer<CChar> {
        let bytes = UnsafeMutablePointer<CChar>.allocate(capacity: string.count + 1)
        for (index, byte) in string.enumerated() { unsafe (bytes + index).initialize(to: CChar(bitPattern: byte)) }
        unsafe (bytes + string.count).initialize(to: 0)
        return unsafe bytes
    }
}
