import CRecoveryPoint
import Synchronization

/// The queue of blocks: performs, and plain blocks, which do not wake the loop.
extension HostRunLoop {
    /// Runs a closure once, on the loop's thread, in the next run of a mode; does not wake the loop for it.
    ///
    /// Use it if you wake the loop anyway, or if you add to a running pass: there is no token, and mostly no allocation. It is the
    /// counterpart of `CFRunLoopPerformBlock`. Closures run in the order in which they were queued, together with those of
    /// `perform(in:order:target:label:_:)`. Callable from any thread.
    ///
    /// - Parameters:
    ///   - mode: The mode, or `.common` for the common mode that runs first.
    ///   - label: The name that crash reports show for it.
    ///   - block: The closure; released without running if the thread ends first.
    public func performWithoutWaking(
        in mode: Mode = .common,
        label: String = "block",
        @_inheritActorContext _ block: __owned @escaping @Sendable @isolated(any) () -> Void
    ) {
        let isForCommonModes = PlainBlock.isForCommonModes(label: label, mode: mode)
        // The only use of the closure, so that nothing counts references to it.
        let closure = KeptClosure(BlockClosure(closure: consume block))
        let plain = PlainBlock(closure: closure, isForCommonModes: isForCommonModes ?? false)
        require(plain.closure.with(BlockClosure.self) { $0.closure.isolation }, for: label)
        guard isForCommonModes != nil else {
            let body = plain.closure.with(PlainBlockClosure.self) { $0.closure }
            queue(QueuedBlock(label: label, modes: .init(mode), body))
            return
        }
        requireOwnProcess(to: "queue a block on")
        if enqueue(.plain(plain)) { noteForeignWork() }
    }

    /// The same, in the next run of any of several modes.
    ///
    /// - Parameters:
    ///   - modes: The modes, which may include `.common`; without any mode the block never runs.
    ///   - label: The name that crash reports show for it.
    ///   - block: The closure; released without running if the thread ends first.
    package func performWithoutWaking(
        inAnyOf modes: Set<Mode>,
        label: String = "block",
        _ block: @escaping @Sendable () -> Void
    ) {
        guard !modes.isEmpty else { return }
        queue(QueuedBlock(label: label, modes: .any(modes), block))
    }

    /// Appends a block to the queue; returns whether the loop still accepts blocks.
    ///
    /// It is enough to wake the loop after this: if that wake-up is dropped, the loop has yet to look at the queue.
    @discardableResult
    func queue(_ block: QueuedBlock) -> Bool {
        requireOwnProcess(to: "queue a block on")
        defer { noteForeignWork() }
        if block.order == 0, !block.isListed {
            switch block.modes {
            case .usual, .common: return enqueue(.object(block))
            case .one, .any: break
            }
        }
        return lock.withLock {
            guard !modes.isClosed else { return false }
            // As in CFRunLoop (CFRunLoop.c:3485), except that the pseudo mode `.common` never becomes a real mode.
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
            blocks.append(block)
            return true
        }
    }

    /// Appends a block that needs nothing but a place; returns whether the loop still accepts blocks.
    @inline(__always)
    private func enqueue(_ block: consuming BlockEntry) -> Bool {
        hf_critical_enter()
        guard let place = blocks.claim() else {
            hf_critical_leave()
            return enqueueWithLock(block)
        }
        place.fill(with: block)
        hf_critical_leave()
        return true
    }

    @inline(never)
    private func enqueueWithLock(_ block: consuming BlockEntry) -> Bool {
        lock.lock()
        guard !modes.isClosed else {
            blocks.refuse()
            lock.unlock()
            // Released here, after unlocking.
            return false
        }
        blocks.claimWithLock().fill(with: block)
        lock.unlock()
        return true
    }

    // MARK: On the loop's thread

    /// Runs the matching blocks that are queued now, in order; returns whether there were any.
    ///
    /// Blocks that are queued meanwhile wait for the next time. Blocks that do not match stay in front of them (CFRunLoop.c:2029).
    @inline(__always)
    @discardableResult
    func performBlocks(in mode: LoopMode) -> Bool {
        stopIfAllRunsEnd()
        return blocks.isEmpty ? false : performQueuedBlocks(in: mode)
    }

    @inline(never)
    private func performQueuedBlocks(in mode: LoopMode) -> Bool {
        let isUsual = mode.name == .default
        var isCommon = isUsual
        // The detached queue belongs to this call: a nested run detaches its blocks into another list.
        var detached = BlockList()
        swap(&detached, &spareBlocks)
        var isOrdered = false
        let isAnyMatching = lock.withLock { () -> Bool in
            isCommon = isUsual || modes.isCommon(mode.name)
            // Blocks for other modes cost a pass only this check.
            guard blocks.isAnyMatching(mode, isUsual: isUsual, isCommon: isCommon) else { return false }
            isOrdered = blocks.detach(into: &detached)
            return true
        }
        guard isAnyMatching else {
            swap(&detached, &spareBlocks)
            return false
        }
        if isOrdered {
            detached.sort()
        }
        var kept = BlockList()
        var performed = false
        var hasRunSinceAsked = false
        // Taken one by one, so that each block is released as soon as it has run. Each path has one use of the block, so that nothing
        // counts references.
        while let block = detached.popFirst() {
            if !isUsual, !isCommon, hasRunSinceAsked, block.dependsOnCommon {
                // An earlier block may have declared the mode common.
                isCommon = lock.withLock { modes.isCommon(mode.name) }
                hasRunSinceAsked = false
            }
            switch consume block {
            case .plain(let block):
                guard block.matches(isUsual: isUsual, isCommon: isCommon) else {
                    kept.append(.plain(block))
                    continue
                }
                callOut(to: block, in: mode)
            case .object(let block):
                guard block.matches(mode, isUsual: isUsual, isCommon: isCommon) else {
                    // One that was cancelled is counted no more.
                    if block.isPending { kept.append(.object(block)) }
                    continue
                }
                // A cancelled block does not count: nothing has run.
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
        swap(&detached, &spareBlocks)
        if !kept.isEmpty {
            putBack(&kept)
        }
        // A run nested in one of the blocks may have consumed the wake-up.
        stopIfAllRunsEnd()
        return performed
    }

    private func putBack(_ kept: inout BlockList) {
        lock.withLock {
            if !modes.isClosed { blocks.putBack(&kept) }
        }
        // If the thread ends, they are still there.
        while let block = kept.popFirst() { block.drop() }
    }

    // MARK: Checking and cancelling

    /// Returns whether a queued block may run in a mode.
    func hasBlocks(for mode: LoopMode) -> Bool {
        guard !blocks.isEmpty else { return false }
        return lock.withLock {
            let isUsual = mode.name == .default
            let isCommon = isUsual || modes.isCommon(mode.name)
            return blocks.isAnyMatching(mode, isUsual: isUsual, isCommon: isCommon)
        }
    }

    /// Records that a block was cancelled.
    func noteCancelled(_ block: QueuedBlock) {
        guard !isInheritedByFork else { return }
        if block.isListed {
            unlist(block)
        }
        guard !block.isDelayed else { return }
        // Released after unlocking.
        var swept = BlockList()
        lock.withLock { blocks.noteCancelled(&swept) }
    }
}
