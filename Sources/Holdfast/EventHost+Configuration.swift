internal import CrashCapture
public import CrashReports
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

    /// What happens where a fault is not resumed, and where a restart is planned.
    public struct Restart: Sendable, Hashable {
        enum Value: Sendable, Hashable {
            case inPlace
            case exit(CInt)
            case signal
        }

        let value: Value

        /// A fresh process takes this one's place, with its pid, its arguments and what was kept for it.
        public static let inPlace = Restart(value: .inPlace)
        /// A fault ends the process as its signal says, and nothing is planned: for an outer supervisor that looks at signals.
        public static let signal = Restart(value: .signal)

        /// The process exits with this status, for an outer supervisor that starts it again.
        public static func exit(_ status: CInt) -> Restart {
            Restart(value: .exit(status & 0xff))
        }

        var verdict: Verdict { self == .signal ? .terminate : .restart }

        var exitCode: CInt? {
            guard case .exit(let status) = value else { return nil }
            return status
        }
    }

    /// What a host is made with.
    public struct Configuration: Sendable {
        /// The store for reports; nil for the default one (`ReportStore.defaultPath`).
        public var store: FilePath?
        /// How much the store may hold: whoever writes a report removes what is too much; nil for any amount.
        public var reportLimits: ReportStore.Limits? = .default
        /// Which faults may be resumed.
        public var policy: RecoveryPolicy = .default
        /// How many of them.
        public var budget: FaultBudget = .default
        /// What follows a fault that was resumed.
        public var afterFault: AfterFault = .restartWhenQuiet
        /// When an item that keeps faulting is taken out of its loop; nil for never.
        public var quarantine: QuarantinePolicy? = .default
        /// What happens after a fault that is not resumed, or when `afterFault` plans it.
        public var restart: Restart = .inPlace
        /// How long the process may drain before it is replaced.
        public var drainDeadline: Duration = .seconds(5)
        /// When faults after each start are called a crash loop; nil for never.
        public var crashLoop: CrashLoopPolicy? = .default
        /// How long a thread that faulted waits for its verdict; twice as long where the crash thread waits for no lock.
        ///
        /// Where it is more than usual, reports wait longer for the other threads, too.
        public var verdictDeadline: Duration = .seconds(2)
        /// Whether reports have the other threads of the process, too.
        ///
        /// They are asked to stand still by SIGSTKFLT, which is then not yours to use. A system call that a signal interrupts
        /// (signal(7)) returns EINTR on a thread that is sampled.
        public var capturesThreads = true
        /// Whether reports have memory contents: 512 bytes of the stack, and 64 bytes around the address in each register.
        ///
        /// They may hold secrets.
        public var capturesMemory = false
        /// What is done about callouts that do not return and loops that do not go on; nil for nothing.
        public var stalls: StallPolicy?
        /// How long one callout may run before it is ended; nil for any time.
        ///
        /// It holds for the main loop, and for those that are watched (`watchDeadlines(of:)`). Needs `capturesThreads`.
        public var calloutDeadline: CalloutDeadline?
        /// The size of a callout stack in bytes.
        public var calloutStackSize = 1 << 20
        /// What records and reports may tell of the process.
        public var privacy = PrivacyPolicy()
        /// Where the host logs what it does.
        public var logger = Logger(label: "holdfast")

        /// Makes a configuration with the defaults.
        public init() {}
    }
}
