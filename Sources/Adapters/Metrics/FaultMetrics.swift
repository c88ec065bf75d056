#if Metrics
@_exported public import Holdfast
public import Metrics
internal import Synchronization

extension EventHost {
    /// Counts faults, restarts and stalls, and measures fault boundaries, with swift-metrics.
    ///
    /// | metric | kind | dimensions | what |
    /// | --- | --- | --- | --- |
    /// | `holdfast_faults_total` | counter | `outcome`: `resumed`, `quarantined`, `restart` | faults |
    /// | `holdfast_restarts` | gauge | | how often the process has replaced itself since its first start |
    /// | `holdfast_lost_bytes` | gauge | | memory that abandoned work has left behind |
    /// | `holdfast_stalls_total` | counter | | stalls that were found, each when it is |
    /// | `holdfast_boundary_duration` | timer | `boundary`, `outcome`: `ended`, `faulted` | how long bodies of boundaries took |
    ///
    /// Call it once, when the `MetricsSystem` has its factory.
    ///
    /// - Parameters:
    ///   - measuresBoundaries: Whether to time each boundary: two looks at the clock, and what the factory's timer costs.
    ///   - factory: Where the metrics go; by default the `MetricsSystem`'s.
    public func countFaults(measuresBoundaries: Bool = false, factory: (any MetricsFactory)? = nil) {
        let factory = factory ?? MetricsSystem.factory
        func counter(_ outcome: String) -> Counter {
            Counter(label: "holdfast_faults_total", dimensions: [("outcome", outcome)], factory: factory)
        }
        let (resumed, quarantined, restart) = (counter("resumed"), counter("quarantined"), counter("restart"))
        let lost = Gauge(label: "holdfast_lost_bytes", factory: factory)
        Gauge(label: "holdfast_restarts", factory: factory).record(restarts)
        onFault { [weak self] message in
            switch message.event {
            case .resumed: resumed.increment(by: 1 + message.merged)
            case .quarantined: quarantined.increment()
            case .draining: restart.increment()
            }
            if let self { lost.record(statistics.buriedBytes) }
        }
        let stalls = Counter(label: "holdfast_stalls_total", factory: factory)
        // A stall is told when it is found, again while it lasts, and when it is over: one that lasts for ever counts, too.
        let last = Mutex<UInt64>(0)
        onStall { stall in
            let isNew = last.withLock { last in
                defer { last = max(last, stall.number) }
                return stall.number > last
            }
            if isNew { stalls.increment() }
        }
        guard measuresBoundaries else { return }
        let timers = BoundaryTimers(factory)
        BoundaryHost.setObserver { boundary, duration, hasFaulted in
            timers.timer(boundary, hasFaulted).record(duration: duration)
        }
    }
}

/// A timer for each label and outcome: making one may cost a look-up under a lock.
private final class BoundaryTimers: Sendable {
    private struct Key: Hashable {
        let boundary: FaultBoundary.Label
        let hasFaulted: Bool
    }

    private let factory: any MetricsFactory
    /// Protected by its lock; not more than there are labels.
    private let timers = Mutex<[Key: Timer]>([:])

    init(_ factory: any MetricsFactory) {
        self.factory = factory
    }

    func timer(_ boundary: FaultBoundary.Label, _ hasFaulted: Bool) -> Timer {
        let key = Key(boundary: boundary, hasFaulted: hasFaulted)
        return timers.withLock { timers in
            if let timer = timers[key] { return timer }
            let outcome = hasFaulted ? "faulted" : "ended"
            let timer = Timer(
                label: "holdfast_boundary_duration",
                dimensions: [("boundary", boundary.text), ("outcome", outcome)],
                factory: factory
            )
            timers[key] = timer
            return timer
        }
    }
}
#endif
