import Holdfast
import Logging
import Synchronization

/// Watches the agent's loop for callouts that take too long, as its options say.
final class StallWatch: Sendable {
    private let monitor: StallMonitor?
    private let ticks: TickMonitor?
    private let told: Told
    private let logger: Logger

    /// What the handlers count.
    private final class Told: Sendable {
        let stalls = Atomic<Int>(0)
    }

    /// How many stalls there were.
    var stalls: Int { told.stalls.load(ordering: .relaxed) }

    init?(_ options: HoldfastAgent, on loop: HostRunLoop, _ logger: Logger) throws {
        guard options.stallThreshold != nil || options.tick != nil else { return nil }
        let told = Told()
        self.told = told
        self.logger = logger
        monitor = options.stallThreshold.map { threshold in
            StallMonitor(rule: .once(after: .milliseconds(threshold))) { stall in
                if stall.phase == .lasting { told.stalls.add(1, ordering: .relaxed) }
                Self.log(stall, to: logger)
            }
        }
        ticks = options.tick.map { period in
            TickMonitor(on: loop, every: .milliseconds(period)) { event in
                guard case .tick(let lateness, let heldUp) = event else { return }
                let details: Logger.Metadata = ["late": "\(Self.text(lateness))", "heldUp": "\(Self.text(heldUp))"]
                logger.warning("a tick was held up", metadata: details)
            }
        }
        try monitor?.watch(loop)
    }

    private static func log(_ stall: Stall, to logger: Logger) {
        var details: Logger.Metadata = ["stall": "\(stall.number)", "length": "\(text(stall.length))"]
        if let activity = stall.look?.activity { details["thread"] = "\(activity)" }
        if let callout = stall.look?.callout { details["item"] = "\(callout.label)" }
        switch stall.phase {
        case .lasting: logger.warning("the loop stalls", metadata: details)
        case .over: logger.notice("the loop goes on", metadata: details)
        }
    }

    /// Ends it, and says what was measured.
    func end() {
        monitor?.stop()
        guard let ticks else { return }
        ticks.stop()
        let statistics = ticks.statistics
        logger.notice(
            "ticks",
            metadata: [
                "count": "\(statistics.ticks)", "missed": "\(statistics.missed)",
                "median": "\(Self.text(statistics.lateness.quantile(0.5) ?? .zero))",
                "latest": "\(Self.text(statistics.lateness.longest))",
                "smoothness": "\((statistics.smoothness * 10_000).rounded() / 10_000)",
                "hitchRatio": "\((statistics.hitchRatio * 100).rounded() / 100) ms/s",
            ]
        )
    }

    private static func text(_ duration: Duration) -> String {
        "\((duration / .microseconds(1)).rounded() / 1000) ms"
    }
}
