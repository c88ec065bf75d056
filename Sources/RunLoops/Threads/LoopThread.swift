import CRecoveryPoint
import LinuxSystem
import Synchronization
public import SystemPackage

extension HostRunLoop {
    /// A thread that runs its loop in the default mode until it is stopped.
    ///
    /// With nothing to do it sleeps and is never woken. Life cycle: started by `init` -> told to end by `stop()`, or its
    /// deadline has come -> its loop is taken down: sources are told, queued performs are released unrun and their waiters
    /// told -> joined.
    ///
    /// Dropping the last reference stops the thread without waiting for it, so keep one as long as it is needed. The thread
    /// itself holds none. `loop.stop()` only ends the present run; the thread then begins another one. Callable from any
    /// thread.
    public final class LoopThread: Sendable {
        /// The name of the thread; the system shows the first 15 bytes of it.
        package let name: String
        /// The thread's loop: for performs, items and all else.
        public let loop: HostRunLoop
        private let life: Life
        private let thread: NativeThread

        /// Starts a thread and returns when its loop is there.
        ///
        /// - Parameters:
        ///   - name: Its name in `/proc` and debuggers, of which 15 bytes count.
        ///   - stackSize: The size of its stack in bytes, at least 64 KiB; `nil` for the system's usual one. Callouts have
        ///     stacks of their own: `calloutStackSize`.
        ///   - deadline: When the thread ends by itself, as with `stop()` but at the end of the outermost run only: runs
        ///     that are nested in it come to their own end first.
        ///   - prepare: Called on the thread with its loop, before that runs; a callout, so that a fault in it can be
        ///     abandoned.
        /// - Throws: The error of pthread_create(3): `EAGAIN` when there is no room for another thread; or `EMFILE`, `ENFILE`
        ///   or `ENOMEM` when the loop cannot have the three descriptors that it sleeps with. Nothing was called then.
        public init(
            name: String,
            stackSize: Int? = nil,
            until deadline: Instant = .distantFuture,
            prepare: (@Sendable (HostRunLoop) -> Void)? = nil
        ) throws(Errno) {
            let life = Life()
            self.name = name
            self.life = life
            thread = try NativeThread(name: name, stackSize: stackSize) {
                life.live(name: name, until: deadline, prepare: prepare)
            }
            loop = life.waitForLoop()
            if let error = life.refusal {
                joinNow()
                throw error
            }
        }

        deinit {
            stop()
        }

        /// Ends the thread when the present pass of its loop is over, however many runs are nested.
        ///
        /// Every run that is active ends at the end of its pass, and so does every run that code on the thread begins on the
        /// way out. Never lost, also before the loop runs; does not wait. Only the first call counts.
        public func stop() {
            life.isStopRequested.store(true, ordering: .releasing)
            loop.endAllRuns()
        }

        /// Whether the thread has run all of its code.
        package var isFinished: Bool { life.ended.wait(until: Instant(nanoseconds: 0)) }

        /// Waits until the thread has ended and its loop was taken down.
        ///
        /// Several threads may wait, and again later. A thread that joins itself would wait for ever: the process is ended
        /// with a message.
        ///
        /// - Parameter limit: How long to wait at most; `nil` for ever.
        /// - Returns: Why it ended: `.stopped` or, at its deadline, `.timedOut`; `nil` if it has not when the time is over.
        @discardableResult
        public func join(within limit: Duration? = nil) -> RunResult? {
            if loop.isCurrent {
                fatalError("a LoopThread cannot join itself: call stop() here, and join() on another thread")
            }
            guard life.ended.wait(until: limit.map { .now.advanced(by: $0) } ?? .distantFuture) else { return nil }
            joinNow()
            return life.result
        }

        /// Waits for what the system has left of the thread: in a critical section, or a callout that is abandoned would keep its lock.
        private func joinNow() {
            hf_critical_enter()
            defer { hf_critical_leave() }
            thread.join()
        }
    }
}

/// What a thread with a loop and its owner share.
private final class Life: @unchecked Sendable {
    let isStopRequested = Atomic<Bool>(false)
    /// Opened when the loop was taken down.
    let ended = Latch()
    /// Written before `ended` is opened.
    private(set) var result = HostRunLoop.RunResult.stopped
    /// Why the thread has ended without having begun; written before `begun` is opened.
    private(set) var refusal: Errno?
    private let begun = Latch()
    /// Written before `begun` is opened, and taken by the one who waits for that.
    private var loop: HostRunLoop?

    /// Returns the loop as soon as the thread has made it.
    func waitForLoop() -> HostRunLoop {
        begun.wait()
        guard let loop else { preconditionFailure("a thread has begun without its loop") }
        // Whoever keeps the loop does it elsewhere.
        self.loop = nil
        return loop
    }

    /// Everything that the thread does.
    func live(name: String, until deadline: HostRunLoop.Instant, prepare: (@Sendable (HostRunLoop) -> Void)?) {
        let loop = HostRunLoop.current
        do throws(Errno) {
            try loop.requireDescriptors()
        } catch {
            refuse(loop, error)
            return
        }
        // Keeps the default mode from being empty, and never does anything.
        loop.add(HostRunLoop.Source(label: "keep alive") { _ in })
        self.loop = loop
        begun.open()
        if let prepare {
            loop.performNow(label: name) { prepare(loop) }
        }
        result = serve(loop, until: deadline)
        // Now and not by the system, so that whoever joins knows it is done.
        HostRunLoop.tearDownCurrent()
        ended.open()
    }

    /// Ends a thread whose loop could not sleep.
    private func refuse(_ loop: HostRunLoop, _ error: Errno) {
        refusal = error
        self.loop = loop
        HostRunLoop.tearDownCurrent()
        ended.open()
        begun.open()
    }

    private func serve(_ loop: HostRunLoop, until deadline: HostRunLoop.Instant) -> HostRunLoop.RunResult {
        while true {
            if isStopRequested.load(ordering: .acquiring) { return .stopped }
            let rest = HostRunLoop.Instant.now.duration(to: deadline)
            if rest <= .zero { return .timedOut }
            loop.run(in: .default, for: rest)
        }
    }
}
