/// Performing after a delay, and cancelling by target.
extension HostRunLoop {
    /// Runs a closure once, on the loop's thread, some time from now.
    ///
    /// It is a timer that fires once, in whichever of the modes runs first then, and never early; until then it keeps its
    /// modes from being empty. A loop that sleeps needs no wake-up for it. Callable from any thread.
    ///
    /// - Parameters:
    ///   - delay: How long from now; zero or less means the next time that the loop fires timers.
    ///   - modes: At least one mode, `.common` among them if wanted.
    ///   - target: What `cancelPerforms(for:)` knows it by; kept alive until it has run or was cancelled.
    ///   - label: What a crash report calls it.
    ///   - body: The closure; released unrun if it is cancelled or the thread ends before.
    /// - Returns: A token to cancel it.
    @discardableResult
    public func perform(
        after delay: Duration,
        in modes: Set<Mode> = [.default],
        target: (any AnyObject & Sendable)? = nil,
        label: String = "block",
        _ body: @escaping @Sendable () -> Void
    ) -> Perform {
        requireModes(modes)
        requireOwnProcess(to: "perform on")
        let block = QueuedBlock(label: label, modes: .any(modes), target: target, on: self, isDelayed: true, body)
        // The token keeps the timer, and so this closure: it must not hold the loop.
        let timer = Timer(label: label, after: delay) { _ in
            guard block.begin() else { return }
            HostRunLoop.current.unlist(block)
            block.body()
        }
        timer.delayedBlock = block
        let perform = Perform(block: block, timer: timer)
        let isListed = lock.withLock {
            guard !isTornDown else { return false }
            listedPerforms.insert(perform)
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

    /// Cancels all performs of a target that do not run yet, queued and delayed ones, in all modes.
    ///
    /// Callable from any thread.
    ///
    /// - Parameter target: The target, compared by identity.
    /// - Returns: How many will not run because of this call.
    @discardableResult
    public func cancelPerforms(for target: AnyObject) -> Int {
        guard !isInheritedByFork else { return 0 }
        let identity = ObjectIdentifier(target)
        let performs = lock.withLock { listedPerforms.performs(of: identity) }
        return performs.count { $0.cancel() }
    }

    /// Forgets a perform that runs now or will never run.
    func unlist(_ block: QueuedBlock) {
        // Released after unlocking.
        _ = lock.withLock { listedPerforms.remove(block) }
    }
}
