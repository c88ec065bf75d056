import CRecoveryPoint
import LinuxSystem
import Synchronization
public import SystemPackage

extension HostRunLoop {
    /// A thread that runs its loop in the default mode until it is stopped.
    ///
    /// With nothing to do it sleeps and is never woken. `init` starts it; it ends after `stop()` or at its deadline. Then its loop
    /// is taken down: sources are told, queued performs are released without running, and their waiters are told. Last it is
    /// joined.
    ///
    /// Dropping the last reference stops the thread without waiting for it, so keep one as long as you need the thread. The thread
    /// itself holds none. `loop.stop()` ends only the present run; the thread then begins another. Callable from any thread.
    public final class LoopThread: Sendable {
        /// The name of the thread; the system shows the first 15 bytes of it.
        package let name: String
        /// The thread's loop, to add items to and to perform on.
        public let loop: HostRunLoop
        private let life: Life
        private let thread: NativeThread

        /// Starts a thread and returns when its loop exists.
        ///
        /// - Parameters:
        ///   - name: Its name in `/proc` and debuggers, of which the first 15 bytes count.
        ///   - stackSize: The size of its stack in bytes, at least 64 KiB; `nil` for the system's default. Callouts have stacks of
        ///     their own: `calloutStackSize`.
        ///   - deadline: When the thread ends by itself. Unlike `stop()`, the deadline ends only the outermost run: nested runs
        ///     finish first.
        ///   - prepare: Called on the thread with its loop, before the loop runs. It is a callout, so a fault in it can be
        ///     abandoned.
        /// - Throws: The error of pthread_create(3): `EAGAIN` when there is no room for another thread. Or `EMFILE`, `ENFILE` or
        ///   `ENOMEM` when the loop cannot get the three descriptors that it sleeps with. `prepare` was not called then.
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

        /// Ends the thread at the end of the present pass of its loop, however many runs are nested.
        ///
        /// Every active run ends at the end of its pass, and so does every run that code on the thread begins on the way out. The
        /// request is never lost, even if the loop does not run yet. Does not wait. Only the first call counts.
        public func stop() {
            life.isStopRequested.store(true, ordering: .releasing)
            loop.endAllRuns()
        }

        /// Whether the thread has run all of its code.
        package var isFinished: Bool { life.ended.wait(until: Instant(nanoseconds: 0)) }

        /// Waits until the thread has ended and its loop was taken down.
        ///
        /// Several threads may wait, even after it has ended. A thread that joins itself would wait for ever, so this ends the
        /// process with a message.
        ///
        /// - Parameter limit: How long to wait at most; `nil` for ever.
        /// - Returns: Why it ended: `.stopped`, or `.timedOut` at its deadline; `nil` if it has not ended within the limit.
        @discardableResult
        public func join(within limit: Duration? = nil) -> RunResult? {
            if loop.isCurrent {
                fatalError("a LoopThread cannot join itself: call stop() here, and join() on another thread")
            }
            guard life.ended.wait(until: limit.map { .now.advanced(by: $0) } ?? .distantFuture) else { return nil }
            joinNow()
            return life.result
        }

        /// Waits for the system's part of the thread to end.
        ///
        /// A critical section: an abandoned callout would keep the join's lock.
        private func joinNow() {
            hf_critical_enter()
            defer { hf_critical_leave() }
            thread.join()
        }
    }
}

/// The state that a thread with a loop shares with its owner.
private final class Life: @unchecked Sendable {
    let isStopRequested = Atomic<Bool>(false)
    /// Opened when the loop was taken down.
    let ended = Latch()
    /// Written before `ended` is opened.
    private(set) var result = HostRunLoop.RunResult.stopped
    /// Why the thread ended without starting its loop; written before `begun` is opened.
    private(set) var refusal: Errno?
    private let begun = Latch()
    /// Written before `begun` is opened; taken by the thread that waits for that.
    private var loop: HostRunLoop?

    /// Returns the loop as soon as the thread has made it.
    func waitForLoop() -> HostRunLoop {
        begun.wait()
        guard let loop else { preconditionFailure("a thread has begun without its loop") }
        // The caller keeps the loop.
        self.loop = nil
        return loop
    }

    /// The whole work of the thread.
    func live(name: String, until deadline: HostRunLoop.Instant, prepare: (@Sendable (HostRunLoop) -> Void)?) {
        let loop = HostRunLoop.current
        do throws(Errno) {
            try loop.requireDescriptors()
        } catch {
            refuse(loop, error)
            return
        }
        // Keeps the default mode from being empty; is never signalled.
        loop.add(HostRunLoop.Source(label: "keep alive") { _ in })
        self.loop = loop
        begun.open()
        if let prepare {
            loop.performNow(label: name) { prepare(loop) }
        }
        result = serve(loop, until: deadline)
        // Done here and not by the system at thread exit, so that it is complete when `join` returns.
        HostRunLoop.tearDownCurrent()
        ended.open()
    }

    /// Ends a thread whose loop could not get its descriptors.
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
