import Holdfast
import Logging

/// What the options say about stalls, and what was measured in the end.
struct StallOptions {
    /// Without a threshold, only ticks are of interest: nothing is a stall.
    private static let never = Duration.seconds(86_400)

    /// What the host is to do; nil for nothing.
    let policy: StallPolicy?

    init(_ options: HoldfastAgent) {
        guard options.stallThreshold != nil || options.tick != nil else {
            policy = nil
            return
        }
        let threshold = options.stallThreshold.map { Duration.milliseconds($0) } ?? Self.never
        policy = StallPolicy(rule: .once(after: threshold), tick: options.tick.map { .milliseconds($0) })
    }

    /// Says how regularly the loop ticked.
    static func log(_ statistics: TickMonitor.Statistics, to logger: Logger) {
        logger.notice(
            "ticks",
            metadata: [
                "count": "\(statistics.ticks)", "missed": "\(statistics.missed)",
                "median": "\(text(statistics.lateness.quantile(0.5) ?? .zero))",
                "latest": "\(text(statistics.lateness.longest))",
                "smoothness": "\((statistics.smoothness * 10_000).rounded() / 10_000)",
                "hitchRatio": "\((statistics.hitchRatio * 100).rounded() / 100) ms/s",
            ]
        )
    }

    private static func text(_ duration: Duration) -> String {
        "\((duration / .microseconds(1)).rounded() / 1000) ms"
    }
}
