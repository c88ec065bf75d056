internal import CrashCapture
internal import CrashReports
internal import Logging
internal import RunLoops
internal import Supervision
internal import SystemPackage

/// What a host has to watch for stalls with.
struct StallWatch {
    let monitor: StallMonitor
    let reporter: StallReporter
    let items = StallPolicyTable()
    let ticks: TickMonitor?

    /// Watches a loop from now on.
    init(
        _ configuration: EventHost.Configuration,
        _ policy: StallPolicy,
        on loop: HostRunLoop,
        capture: CrashCapture,
        store: ReportStore,
        abandonedItems: AbandonedItems
    ) throws(Errno) {
        let herald = StallHerald(policy, configuration.logger)
        let ticks = policy.tick.map { period in
            TickMonitor(on: loop, every: period) { event in
                guard case .tick(let lateness, let heldUp) = event else { return }
                herald.tell(late: lateness, heldUp: heldUp)
            }
        }
        self.ticks = ticks
        let reporter = StallReporter(
            capture: capture,
            policy: policy,
            capturesThreads: configuration.capturesThreads,
            abandonedItems: abandonedItems,
            items: items,
            herald: herald,
            desk: StallDesk(store: store, capture: capture, herald: herald),
            statistics: { ticks?.statistics }
        )
        self.reporter = reporter
        try reporter.start()
        monitor = .direct(rule: policy.rule, reporter.take(_:))
        try monitor.watch(loop)
    }

    /// Watches no more, and brings the reports up to date.
    ///
    /// In this order: while the process ends, whoever is pinged cannot answer.
    func stop() {
        monitor.stop()
        ticks?.stop()
        _ = reporter.settle(before: .now.advanced(by: .seconds(5)))
    }
}
