import CRecoveryPoint
import LinuxSystem
import Synchronization
public import SystemPackage

/// Performing on a loop's thread, as Foundation's `perform(_:on:with:waitUntilDone:modes:)` does.
///
/// A perform is a queued block followed by a wake-up. It is therefore a callout of its own, so that a fault loses only that
/// perform. It keeps its mode from being empty exactly while it is queued. All queued performs run in one pass.
///
/// A perform for a mode in which the loop does not run now waits until it does. This postpones work until something else is over: a
/// perform queued in `.default` during a run in a tracking mode waits until the default mode runs again.
extension HostRunLoop {
    /// Runs a closure once, on the loop's thread, in the next run of a mode; wakes the loop for it.
    ///
    /// Callable from any thread.
    ///
    /// - Parameters:
    ///   - mode: The mode, or `.common` for the common mode that runs first.
    ///   - order: Its place among the blocks that are queued when the loop gets to them; lower orders run first. Blocks with equal
    ///     orders run in the order in which they were queued; plain blocks have the order 0.
    ///   - target: An object by which `cancelPerforms(for:)` finds it; kept alive until the perform has run or was cancelled.
    ///   - label: The name that crash reports show for it.
    ///   - body: The closure; released without running if it is cancelled or the thread ends first.
    /// - Returns: A token to cancel it.
    @discardableResult
    public func perform(
        in mode: Mode = .common,
        order: Int = 0,
        target: (any AnyObject & Sendable)? = nil,
        label: String = "block",
        @_inheritActorContext _ body: @escaping @Sendable @isolated(any) () -> Void
    ) -> Perform {
        require(body.isolation, for: label)
        let body = Plain.block(body)
        return post(QueuedBlock(label: label, modes: .init(mode), order: order, target: target, on: self, body))
    }

    /// Runs a closure once, on the loop's thread, in the next run of any of several modes; wakes the loop for it.
    ///
    /// Callable from any thread.
    ///
    /// - Parameters:
    ///   - modes: At least one mode; may include `.common`.
    ///   - order: Its place among the blocks that are queued when the loop gets to them, as above.
    ///   - target: An object by which `cancelPerforms(for:)` finds it; kept alive until the perform has run or was cancelled.
    ///   - label: The name that crash reports show for it.
    ///   - body: The closure; released without running if it is cancelled or the thread ends first.
    /// - Returns: A token to cancel it.
    @discardableResult
    public func perform(
        inAnyOf modes: Set<Mode>,
        order: Int = 0,
        target: (any AnyObject & Sendable)? = nil,
        label: String = "block",
        @_inheritActorContext _ body: @escaping @Sendable @isolated(any) () -> Void
    ) -> Perform {
        requireModes(modes)
        require(body.isolation, for: label)
        let body = Plain.block(body)
        return post(QueuedBlock(label: label, modes: .any(modes), order: order, target: target, on: self, body))
    }

    /// Runs a closure once, on the loop's thread, and waits until it has run.
    ///
    /// On the loop's own thread it runs at once, whatever the mode. On another thread the caller blocks: if the loop's thread waits
    /// for the caller at the same time, only a limit ends that. The loop must run in the mode, now or later.
    ///
    /// - Parameters:
    ///   - mode: The mode, or `.common` for the common mode that runs first.
    ///   - order: Its place among the blocks that are queued when the loop gets to them.
    ///   - label: The name that crash reports show for it.
    ///   - limit: How long to wait at most; `nil` for as long as it takes.
    ///   - body: The closure. It belongs to no actor, wherever it is written, because it is for loops of other threads.
    /// - Returns: The result of the closure.
    /// - Throws: The error of the closure, or `PerformError` if there is no result: the time limit passed, the loop's thread ended,
    ///   or the closure faulted.
    @available(*, noasync, message: "a task must not block its thread: use an actor on the loop")
    public func performAndWait<Value: Sendable>(
        in mode: Mode = .common,
        order: Int = 0,
        label: String = "block",
        within limit: Duration? = nil,
        _ body: @escaping @Sendable () throws -> Value
    ) throws -> Value {
        let outcome = Outcome<Value>()
        let run: @Sendable () -> Void = { outcome.result = Result(catching: body) }
        let deadline = limit.map { Instant.now.advanced(by: $0) } ?? .distantFuture
        let state: Perform.State
        if isCurrent {
            state = performNow(label: label, run)
        } else {
            let end = Latch()
            let block = QueuedBlock(label: label, modes: .init(mode), order: order, on: self, end: end, run)
            post(block)
            if !end.wait(until: deadline), block.cancel() {
                throw PerformError.timeOver
            }
            state = block.state
        }
        switch state {
        case .done:
            // The result is written before the state.
            guard let result = outcome.result else { preconditionFailure("a perform ended without a result") }
            return try result.get()
        case .running: throw PerformError.timeOverWhileRunning
        case .abandoned: throw PerformError.abandoned
        case .dropped, .cancelled, .pending: throw PerformError.threadEnded
        }
    }

    /// The result or error of a closure.
    ///
    /// Written on the loop's thread before the state of the block; the waiter reads it after the state.
    private final class Outcome<Value: Sendable>: @unchecked Sendable {
        var result: Result<Value, any Error>?
    }

