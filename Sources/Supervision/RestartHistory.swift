/// What a process knows of the restarts in place before it, carried in its environment.
public struct RestartHistory: Sendable, Hashable {
    /// How often this process was restarted in place.
    public var restarts: Int
    /// How many of the last restarts came soon after a start, without a healthy stretch between.
    public var earlyRestarts: Int
    /// Descriptors that were kept open, by name.
    public var keptDescriptors: [String: CInt]

    /// A process that lived longer than this was healthy.
    public static let healthyAfter: Duration = .seconds(10)
    /// After so many early restarts the next fault ends the process: restarting does not help.
    public static let earlyRestartLimit = 16

    static let restartsKey = "HOLDFAST_RESTARTS"
    static let earlyKey = "HOLDFAST_EARLY_RESTARTS"
    static let keptKey = "HOLDFAST_KEPT_DESCRIPTORS"

    /// The history of a process that was not restarted.
    public static let none = RestartHistory(restarts: 0, earlyRestarts: 0, keptDescriptors: [:])

    init(restarts: Int, earlyRestarts: Int, keptDescriptors: [String: CInt]) {
        self.restarts = restarts
        self.earlyRestarts = earlyRestarts
        self.keptDescriptors = keptDescriptors
    }

    /// Reads it from an environment; what is not understood counts as none.
    public init(environment: [String: String]) {
        restarts = Self.count(environment[Self.restartsKey])
        earlyRestarts = Self.count(environment[Self.earlyKey])
        keptDescriptors = [:]
        for pair in environment[Self.keptKey]?.split(separator: ",") ?? [] {
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, let number = CInt(parts[1]), number > 2 else { continue }
            keptDescriptors[String(parts[0])] = number
        }
    }

    /// A number that can still be counted up, whatever the environment says.
    private static func count(_ text: String?) -> Int {
        min(max(0, text.flatMap(Int.init) ?? 0), Int.max - 1)
    }

    /// Whether the process is in a crash loop, so that it must not be restarted again.
    public var isCrashLoop: Bool { earlyRestarts >= Self.earlyRestartLimit }

    /// The environment that a restart begins with.
    ///
    /// - Parameters:
    ///   - base: The environment of this process, as `key=value`.
    ///   - isHealthy: Whether this process lived long enough.
    ///   - keeping: Descriptors that stay open, by name.
    /// - Returns: The environment, as `key=value`.
    public func environmentForRestart(
        base: [String],
        isHealthy: Bool,
        keeping: [String: CInt]
    ) -> [String] {
        let own = [Self.restartsKey, Self.earlyKey, Self.keptKey]
        var environment = base.filter { entry in !own.contains { entry.hasPrefix($0 + "=") } }
        environment.append("\(Self.restartsKey)=\(restarts + 1)")
        environment.append("\(Self.earlyKey)=\(isHealthy ? 0 : earlyRestarts + 1)")
        if !keeping.isEmpty {
            let pairs = keeping.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            environment.append("\(Self.keptKey)=\(pairs.joined(separator: ","))")
        }
        return environment
    }
}
