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
        /// How long a parked thread waits for its verdict.
        ///
        /// A deadline that passes means that a lock is held.
        public var deadline: Duration
        /// What is done when no verdict came in time: never resume.
        public var verdictAtDeadline: Verdict
        /// Signals that the process before this one held back for it, as bits.
        public var heldSignals: UInt64
        /// How often this process was restarted in place so far.
        public var restarts: Int
        /// Holdfast's own version, for reports.
        public var version: String

        /// Makes a configuration.
        public init(
            spoolFolder: String,
            deadline: Duration = .seconds(2),
            verdictAtDeadline: Verdict = .restart,
            heldSignals: UInt64 = 0,
            restarts: Int = 0,
            version: String
        ) {
            self.spoolFolder = spoolFolder
            self.deadline = deadline
            self.verdictAtDeadline = verdictAtDeadline
            self.heldSignals = heldSignals
            self.restarts = restarts
            self.version = version
        }
    }

    /// The path of the spool file.
    public let spoolPath: String
    /// Whether records outlive the process: not when there was no room for the spool file.
    public let isPersistent: Bool
    /// Written by handlers; read by copying alone.
    private nonisolated(unsafe) let spool: UnsafeRawPointer
    private let spoolSize: Int

    /// Whether faults can be resumed in this process at all, and if not, why.
    ///
    /// Needs libswiftCore as a library of its own, which is what tells the runtime's frames from the application's, and the
    /// runtime functions that keep exclusivity accesses apart.
    public static var obstacleToResuming: StaticString? {
        if !hf_capture_runtime_is_dynamic() {
            return "the Swift runtime is linked statically, so its frames cannot be told from the application's"
        }
        if !hf_recovery_tracks_exclusivity() {
            return "this Swift runtime lacks the functions that keep exclusivity accesses apart"
        }
        return nil
    }

    /// Installs capture and prepares the calling thread.
    ///
    /// - Parameters:
    ///   - configuration: What it is set up with.
    ///   - decide: Gives the verdict on a fault. Called on the crash thread while the thread that faulted is parked: must not
    ///     allocate or lock.
    ///   - resumed: Called on the crash thread after a thread was sent to its recovery point, with the record's slot.
    /// - Throws: `CrashCaptureError`.
    public init(
        _ configuration: Configuration,
        decide: @escaping @Sendable (FaultSummary) -> Decision,
        resumed: @escaping @Sendable (UInt32, FaultSummary) -> Void
    ) throws(CrashCaptureError) {
        let identity = ProcessIdentity(restarts: configuration.restarts, holdfastVersion: configuration.version)
        let spool = try SpoolFile(folder: configuration.spoolFolder, identity: identity)
        spoolPath = spool.path
        isPersistent = spool.isPersistent
        unsafe self.spool = unsafe UnsafeRawPointer(spool.header)
        spoolSize = spool.size
        let thread = unsafe CrashThread(spool: spool.header, decide: decide, resumed: resumed)

        let seconds = configuration.deadline.components
        var settings = unsafe HFCaptureConfiguration(
            spool: spool.header,
            deadline_nanoseconds: UInt64(max(0, seconds.seconds)) * 1_000_000_000
                + UInt64(max(0, seconds.attoseconds / 1_000_000_000)),
            verdict_at_deadline: configuration.verdictAtDeadline.rawCode,
            spool_descriptor: spool.descriptor,
            held_signals: configuration.heldSignals,
            executable: strdup(identity.executable),
            fallback_executable: strdup("/proc/self/exe"),
            arguments: CStringList.make(identity.arguments)
        )
        let error = unsafe hf_capture_install(&settings)
        guard error == 0 else {
            spool.remove()
            throw CrashCaptureError(error == EALREADY ? .alreadyInstalled : .handlers, Errno(rawValue: error))
        }
        do {
            try Self.prepareThread()
            try thread.start()
        } catch {
            hf_capture_uninstall()
            spool.remove()
            throw error
        }
    }

    /// Gives the calling thread a guarded alternate signal stack, so that a stack overflow of it is captured.
    public static func prepareThread() throws(CrashCaptureError) {
        let error = hf_capture_prepare_thread()
        guard error == 0 else { throw CrashCaptureError(.thread, Errno(rawValue: error)) }
    }

    /// The bytes of the whole spool file as they are now: the process, its images, and every record.
    public func spoolBytes() -> [UInt8] {
        unsafe Array(UnsafeRawBufferPointer(start: spool, count: spoolSize))
    }

    /// The bytes of a decided record, for the report writer.
    public func recordBytes(slot: UInt32) -> [UInt8] {
        let record = unsafe hf_capture_record(slot)
        return unsafe Array(UnsafeRawBufferPointer(start: record, count: MemoryLayout<HFRecord>.size))
    }

    /// How many faults have no report yet.
    public var slotsInUse: Int { Int(hf_capture_slots_in_use()) }

    /// Frees a slot whose report is in the store.
    public func release(slot: UInt32) {
        hf_capture_release(slot)
    }

    /// Forgets the texts of a fault that was resumed.
    ///
    /// Call once for each, on the loop's thread.
    public func clearMessages() {
        hf_capture_clear_messages()
    }

    /// Sets what a restart in place begins with: the whole environment, and the descriptors that stay open.
    public func prepareRestart(environment: [String], keeping descriptors: [CInt]) {
        // Never freed: a handler may be reading the one that this one replaces. They are few and short.
        let kept = UnsafeMutablePointer<CInt>.allocate(capacity: max(1, descriptors.count))
        unsafe kept.initialize(from: descriptors, count: descriptors.count)
        let plan = UnsafeMutablePointer<HFRestartPlan>.allocate(capacity: 1)
        unsafe plan.initialize(
            to: HFRestartPlan(
                environment: CStringList.make(environment),
                descriptors: UnsafePointer(kept),
                descriptor_count: UInt32(descriptors.count)
            )
        )
        unsafe hf_capture_set_restart_plan(plan)
    }

    /// Replaces the process by a fresh one in place.
    ///
    /// Returns only when that failed.
    public func restart() {
        hf_async_restart()
    }

    /// Puts the handlers back that stood before, and removes the spool file if every record in it was released.
    public func uninstall() {
        hf_capture_uninstall()
        if isPersistent, slotsInUse == 0 {
            _ = unsafe unlink(spoolPath)
        }
    }
}

/// C string lists that live until the process ends, because a signal handler reads them.
enum CStringList {
    static func make(_ strings: [String]) -> UnsafePointer<UnsafeMutablePointer<CChar>?> {
        let list = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: strings.count + 1)
        for (index, string) in strings.enumerated() {
            unsafe (list + index).initialize(to: strdup(string))
        }
        unsafe (list + strings.count).initialize(to: nil)
        return unsafe UnsafePointer(list)
    }
}
