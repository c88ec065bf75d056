internal import CCrashCapture
internal import LinuxSystem
package import Logging
internal import Symbolication
internal import Synchronization

/// Answers the crash thread's questions about functions of the executable, once the images of the process are known.
@safe
package final class CodeInspector: Sendable {
    private let trusted: TrustedCode
    private let isStatic = !hf_capture_runtime_is_dynamic()
    /// Held while files are read: by the report writer's thread beforehand, and by the crash thread when it asks.
    ///
    /// The crash thread waits for it until its deadline at most.
    private let lock = Mutex(())
    /// The executable in memory: protected by `lock`.
    private nonisolated(unsafe) var view: ProcessView?
    /// Its path at the start; "" if it is not known.
    ///
    /// Protected by `lock`.
    private nonisolated(unsafe) var path = ""
    /// The executable as it was mapped, by the program's path: links to debug files are relative to it.
    ///
    /// Protected by `lock`.
    private nonisolated(unsafe) var program: SymbolImage?
    /// The executable's file, opened before the first callout: later no descriptor may be left, or the path may lead elsewhere.
    ///
    /// Protected by `lock`.
    private nonisolated(unsafe) var file: ProgramFile?
    /// Protected by `lock`.
    private nonisolated(unsafe) var frames: LockFrames?
    /// Whether libdw is needed and not there: protected by `lock`.
    private nonisolated(unsafe) var lacksLibrary = false
    /// Where what was read is kept for the program's next process.
    ///
    /// Protected by `lock`.
    private nonisolated(unsafe) var shelf: Shelf?
    /// What was read by this process and is not kept yet.
    ///
    /// Protected by `lock`.
    private nonisolated(unsafe) var unkept: (kept: KeptCode, origins: FunctionOrigins)?
    /// A retained `FunctionOrigins` that is never released, or 0.
    ///
    /// Read without the lock.
    private let origins = Atomic<UInt>(0)
    /// How soon the tables are wanted.
    private let urgency = Atomic<UInt32>(Urgency.none)
    /// 1 once the tables were read beforehand, as far as that went.
    private let isWarm = Atomic<UInt32>(0)
    /// How long the crash thread waits for that, in nanoseconds: most of the time that a verdict may take.
    private let patience: Int64

    /// Where processes of a program keep what they have read for the next ones.
    package struct Shelf {
        /// Gives the bytes of a file by its name, unless there is none, or it is larger than the limit.
        let get: (_ name: String, _ limit: Int) -> [UInt8]?
        let put: (_ name: String, _ bytes: [UInt8]) -> Void

        /// Makes one of two functions, which are called on the report writer's thread.
        package init(
            get: @escaping (_ name: String, _ limit: Int) -> [UInt8]?,
            put: @escaping (_ name: String, _ bytes: [UInt8]) -> Void
        ) {
            self.get = get
            self.put = put
        }
    }

    /// Makes one for a process.
    ///
    /// - Parameters:
    ///   - policy: Says which code in other languages is trusted.
    ///   - deadline: How long a verdict may take.
    package init(trusting policy: RecoveryPolicy, deadline: Duration) {
        patience = Int64(CrashCapture.nanoseconds(deadline) / 4 * 3)
        trusted = TrustedCode(modules: policy.trustedModules, functions: policy.trustedFunctions)
    }

    /// Whether stacks can be walked; nil until the crash thread has tried.
    package var walksStacks: Bool? { lock.withLock { _ in unsafe view?.walksStacks } }

    /// The questions that the crash thread may ask.
    package var inspection: CodeInspection {
        unsafe CodeInspection(
            origin: origin(at:),
            prepare: {
                self.hasten()
                // That may load a library, which the crash thread may not.
                Futex.wait(on: self.isWarm, while: 0, before: MonotonicClock.nanoseconds + self.patience)
                self.prepare(mayLoad: false)
            },
            threadLocalGuards: { self.origin?.threadLocalGuards },
            isStatic: isStatic,
            uncountedLock: uncountedLock(_:)
        )
    }

    /// Opens the executable, whose functions are asked about.
    ///
    /// Frames of libraries deny without any question.
    ///
    /// Called before the first callout runs.
    ///
    /// - Parameter shelf: Where what is read of it is kept; nil if it is not.
    package func open(shelf: Shelf?) {
        guard let path = CrashCapture.executableFile else { return }
        let file = ProgramFile(path: path)
        // A verdict needs libdw, which takes a tenth of a start to load: `warmUp` does so once the program serves. By then no descriptor may
        // be left, or the root may be another. So a descriptor is kept, and chroot(2) loads it first.
        file.reserveDescriptor()
        // The same goes for libunwind, which the crash thread loads.
        hf_capture_set_before_root_changes {
            CrashCapture.awaitCrashThread()
            DebugLibrary.load()
        }
        lock.withLock { _ in
            unsafe self.file = file
            unsafe self.path = CrashCapture.executable
            unsafe self.shelf = shelf
        }
    }

    /// Takes where the executable is in memory.
    ///
    /// Without that nothing is known of it, and nothing is cleared. On the crash thread, before its first question.
    package func attach(_ view: ProcessView) {
        lock.withLock { _ in unsafe self.view = view }
    }

    /// Describes the executable for its readers, once, when the first of them needs it.
    ///
    /// The start of the program does not wait for that. With the lock. False if there is no executable.
    private func describe() -> Bool {
        if unsafe program != nil { return true }
        guard let view = unsafe view, let addresses = view.executableAddresses, let file = unsafe file else {
            return false
        }
        let image = SymbolImage(
            path: file.path,
            base: addresses.lowerBound,
            end: addresses.upperBound,
            buildID: view.executableBuildID.map(HexDigits.text)
        )
        unsafe frames = LockFrames(executable: image, program: file, isStatic: isStatic)
        var program = image
        // Without a build id, another file may have taken its place.
        if image.buildID != nil, unsafe !path.isEmpty { program.path = unsafe path }
        unsafe self.program = program
        return true
    }

    private enum Urgency {
        /// The program starts.
        static let none: UInt32 = 0
        /// It serves.
        static let soon: UInt32 = 1
        /// Somebody waits for them, or may in a moment.
        static let now: UInt32 = 2
    }

    /// Ends the pause before the tables are read beforehand.
    ///
    /// Callable from any thread, the crash thread included.
    package func hasten() {
        if urgency.exchange(Urgency.now, ordering: .acquiringAndReleasing) != Urgency.now {
            Futex.wakeOne(waitingOn: urgency)
        }
    }

    /// Notes that the program has started.
    ///
    /// Callable from any thread.
    package func noteServing() {
        let change = urgency.compareExchange(
            expected: Urgency.none,
            desired: Urgency.soon,
            ordering: .acquiringAndReleasing
        )
        if change.exchanged { Futex.wakeOne(waitingOn: urgency) }
    }

    /// Waits for a program that starts: it needs the processors itself, and then those who have waited for it.
    ///
    /// On the report writer's thread. Once the program serves it takes a moment still: reading takes 50 ms, and the scheduler may choose this
    /// thread before one that answers, for 3 ms.
    ///
    /// - Parameter limit: How long its start may take at most; less once somebody waits for the tables.
    package func giveWay(atMost limit: Duration) {
        for (urgency, limit) in [(Urgency.none, limit), (Urgency.soon, .milliseconds(4))] {
            let deadline = MonotonicClock.nanoseconds + Int64(CrashCapture.nanoseconds(limit))
            Futex.wait(on: self.urgency, while: urgency, before: deadline)
        }
    }

    /// Reads the executable's tables now, so that the first fault does not wait for it; logs once if they tell nothing.
    ///
    /// - Parameter logger: Where to log; nil if the process before has done so.
    package func warmUp(logger: Logger?) {
        let isInformed = lock.withLock { _ in
            unsafe file?.releaseReserve()
            return unsafe file?.hasDebugInformation == true
        }
        // At once: the descriptor is free, and somebody else may take it.
        if isInformed { DebugLibrary.load() }
        // First what every fault needs.
        prepare(mayLoad: true)
        // For another attempt, on the crash thread.
        if origin == nil { DebugLibrary.load() }
        isWarm.store(1, ordering: .releasing)
        Futex.wakeOne(waitingOn: isWarm)
        lock.withLock { _ in unsafe frames?.warmUp() }
        keep()
        // What was read was ten times as large as what is kept, and malloc(3) gives back nothing in between.
        FreeMemory.giveBack()
        if isInformed, origin != nil, let problem = DebugLibrary.problem {
            logger?.warning("reports have no lines: libdw cannot be loaded (\(problem)); install libdw1")
        }
        if lock.withLock({ _ in unsafe lacksLibrary }), let problem = DebugLibrary.problem {
            logger?.warning(
                """
                no fault will be resumed, and reports have no lines: the program has debug information, and libdw cannot be loaded to \
                read it (\(problem)); install libdw1
                """
            )
            return
        }
        guard let origin else {
            logger?.warning(
                """
                no fault will be resumed until the program's file can be read, or its debug file: Swift functions cannot be told from \
                those of a C library
                """
            )
            return
        }
        if origin.lacksRoom {
            logger?.warning(
                """
                reports have no lines: to read the program's debug information takes more memory than a limit leaves; allow more, or \
                ship the program with strip --strip-debug and give its debug file to crashreport symbolicate
                """
            )
        }
        if origin.isMixed {
            logger?.warning(
                """
                no fault will be resumed: the standard library is static, and its code cannot be told from the program's, because the \
                linker has changed the order of their objects; link the standard library dynamically
                """
            )
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
    private func prepare(mayLoad: Bool) {
        lock.withLock { _ in
            guard origins.load(ordering: .acquiring) == 0, unsafe !lacksLibrary else { return }
            guard describe(), let program = unsafe program, let file = unsafe file else { return }
            let files = CodeFiles(of: program, from: file)
            unsafe frames?.debug = files.debug
            // Not for the crash thread: the store may be on a disk that does not answer.
            let shelf = mayLoad ? unsafe shelf : nil
            let kept = shelf == nil ? nil : KeptCode(of: program, in: files, trusting: trusted, isStatic: isStatic)
            if let kept, let bytes = shelf?.get(kept.name, KeptCode.mostBytes), let known = kept.contents(of: bytes) {
                unsafe frames?.takeOver(known.locks)
                return publish(known.origins)
            }
            let read = FunctionOrigins(of: program, in: files, trusting: trusted, mayLoad: mayLoad, isStatic: isStatic)
            unsafe lacksLibrary = read.lacksLibrary
            guard !read.isUnread else { return }
            publish(read)
            if let kept { unsafe unkept = (kept, read) }
        }
    }

    /// Keeps what was read for the next process: without the lock, for the crash thread may want it.
    private func keep() {
        let (unkept, locks, shelf) = lock.withLock { _ in
            defer { unsafe self.unkept = nil }
            return unsafe (self.unkept, self.frames?.encoded(), self.shelf)
        }
        if let (kept, origins) = unkept, let locks, let bytes = kept.file(of: origins, locks: locks) {
            shelf?.put(kept.name, bytes)
        }
    }

    private func publish(_ read: FunctionOrigins) {
        origins.store(UInt(bitPattern: unsafe Unmanaged.passRetained(read).toOpaque()), ordering: .releasing)
    }

    /// The origins that were looked up; nil before.
    private var origin: FunctionOrigins? {
        let place = unsafe UnsafeRawPointer(bitPattern: origins.load(ordering: .acquiring))
        return unsafe place.map { unsafe Unmanaged<FunctionOrigins>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Where the function at an address comes from.
    ///
    /// Called on the crash thread, for each frame: without a lock.
    private func origin(at address: UInt64) -> CodeOrigin {
        guard let origin else { return .pending }
        return switch origin.origin(at: address) {
        case .swift: .swift
        case .trusted: .trusted
        case .native: .native
        case .inlinedNative: .inlinedNative
        case .withinNative: .withinNative
        case .swiftFailure: .swiftFailure
        case .errorInMain: .errorInMain
        case .swiftCore: .swiftCore
        case .taskRuntime: .taskRuntime
        case .library: .library
        case .unknown: .unknown
        }
    }

    /// Whether one of the program counters, innermost first, is in a function that may hold a lock which is not counted.
    ///
    /// Called on the crash thread.
    private func uncountedLock(_ programCounters: UnsafeBufferPointer<UInt64>) -> UncountedLock {
        lock.withLock { _ in
            guard describe(), let frames = unsafe frames else { return .unread }
            return switch unsafe frames.finding(in: programCounters) {
            case .clear: .none
            case .mayBeHeld: .mayBeHeld
            case .unread: .unread
            }
        }
    }
}
