import Holdfast
import Logging

/// What the options say about stalls, and what was measured in the end.
struct StallOptions {
    /// What the host is to do: its default, but for what the options say.
    let policy: StallPolicy

    init(_ options: HoldfastAgent) {
        var policy = StallPolicy.default
        if let threshold = options.stallThreshold { policy.rule = .once(after: .milliseconds(threshold)) }
        policy.tick = options.tick.map { .milliseconds($0) }
        self.policy = policy
    }

    /// Says how regularly the loop ticked.
    static func log(_ statistics: TickStatistics, to logger: Logger) {
        logger.notice(
            "ticks",
            metadata: [
                "count": "\(statistics.ticks)", "missed": "\(statistics.missed)",
                "median": "\(text(statistics.lateness(ofPart: 0.5) ?? .zero))",
                "latest": "\(text(statistics.latest))",
                "smoothness": "\((statistics.smoothness * 10_000).rounded() / 10_000)",
                "hitchRatio": "\((statistics.hitchRatio * 100).rounded() / 100) ms/s",
            ]
        )
    }

    private static func text(_ duration: Duration) -> String {
        "\((duration / .microseconds(1)).rounded() / 1000) ms"
    }
}
