/// The performs that a loop must be able to find: those with a target and those that wait for a timer.
///
/// Protected by the loop's lock. Removed performs are returned, so that they are released after unlocking.
struct ListedPerforms {
    private var byTarget: [ObjectIdentifier: [UInt64: HostRunLoop.Perform]] = [:]
    private var delayed: [UInt64: HostRunLoop.Perform] = [:]

    /// Adds a perform.
    mutating func insert(_ perform: HostRunLoop.Perform) {
        let block = perform.block
        if let target = block.targetIdentity {
            byTarget[target, default: [:]][block.identifier] = perform
        }
        if block.isDelayed {
            delayed[block.identifier] = perform
        }
    }

    /// Removes the perform of a block.
    mutating func remove(_ block: QueuedBlock) -> HostRunLoop.Perform? {
        var removed: HostRunLoop.Perform?
        if block.isDelayed {
            removed = delayed.removeValue(forKey: block.identifier)
        }
        if let target = block.targetIdentity {
            removed = byTarget[target]?.removeValue(forKey: block.identifier) ?? removed
            if byTarget[target]?.isEmpty == true {
                byTarget[target] = nil
            }
        }
        return removed
    }

    /// Returns the performs of a target, oldest first; they stay listed until they are cancelled.
    func performs(of target: ObjectIdentifier) -> [HostRunLoop.Perform] {
        byTarget[target].map { $0.sorted { $0.key < $1.key }.map(\.value) } ?? []
    }

    /// Removes all performs and returns those that wait for a timer.
    mutating func removeAll() -> [HostRunLoop.Perform] {
        let removed = delayed.values
        byTarget = [:]
        delayed = [:]
        return Array(removed)
    }
}
