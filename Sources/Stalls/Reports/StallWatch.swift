package import CrashCapture
package import CrashReports
package import Logging
package import RunLoops
package import SystemPackage

/// What a host uses to watch for stalls.
package struct StallWatch: Sendable {
    package let monitor: StallMonitor
    package let reporter: StallReporter
    package let ticks: TickMonitor?

    /// Prepares to watch a loop.
    package init(
        _ policy: StallPolicy,
        telling handlers: StallHandlers,
        on loop: HostRunLoop,
        capture: CrashCapture,
        capturesThreads: Bool,
        store: ReportStore?,
        logger: Logger,
        abandonedItems: AbandonedItems,
        dumpTasks: @escaping @Sendable () -> TaskDump? = { nil }
    ) throws(Errno) {
        let herald = StallHerald(handlers, logger)
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
            capturesThreads: capturesThreads,
            abandonedItems: abandonedItems,
            items: .shared,
            herald: herald,
            desk: StallDesk(store: store, capture: capture, herald: herald, dumpTasks: dumpTasks),
            statistics: { ticks?.statistics }
        )
        self.reporter = reporter
        monitor = .direct(rule: policy.rule, reporter.take(_:))
        try monitor.watch(loop)
    }

    /// Starts the threads that watch and write; they run until the process ends.
    ///
    /// Callable from any thread.
    ///
    /// - Throws: The error of pthread_create(3).
    package func start() throws(Errno) {
        try reporter.start()
        try StallMonitor.startThreads()
    }

    /// Stops watching, and brings the reports up to date.
    ///
    /// Watching stops first: while the process ends, pinged queues cannot answer.
    package func stop() {
        monitor.stop()
        ticks?.stop()
        _ = reporter.settle(before: .now.advanced(by: .seconds(5)))
    }
}