    /// Queues a block and wakes the loop; ends the block if the loop no longer accepts any.
    @discardableResult
    @inline(__always)
    private func post(_ block: QueuedBlock) -> Perform {
        if queue(block) {
            noteWorkOfNestedRun()
            wakeUp()
        } else {
            block.drop()
        }
        return Perform(block: block, timer: nil)
    }

    /// Records that a nested run's own callout left work for the loop; called after leaving the work and before waking the loop.
    ///
    /// If the nested run is past its wait, that wake-up is dropped, and the run around it may sleep next.
    @inline(__always)
    func noteWorkOfNestedRun() {
        if runs.isNested { waker.noteForeignWork(unless: false) }
    }

    /// Runs a closure now, as a callout of its own, and returns how it ended: done or abandoned.
    ///
    /// Called on the loop's own thread, inside or outside a callout.
    @discardableResult
    func performNow(label: String, _ body: @escaping @Sendable () -> Void) -> Perform.State {
        requireOwnProcess(to: "perform on")
        let block = QueuedBlock(label: label, modes: .usual, body)
        // As in a run: inside a callout, a fault in our own code must not resume at that callout's recovery point.
        let suspended = unsafe hf_recovery_suspend()
        let outerRun = hf_recovery_begin_run()
        defer {
            hf_recovery_end_run(outerRun)
            unsafe hf_recovery_restore(suspended)
        }
        let mode = lock.withLock { runs.mode ?? loopMode(creating: .default) }
        let wasIdle = progress.begin()
        _ = block.begin()
        callOut(to: block, in: mode)
        block.finish()
        if wasIdle { progress.end() }
        return block.state
    }

    /// Ends the process if there is no mode, because the block would never run.
    func requireModes(_ modes: Set<Mode>) {
        guard !modes.isEmpty else {
            fatalError("a perform needs at least one mode to run in, such as .default or .common")
        }
    }
}

/// Performing after a delay, and cancelling by target.
extension HostRunLoop {
    /// Runs a closure once, on the loop's thread, some time from now.
    ///
    /// It uses a timer that fires once, in whichever of the modes runs first after the delay, and never early. Until then it keeps
    /// its modes from being empty. A sleeping loop needs no wake-up for it. Callable from any thread.
    ///
    /// - Parameters:
    ///   - delay: The time from now; zero or less means the next time that the loop fires timers.
    ///   - modes: At least one mode; may include `.common`.
    ///   - target: An object by which `cancelPerforms(for:)` finds it; kept alive until the perform has run or was cancelled.
    ///   - label: The name that crash reports show for it.
    ///   - body: The closure; released without running if it is cancelled or the thread ends first.
    /// - Returns: A token to cancel it.
    @discardableResult
    public func perform(
        after delay: Duration,
        in modes: Set<Mode> = [.common],
        target: (any AnyObject & Sendable)? = nil,
        label: String = "block",
        @_inheritActorContext _ body: @escaping @Sendable @isolated(any) () -> Void
    ) -> Perform {
        requireModes(modes)
        requireOwnProcess(to: "perform on")
        require(body.isolation, for: label)
        let body = Plain.block(body)
        let block = QueuedBlock(label: label, modes: .any(modes), target: target, on: self, isDelayed: true, body)
        // The token keeps the timer and therefore this closure alive, so the closure must not hold the loop.
        let timer = Timer(label: label, after: delay) { _ in
            guard block.begin() else { return }
            HostRunLoop.current.unlist(block)
            block.body()
        }
        timer.delayedBlock = block
        let perform = Perform(block: block, timer: timer)
        let isListed = lock.withLock {
            guard !self.modes.isClosed else { return false }
            blocks.list(perform)
            return true
        }
        guard isListed else {
            block.drop()
            return perform
        }
        for mode in modes {
            add(timer, to: mode)
        }
        return perform
    }

    /// Cancels all performs of a target that do not run yet: queued and delayed ones, in all modes.
    ///
    /// Callable from any thread.
    ///
    /// - Parameter target: The target, compared by identity.
    /// - Returns: How many performs this call kept from running.
    @discardableResult
    public func cancelPerforms(for target: AnyObject) -> Int {
        guard !isInheritedByFork else { return 0 }
        let identity = ObjectIdentifier(target)
        let performs = lock.withLock { blocks.performs(of: identity) }
        return performs.count { $0.cancel() }
    }

    /// Removes a perform that runs now or will never run from the list.
    func unlist(_ block: QueuedBlock) {
        // Released after unlocking.
        _ = lock.withLock { blocks.unlist(block) }
    }
}

extension HostRunLoop {
    /// Runs a closure on a new thread, which ends when the closure returns.
    ///
    /// As with `performSelectorInBackground`, the thread belongs to nobody else and has a loop of its own: the closure may add
    /// items to `HostRunLoop.current` and run it. A pool would not do: its threads must not block in a run, and they would keep the
    /// loop for their next user. The closure is a callout of that loop: a fault in it can be abandoned and ends only this thread.
    /// Callable from any thread.
    ///
    /// - Parameters:
    ///   - label: The name that crash reports show for it, and the thread's name, of which the first 15 bytes count.
    ///   - body: The closure.
    /// - Throws: The error of pthread_create(3): `EAGAIN` when there is no room for another thread.
    public static func performInBackground(
        label: String = "background",
        _ body: @escaping @Sendable () -> Void
    ) throws(Errno) {
        // Nobody joins the thread: it is detached when the handle is released.
        _ = try NativeThread(name: label) {
            HostRunLoop.current.performNow(label: label, body)
        }
    }
}
