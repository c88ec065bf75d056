public import StallDetection

extension EventHost {
    /// Watches for stalls as `Configuration.stalls` says, the main loop from the start; nil without a policy.
    ///
    /// Other loops, queues and actors are watched when they are given to it.
    public var stallMonitor: StallMonitor? { stalls?.monitor }

    /// How many stalls there were so far, without those that the policies of their items allow.
    public var stallCount: Int { stalls?.reporter.count ?? 0 }

    /// How regularly the main loop ticked so far; nil without `StallPolicy.tick`.
    public var tickStatistics: TickMonitor.Statistics? { stalls?.ticks?.statistics }

    /// Gives an item a policy of its own for its stalls; nil gives it the host's again.
    ///
    /// Remove it when the item is gone: there is room for 4,096 of them. Without `Configuration.stalls` nothing is watched, and
    /// there is nothing to set.
    ///
    /// - Parameters:
    ///   - policy: The policy.
    ///   - item: The item's identity: `identifier` of a source, a port source, a timer or an observer.
    /// - Throws: `ItemPolicyError`.
    public func setStallPolicy(_ policy: StallPolicy.Item?, forItem item: UInt64) throws(ItemPolicyError) {
        guard item != 0 else { throw ItemPolicyError(code: .noItem) }
        guard stalls?.items.set(policy, forItem: item) != false else {
            throw ItemPolicyError(code: .full, capacity: StallPolicyTable.capacity)
        }
    }
}
