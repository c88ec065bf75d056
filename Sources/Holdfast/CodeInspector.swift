internal import CrashCapture
internal import CrashReports
internal import Logging
internal import Supervision
internal import Symbolication
internal import Synchronization

/// Answers the crash thread's questions about functions of the executable, as soon as the images of the process are known.
@safe
final class CodeInspector: Sendable {
    private let trusted: TrustedCode
    /// The report writer's thread reads the files beforehand, the crash thread asks.
    ///
    /// The crash thread waits for it at most until its deadline.
    private let lock = Mutex(())
    /// The executable as it was mapped, by the path that names this file whatever has taken its place.
    ///
    /// Protected by `lock`.
    private nonisolated(unsafe) var image: SymbolImage?
    /// The same by the path that the program has.
    ///
    /// Protected by `lock`.
    private nonisolated(unsafe) var program: SymbolImage?
    /// Protected by `lock`.
    private nonisolated(unsafe) var frames: LockFrames?
    /// A retained `FunctionOrigins`, for ever, or 0: read without the lock.
    private let origins = Atomic<UInt>(0)

    /// Makes one for a process with this policy.
    init(trusting policy: RecoveryPolicy) {
        trusted = TrustedCode(modules: policy.trustedModules, functions: policy.trustedFunctions)
    }

    /// What the crash thread is given.
    var inspection: CodeInspection {
        unsafe CodeInspection(origin: origin(at:), prepare: prepare, isInLockFrame: holdsLock(_:))
    }

    /// Names the executable, whose functions are asked for: frames of libraries speak against resuming whatever they are.
    ///
    /// Before the first callout runs. Without an executable nothing is known, and nothing is cleared.
    func attach(_ capture: CrashCapture) {
        guard let addresses = capture.executableAddresses, let path = CrashCapture.executableFile else { return }
        let image = SymbolImage(
            path: path,
            base: addresses.lowerBound,
            end: addresses.upperBound,
            buildID: capture.executableBuildID.map(HexDigits.text)
        )
        var program = image
        // A link to a debug file counts from the program's folder. Without a build id another file may have taken its place.
        if image.buildID != nil, !CrashCapture.executable.isEmpty { program.path = CrashCapture.executable }
        let frames = LockFrames(executable: image)
        lock.withLock { _ in
            unsafe self.frames = frames
            unsafe self.image = image
            unsafe self.program = program
        }
    }

    /// Reads the executable's tables now, so that the first fault does not wait for it, and says once if they tell nothing.
    ///
    /// - Parameter logger: Where it is said; nil where the process before has said it.
    func warmUp(logger: Logger?) {
        // First what every fault needs.
        prepare()
        lock.withLock { _ in unsafe frames?.warmUp() }
        if origin.map(\.isStripped) ?? true {
            logger?.warning(
                """
                no fault will be resumed: the program has no symbols, and Swift functions cannot be told from those of a C library; \
                keep its symbols (strip --strip-debug), or its debug file where debuggers look for it
                """
            )
        }
    }

    /// Reads where functions come from, unless that has been done.
    private func prepare() {
        lock.withLock { _ in
            guard origins.load(ordering: .acquiring) == 0 else { return }
            guard let program = unsafe program, let image = unsafe image else { return }
            var read = FunctionOrigins(of: program, trusting: trusted)
            if read.isStripped, program.path != image.path {
                // Another build lies at the path, perhaps.
                let own = FunctionOrigins(of: image, trusting: trusted)
                if !own.isStripped { read = own }
            }
            origins.store(UInt(bitPattern: unsafe Unmanaged.passRetained(read).toOpaque()), ordering: .releasing)
        }
    }

    /// What was read; nil before.
    private var origin: FunctionOrigins? {
        let place = unsafe UnsafeRawPointer(bitPattern: origins.load(ordering: .acquiring))
        return unsafe place.map { unsafe Unmanaged<FunctionOrigins>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Where the function at an address comes from.
    ///
    /// On the crash thread, for each frame: without a lock.
    private func origin(at address: UInt64) -> CodeOrigin {
        guard let origin else { return .pending }
        return switch origin.origin(at: address) {
        case .swift: .swift
        case .trusted: .trusted
        case .native: .native
        case .unknown: .unknown
        }
    }

    /// Whether one of the program counters, innermost first, is in a function that may hold a lock nobody counts.
    ///
    /// On the crash thread.
    private func holdsLock(_ programCounters: UnsafeBufferPointer<UInt64>) -> Bool {
        lock.withLock { _ in
            // Nothing is known: then nothing is cleared.
            guard let frames = unsafe frames else { return true }
            return unsafe frames.contain(programCounters)
        }
    }
}
