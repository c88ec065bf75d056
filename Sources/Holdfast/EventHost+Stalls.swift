internal import CrashReports
internal import Logging
internal import RunLoops
public import Supervision
internal import SystemPackage

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
        guard stalls?.reporter.setPolicy(policy, forItem: item) != false else {
            throw ItemPolicyError(code: .full, capacity: StallReporter.itemCapacity)
        }
    }
}

/// What a host has to watch for stalls with.
struct StallWatch {
    let monitor: StallMonitor
    let reporter: StallReporter
    let ticks: TickMonitor?

    /// Watches the loop from now on.
    init(
        _ policy: StallPolicy,
        on loop: HostRunLoop,
        _ logger: Logger,
        _ makeReporter: (TickMonitor?) -> StallReporter
    ) throws(Errno) {
        ticks = policy.tick.map { period in
            TickMonitor(on: loop, every: period) { event in
                guard case .tick(let lateness, let heldUp) = event else { return }
                let details: Logger.Metadata = ["late": "\(Self.text(lateness))", "heldUp": "\(Self.text(heldUp))"]
                logger.warning("a tick was held up", metadata: details)
            }
        }
        let reporter = makeReporter(ticks)
        self.reporter = reporter
        try reporter.start()
        monitor = StallMonitor(rule: policy.rule) { reporter.take($0) }
        try monitor.watch(loop)
    }

    private static func text(_ duration: Duration) -> String {
        CrashReport.Stall.text(seconds: duration / .seconds(1))
    }

    /// Brings reports up to date: of stalls that are over as well as of those that last.
    func settle(limit: Duration) { reporter.settle(limit: limit) }

    /// Watches no more.
    func stop() {
        settle(limit: .seconds(5))
        monitor.stop()
        ticks?.stop()
    }
}
