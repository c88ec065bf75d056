internal import LinuxSystem
package import Logging
internal import Symbolication
internal import Synchronization

/// Answers the crash thread's questions about functions of the executable, as soon as the images of the process are known.
@safe
package final class CodeInspector: Sendable {
    private let trusted: TrustedCode
    /// The report writer's thread reads the files beforehand, the crash thread asks.
    ///
    /// The crash thread waits for it at most until its deadline.
    private let lock = Mutex(())
    /// The executable as it was mapped, by the path that the program has: a link to a debug file counts from there.
    ///
    /// Protected by `lock`.
    private nonisolated(unsafe) var program: SymbolImage?
    /// The very file, open before the first callout: later descriptors may be used up, or the way to it gone.
    ///
    /// Protected by `lock`.
    private nonisolated(unsafe) var file: ProgramFile?
    /// Protected by `lock`.
    private nonisolated(unsafe) var frames: LockFrames?
    /// A retained `FunctionOrigins`, for ever, or 0: read without the lock.
    private let origins = Atomic<UInt>(0)

    /// Makes one for a process with this policy.
    package init(trusting policy: RecoveryPolicy) {
        trusted = TrustedCode(modules: policy.trustedModules, functions: policy.trustedFunctions)
    }

    /// What the crash thread is given.
    package var inspection: CodeInspection {
        unsafe CodeInspection(
            origin: origin(at:),
            prepare: prepare,
            threadLocalGuards: { self.origin?.threadLocalGuards },
            uncountedLock: uncountedLock(_:)
        )
    }

    /// Names the executable, whose functions are asked for: frames of libraries speak against resuming whatever they are.
    ///
    /// Before the first callout runs. Without an executable nothing is known, and nothing is cleared.
    package func attach(_ capture: CrashCapture) {
        guard let addresses = capture.executableAddresses, let path = CrashCapture.executableFile else { return }
        let image = SymbolImage(
            path: path,
            base: addresses.lowerBound,
            end: addresses.upperBound,
            buildID: capture.executableBuildID.map(HexDigits.text)
        )
        var program = image
        // Without a build id another file may have taken its place.
        if image.buildID != nil, !CrashCapture.executable.isEmpty { program.path = CrashCapture.executable }
        let file = ProgramFile(path: path)
        let frames = LockFrames(executable: image, program: file)
        lock.withLock { _ in
            unsafe self.frames = frames
            unsafe self.program = program
            unsafe self.file = file
        }
    }

    /// Reads the executable's tables now, so that the first fault does not wait for it, and says once if they tell nothing.
    ///
    /// - Parameter logger: Where it is said; nil where the process before has said it.
    package func warmUp(logger: Logger?) {
        // First what every fault needs.
        prepare()
        lock.withLock { _ in unsafe frames?.warmUp() }
        guard let origin else {
            logger?.warning(
                """
                no fault will be resumed until the program's file can be read, or its debug file: Swift functions cannot be told from \
                those of a C library
                """
            )
            return
        }
        if origin.isStripped {
            logger?.warning(
                """
                no fault will be resumed: the program has no symbols, and Swift functions cannot be told from those of a C library; \
                keep its symbols (strip --strip-debug), or its debug file where debuggers look for it
                """
            )
        }
    }

    /// Reads where functions come from, unless that has been done; what cannot be read now is tried again at the next fault.
    private func prepare() {
        lock.withLock { _ in
            guard origins.load(ordering: .acquiring) == 0 else { return }
            guard let program = unsafe program, let file = unsafe file else { return }
            let read = FunctionOrigins(of: program, from: file, trusting: trusted)
            guard !read.isUnread else { return }
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
        case .inlinedNative: .inlinedNative
        case .withinNative: .withinNative
        case .unknown: .unknown
        }
    }

    /// Whether one of the program counters, innermost first, is in a function that may hold a lock nobody counts.
    ///
    /// On the crash thread.
    private func uncountedLock(_ programCounters: UnsafeBufferPointer<UInt64>) -> UncountedLock {
        lock.withLock { _ in
            guard let frames = unsafe frames else { return .unread }
            return switch unsafe frames.finding(in: programCounters) {
            case .clear: .none
            case .mayBeHeld: .mayBeHeld
            case .unread: .unread
            }
        }
    }
}
