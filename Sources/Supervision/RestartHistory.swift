/// What a process knows of the restarts in place before it, carried in its environment.
public struct RestartHistory: Sendable, Hashable {
    /// How often this process was restarted in place.
    public var restarts: Int
    /// How many of the last restarts came soon after a start, without a healthy stretch between.
    public var earlyRestarts: Int
    /// Descriptors that were kept open, by name.
    public var keptDescriptors: [String: CInt]

    /// Signals that were held back for this process, as bits.
    public var heldSignals: UInt64

    /// A process that lived longer than this was healthy.
    public static let healthyAfter: Duration = .seconds(10)
    /// After so many early restarts the next fault ends the process: restarting does not help.
    public static let earlyRestartLimit = 16

    static let restartsKey = "HOLDFAST_RESTARTS"
    static let earlyKey = "HOLDFAST_EARLY_RESTARTS"
    static let keptKey = "HOLDFAST_KEPT_DESCRIPTORS"
    static let heldKey = "HOLDFAST_HELD_SIGNALS"
    static let pidKey = "HOLDFAST_PID"

    /// The variables that carry it: to be taken out of the environment once they are read.
    public static let variables = [restartsKey, earlyKey, keptKey, heldKey, pidKey]

    /// The history of a process that was not restarted.
    public static let none = RestartHistory(restarts: 0, earlyRestarts: 0, keptDescriptors: [:])

    init(restarts: Int, earlyRestarts: Int, keptDescriptors: [String: CInt], heldSignals: UInt64 = 0) {
        self.restarts = restarts
        self.earlyRestarts = earlyRestarts
        self.keptDescriptors = keptDescriptors
        self.heldSignals = heldSignals
    }

    /// Reads it from an environment; what is not understood counts as none.
    ///
    /// A restart in place keeps the pid. An environment that names another one was inherited from a parent, whose history is not
    /// this process's.
    public init(environment: [String: String], pid: CInt) {
        self = environment[Self.pidKey] == "\(pid)" ? RestartHistory(environment: environment) : .none
    }

    init(environment: [String: String]) {
        heldSignals = environment[Self.heldKey].flatMap { UInt64($0, radix: 16) } ?? 0
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
    ///   - holding: Signals that are held back, as bits.
    ///   - pid: The pid that the process keeps.
    /// - Returns: The environment, as `key=value`.
    public func environmentForRestart(
        base: [String],
        isHealthy: Bool,
        keeping: [String: CInt],
        holding: UInt64 = 0,
        pid: CInt
    ) -> [String] {
        var environment = base.filter { entry in !Self.variables.contains { entry.hasPrefix($0 + "=") } }
        environment.append("\(Self.pidKey)=\(pid)")
        environment.append("\(Self.heldKey)=\(String(holding, radix: 16))")
        environment.append("\(Self.restartsKey)=\(restarts + 1)")
        environment.append("\(Self.earlyKey)=\(isHealthy ? 0 : earlyRestarts + 1)")
        if !keeping.isEmpty {
            let pairs = keeping.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            environment.append("\(Self.keptKey)=\(pairs.joined(separator: ","))")
        }
        return environment
    }
}
