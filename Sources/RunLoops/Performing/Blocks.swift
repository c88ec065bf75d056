import Synchronization

/// The queue of blocks: performs and the plain ones, which do not wake the loop.
extension HostRunLoop {
    /// Runs a closure once, on the loop's thread, in the next run of a mode, and does not wake the loop for it.
    ///
    /// It is for who wakes the loop anyway, or adds to a pass that is running: no token, and mostly no allocation. It is
    /// `CFRunLoopPerformBlock`. Closures run in the order in which they were queued, with those of `perform(in:order:target:label:_:)`.
    /// Callable from any thread.
    ///
    /// - Parameters:
    ///   - mode: The mode, or `.common` for whichever common mode runs first.
    ///   - label: What a crash report calls it.
    ///   - block: The closure; released unrun if the thread ends before.
    public func performWithoutWaking(
        in mode: Mode = .common,
        label: String = "block",
        @_inheritActorContext _ block: @escaping @Sendable @isolated(any) () -> Void
    ) {
        require(block.isolation, for: label)
        let block = Plain.block(block)
        guard let plain = PlainBlock(label: label, mode: mode, block) else {
            queue(QueuedBlock(label: label, modes: .init(mode), block))
            return
        }
        requireOwnProcess(to: "queue a block on")
        lock.lock()
        if !modes.isClosed { blocks.append(.plain(plain)) }
        lock.unlock()
        noteForeignWork()
    }

    /// The same, in the next run of any of some modes.
    ///
    /// - Parameters:
    ///   - modes: The modes, `.common` among them if wanted; with none it is never run.
    ///   - label: What a crash report calls it.
    ///   - block: The closure; released unrun if the thread ends before.
    package func performWithoutWaking(
        inAnyOf modes: Set<Mode>,
        label: String = "block",
        _ block: @escaping @Sendable () -> Void
    ) {
        guard !modes.isEmpty else { return }
        queue(QueuedBlock(label: label, modes: .any(modes), block))
    }

    /// Puts a block behind all others, and says whether the loop still takes any.
    ///
    /// Whoever wakes the loop after this needs no more: a wake-up that is dropped comes before the loop looks at the queue
    /// again. (Unlocking is a full barrier on x86-64, so that the count is visible before the wake state is read.)
    @discardableResult
    func queue(_ block: QueuedBlock) -> Bool {
        requireOwnProcess(to: "queue a block on")
        defer { noteForeignWork() }
        return lock.withLock {
            guard !modes.isClosed else { return false }
            // As in CFRunLoop (CFRunLoop.c:3485), except that the pseudo mode never becomes a real one.
            switch block.modes {
            case .usual, .common:
                break
            case .one(let name):
                _ = loopMode(creating: name)
            case .any(let names):
                for name in names where name != .common {
                    _ = loopMode(creating: name)
                }
            }
            blocks.append(.object(block))
            return true
        }
    }

    // MARK: On the loop's thread

    /// Runs the matching blocks that are queued now, in order, and says whether there were any.
    ///
    /// Blocks that are queued meanwhile wait for the next time; those that do not match keep their place in front of
    /// them (CFRunLoop.c:2029).
    @discardableResult
    func performBlocks(in mode: LoopMode) -> Bool {
        stopIfAllRunsEnd()
        guard !blocks.isEmpty else { return false }
        let isUsual = mode.name == .default
        var isCommon = isUsual
        // The detached queue is this thread's own: what a nested run detaches goes into another array.
        var detached = blocks.takeRoom()
        var isOrdered = false
        let isAnyMatching = lock.withLock { () -> Bool in
            isCommon = isUsual || modes.isCommon(mode.name)
            // Work that is put off to another mode costs a pass no more than this look.
            guard blocks.isAnyMatching(mode, isUsual: isUsual, isCommon: isCommon) else { return false }
            isOrdered = blocks.detach(into: &detached)
            return true
        }
        guard isAnyMatching else {
            blocks.giveBack(room: detached)
            return false
        }
        if isOrdered {
            detached = stablySorted(detached)
        }
        var kept: [BlockEntry] = []
        var performed = false
        var hasRunSinceAsked = false
        // From the end, so that each block is released as soon as it has run.
        detached.reverse()
        while let block = detached.popLast() {
            if !block.matches(mode, isUsual: isUsual, isCommon: isCommon) {
                if hasRunSinceAsked, !isCommon, block.dependsOnCommon {
                    // An earlier block may have declared the mode common.
                    isCommon = lock.withLock { modes.isCommon(mode.name) }
                    hasRunSinceAsked = false
                }
                guard block.matches(mode, isUsual: isUsual, isCommon: isCommon) else {
                    kept.append(block)
                    continue
                }
            }
            switch block {
            case .plain(let block):
                callOut(to: block, in: mode)
            case .object(let block):
                // One that was cancelled is not counted: nothing has run.
                guard block.begin() else { continue }
                if block.isListed {
                    unlist(block)
                }
                callOut(to: block, in: mode)
                block.finish()
            }
            performed = true
            hasRunSinceAsked = true
        }
        blocks.giveBack(room: detached)
        if !kept.isEmpty {
            putBack(kept)
        }
        // A run that was nested in one of them may have taken the wake-up.
        stopIfAllRunsEnd()
        return performed
    }

    /// Sorts by order; `sort` does not promise to keep equal ones as they are.
    private func stablySorted(_ blocks: [BlockEntry]) -> [BlockEntry] {
        blocks.enumerated()
            .sorted { ($0.element.order, $0.offset) < ($1.element.order, $1.offset) }
            .map(\.element)
    }

    private func putBack(_ kept: [BlockEntry]) {
        let isTaken = lock.withLock { () -> Bool in
            guard !modes.isClosed else { return false }
            blocks.putBack(kept)
            return true
        }
        guard !isTaken else { return }
        for block in kept {
            block.drop()
        }
    }

    // MARK: Looking and cancelling

    /// Says whether a queued block may run in a mode.
    func hasBlocks(for mode: LoopMode) -> Bool {
        guard !blocks.isEmpty else { return false }
        return lock.withLock {
            let isUsual = mode.name == .default
            let isCommon = isUsual || modes.isCommon(mode.name)
            return blocks.isAnyMatching(mode, isUsual: isUsual, isCommon: isCommon)
        }
    }

    /// Takes note that a block will not run.
    func noteCancelled(_ block: QueuedBlock) {
        guard !isInheritedByFork else { return }
        if block.isListed {
            unlist(block)
        }
        guard !block.isDelayed else { return }
        let swept = lock.withLock { blocks.noteCancelled() }
        // Released here, after unlocking.
        _ = swept
    }
}
