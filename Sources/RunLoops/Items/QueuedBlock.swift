import CRecoveryPoint
import Synchronization

/// A closure that runs once, in the next run of a matching mode.
final class QueuedBlock: Sendable {
    /// In which modes it may run.
    enum Target: Sendable {
        case one(HostRunLoop.Mode)
        case any(Set<HostRunLoop.Mode>)
    }

    let identifier = ItemIdentifier.next()
    let name: CName
    let target: Target
    let body: @Sendable () -> Void

    init(label: String, target: Target, body: @escaping @Sendable () -> Void) {
        name = label == "block" ? CName.interned("block") : CName(label)
        self.target = target
        self.body = body
    }

    /// Says whether it may run in a mode.
    func matches(_ mode: HostRunLoop.Mode, isCommon: Bool) -> Bool {
        switch target {
        case .one(let wanted): wanted == mode || (wanted == .common && isCommon)
        case .any(let wanted): wanted.contains(mode) || (wanted.contains(.common) && isCommon)
        }
    }
}

extension HostRunLoop {
    /// Runs a closure once, on the loop's thread, in the next run of a mode.
    ///
    /// Closures run in the order in which they were queued. Callable from any thread; does not wake the loop.
    ///
    /// - Parameters:
    ///   - mode: The mode, or `.common` for whichever common mode runs first.
    ///   - label: What a crash report calls it.
    ///   - block: The closure; released unrun if the thread ends before.
    public func perform(
        in mode: Mode = .default,
        label: String = "block",
        _ block: @escaping @Sendable () -> Void
    ) {
        enqueue(QueuedBlock(label: label, target: .one(mode), body: block), creating: [mode])
    }

    /// Runs a closure once, on the loop's thread, in the next run of any of some modes.
    ///
    /// Callable from any thread; does not wake the loop.
    ///
    /// - Parameters:
    ///   - modes: The modes, `.common` among them if wanted.
    ///   - label: What a crash report calls it.
    ///   - block: The closure; released unrun if the thread ends before.
    public func perform(
        inAnyOf modes: Set<Mode>,
        label: String = "block",
        _ block: @escaping @Sendable () -> Void
    ) {
        guard !modes.isEmpty else { return }
        enqueue(QueuedBlock(label: label, target: .any(modes), body: block), creating: modes)
    }

    private func enqueue(_ block: QueuedBlock, creating names: Set<Mode>) {
        lock.withLock {
            guard !isTornDown else { return }
            // As in CFRunLoop (CFRunLoop.c:3485), except that the pseudo mode never becomes a real one.
            for name in names where name != .common && modes[name] == nil {
                _ = loopMode(creating: name)
            }
            blocks.append(block)
            blockCount.store(blocks.count, ordering: .releasing)
        }
    }

    /// Runs the matching blocks that are queued now, in order, and says whether there were any.
    ///
    /// Blocks that are queued meanwhile wait for the next time; those that do not match keep their place in front of
    /// them (CFRunLoop.c:2029).
    @discardableResult
    func performBlocks(in mode: LoopMode) -> Bool {
        guard blockCount.load(ordering: .acquiring) > 0 else { return false }
        // The detached queue is this thread's own: what a nested run detaches goes into another array.
        var detached = spareBlocks
        spareBlocks = []
        lock.withLock {
            swap(&detached, &blocks)
            blockCount.store(0, ordering: .releasing)
        }
        var kept: [QueuedBlock] = []
        var performed = false
        // From the end, so that each block is released as soon as it has run.
        detached.reverse()
        while let block = detached.popLast() {
            // Asked for each: an earlier block may have declared the mode common.
            guard block.matches(mode.name, isCommon: lock.withLock { commonModes.contains(mode.name) }) else {
                kept.append(block)
                continue
            }
            callOut(to: block, in: mode)
            performed = true
        }
        spareBlocks = detached
        if !kept.isEmpty {
            putBack(kept)
        }
        return performed
    }

    private func putBack(_ kept: [QueuedBlock]) {
        let unwanted = lock.withLock { () -> [QueuedBlock] in
            guard !isTornDown else { return kept }
            blocks.insert(contentsOf: kept, at: 0)
            blockCount.store(blocks.count, ordering: .releasing)
            return []
        }
        // Released here, after unlocking.
        _ = unwanted
    }

    /// Says whether a queued block may run in a mode.
    func hasBlocks(for mode: LoopMode) -> Bool {
        guard blockCount.load(ordering: .acquiring) > 0 else { return false }
        return lock.withLock {
            let isCommon = commonModes.contains(mode.name)
            return blocks.contains { $0.matches(mode.name, isCommon: isCommon) }
        }
    }
}
