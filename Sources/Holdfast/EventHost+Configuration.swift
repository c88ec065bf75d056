public import Logging
public import Supervision
public import SystemPackage

extension EventHost {
    /// What follows a fault that was resumed.
    public struct AfterFault: Sendable, Hashable {
        enum Value: Sendable, Hashable {
            case keepGoing
            case restartWhenQuiet(within: Duration)
            case restart
        }

        let value: Value

        /// Go on as long as the budget lasts: for agents whose state in memory is worth more than their purity.
        public static let keepGoing = AfterFault(value: .keepGoing)
        /// Restart in place as soon as the host is quiet, after 30 seconds at the latest: what no rule can see may be broken.
        public static let restartWhenQuiet = AfterFault(value: .restartWhenQuiet(within: .seconds(30)))
        /// Resume nothing: every fault restarts the process in place.
        public static let restart = AfterFault(value: .restart)

        /// Like `restartWhenQuiet`, with a limit of your own.
        public static func restartWhenQuiet(within limit: Duration) -> AfterFault {
            AfterFault(value: .restartWhenQuiet(within: limit))
        }
    }

    /// What a host is made with.
    public struct Configuration: Sendable {
        /// The store for reports; nil for the default one (`ReportStore.defaultPath`).
        public var store: FilePath?
        /// Which faults may be resumed.
        public var policy: RecoveryPolicy = .default
        /// How many of them.
        public var budget: FaultBudget = .default
        /// What follows a fault that was resumed.
        public var afterFault: AfterFault = .restartWhenQuiet
        /// Whether the process is restarted in place, after a fault that is not resumed or as `afterFault` plans it.
        ///
        /// Else a fault that is not resumed ends it as the signal says, and a resumed one has no consequence.
        public var restartsInPlace = true
        /// How long a thread that faulted waits for its verdict.
        public var verdictDeadline: Duration = .seconds(2)
        /// The size of a callout stack in bytes.
        public var calloutStackSize = 1 << 20
        /// Where the host logs what it does.
        public var logger = Logger(label: "holdfast")

        /// Makes a configuration with the defaults.
        public init() {}
    }
}
