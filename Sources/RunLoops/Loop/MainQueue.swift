import LinuxSystem
import Synchronization

/// The main dispatch queue for a loop; only the main thread's loop serves it.
struct MainQueue: ~Copyable, Sendable {
    private let rawDescriptor = Atomic<CInt>(-1)
    private let callout = Atomic<Bool>(false)

    /// The queue's eventfd, or -1 while this loop does not host it.
    ///
    /// Callable from any thread.
    var descriptor: CInt { rawDescriptor.load(ordering: .acquiring) }

    /// Whether the queue is being drained, which is not re-entrant.
    ///
    /// Callable from any thread.
    var isInCallout: Bool { callout.load(ordering: .acquiring) }

    /// Whether it has work.
    var isReady: Bool { !Readiness.now(of: descriptor, for: .readable).isEmpty }

    /// Makes the queue this loop's, if that is possible now; returns whether it is.
    ///
    /// Called on the main thread.
    func host() -> Bool {
        guard descriptor < 0 else { return true }
        // If libdispatch gets no eventfd, it ends the process. So wait for the next run.
        guard MainDispatchQueue.isPresent, isDescriptorLeft, let new = MainDispatchQueue.handle() else { return false }
        rawDescriptor.store(new, ordering: .releasing)
        return true
    }

    private var isDescriptorLeft: Bool {
        do {
            _ = try EventDescriptor()
            return true
        } catch {
            return false
        }
    }

    /// Drains the queue by `callout`, which returns or is abandoned.
    ///
    /// Called on the main thread.
    func serve(_ callOut: () -> Void) {
        EventDescriptor.clear(descriptor)
        callout.store(true, ordering: .releasing)
        callOut()
        callout.store(false, ordering: .releasing)
    }
}

/// Serving the main dispatch queue in the common modes of the main thread's loop.
extension HostRunLoop {
    /// Whether the main dispatch queue is served in a mode now (CFRunLoop.c:2948).
    ///
    /// Not inside its own callout: draining is not re-entrant.
    func hostsMainQueue(in mode: LoopMode) -> Bool {
        guard isMain, mainQueue.descriptor >= 0, !mainQueue.isInCallout else { return false }
        return lock.withLock { modes.isCommon(mode.name) }
    }

    /// Whether the next run in a mode would make the main dispatch queue this loop's, and serve it there.
    func willHostMainQueue(in mode: LoopMode) -> Bool {
        guard isMain, madeAtFork == 0, mainQueue.descriptor < 0 else { return false }
        return MainDispatchQueue.isPresent && lock.withLock { modes.isCommon(mode.name) }
    }

    /// Lets the main dispatch queue's descriptor end a mode's waits exactly while the queue may be served there.
    func prepareMainQueue(for mode: LoopMode) {
        // After a fork without exec, libdispatch belongs to the parent.
        guard isMain, madeAtFork == 0, mainQueue.host() else { return }
        mode.watchMainQueue(mainQueue.descriptor, hostsMainQueue(in: mode))
    }

    /// Returns an event if the main dispatch queue must be served in a mode without an epoll instance to report it.
    func mainQueueEventWithoutPoller(in mode: LoopMode) -> LoopEvent? {
        !mode.hasPoller && hostsMainQueue(in: mode) && mainQueue.isReady ? .mainQueue : nil
    }

    /// Drains the main dispatch queue.
    func serveMainQueue(in mode: LoopMode) {
        mainQueue.serve { callOutToMainQueue(in: mode) }
        // A run that was nested in the callout took it out of its mode.
        prepareMainQueue(for: mode)
    }
}
