public import StallDetection

extension EventHost {
    /// Watches for stalls as `Configuration.stallPolicy` says, the main loop from the start; nil without a policy.
    ///
    /// Other loops, queues and actors are watched when they are given to it.
    public var stallMonitor: StallMonitor? { stallWatch?.monitor }

    /// Adds a handler that is told when a stall is found and when it is over: `Stall.phase`.
    ///
    /// It is called on a thread of its own, one call at a time, for the main loop may be what stalls. A handler that takes long delays those
    /// of other stalls. Without `Configuration.stallPolicy` nothing is watched.
    ///
    /// - Parameter handler: What is called.
    /// - Returns: What to give it up with: a call that has begun goes on.
    @discardableResult
    public func onStall(_ handler: @escaping @Sendable (Stall) -> Void) -> Observation {
        let number = stallHandlers.add(handler)
        let observation = Observation { [weak self, stallHandlers] observation in
            stallHandlers.remove(number)
            self?.stallObservations.removeAll { $0 === observation }
        }
        stallObservations.append(observation)
        return observation
    }

    /// Gives an item a policy of its own for its stalls; nil gives it the host's again.
    ///
    /// Remove it when the item is gone: there is room for 4,096 of them. Without `Configuration.stallPolicy` nothing is watched, and
    /// there is nothing to set.
    ///
    /// - Parameters:
    ///   - policy: The policy.
    ///   - item: The item's identity: `identifier` of a source, a port source, a timer or an observer.
    /// - Throws: `ItemPolicyError`.
    public func setStallPolicy(_ policy: StallPolicy.Item?, forItem item: UInt64) throws(ItemPolicyError) {
        guard item != 0 else { throw ItemPolicyError(code: .noItem) }
        guard stallWatch?.items.set(policy, forItem: item) != false else {
            throw ItemPolicyError(code: .full, capacity: StallPolicyTable.capacity)
        }
    }
}
