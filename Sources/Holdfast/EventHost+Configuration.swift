public import CrashCapture
public import CrashReports
public import Logging
public import StallDetection
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
        /// Restart in place as soon as nothing would be lost by it, after an hour at the latest: what no rule can see may be broken.
        ///
        /// Nothing would be lost when the main loop has swept all its modes and is about to sleep, and has: no port source with an open
        /// connection that is not kept (`EventHost.keepAcrossRestart`), no connection and no message of a message port, no queued
        /// block, no signalled source and no job of a task; and when nobody has taken a hold (`EventHost.hold()`). Connections that
        /// another thread serves, and requests that a task waits for, are not seen: take a hold for them. Timers begin anew. With
        /// `Restart.exit` nothing is kept, so all connections count. At the limit the process drains and restarts, whatever is open,
        /// and logs what that was.
        public static let restartWhenQuiet = AfterFault(value: .restartWhenQuiet(within: .seconds(3600)))
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
        /// Whether a host is not made, and the process does not start, where reports cannot be stored.
        ///
        /// By default it serves without them, and says so in its log and in `EventHost.storeState`.
        public var requiresStore = false
        /// How much the store may hold; nil for any amount.
        ///
        /// A process that writes a report removes what is too much.
        public var reportLimits: ReportStore.Limits? = .default
        /// Which faults may be resumed.
        public var policy: RecoveryPolicy = .default
        /// How many of them.
        public var budget: FaultBudget = .default
        /// What follows a fault that was resumed.
        public var afterFault: AfterFault = .restartWhenQuiet
        /// Which modes of the loop run on the way back after a fault: all that there are, unless set.
        ///
        /// That fires what is due in modes that the program runs only when it means to, as for a dialogue; `.usedModes` leaves
        /// those out that it has not run yet.
        public var sweep: ReentrySweep.Scope = .allModes
        /// When an item that keeps faulting is taken out of its loop; nil for never.
        public var quarantine: QuarantinePolicy? = .default
        /// What happens after a fault that is not resumed, or when `afterFault` plans it.
        public var restart: Restart = .inPlace
        /// How long the process may drain before it is replaced.
        public var drainDeadline: Duration = .seconds(5)
        /// When faults after each start are called a crash loop; nil for never.
        public var crashLoop: CrashLoopPolicy? = .default
        /// How long a thread that faulted waits for its verdict.
        ///
        /// It waits twice as long if the crash thread is only slow: if that does not sleep when the time is up, no lock blocks it.
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
        ///
        /// By default the main loop is watched, and what keeps it for a second has a report. That costs nothing while the loop sleeps.
        public var stalls: StallPolicy? = .default
        /// How long one callout may run before it is ended; nil for any time.
        ///
        /// It holds for the main loop, and for those that are watched (`watchDeadlines(of:)`). Needs `capturesThreads`.
        public var calloutDeadline: CalloutDeadline?
        /// The size of a callout stack in bytes.
        public var calloutStackSize = 1 << 20
        /// What records and reports may tell of the process.
        public var privacy = PrivacyPolicy()
        /// How long observed signals wait for somebody to run the main loop, before they act as if nobody observed them.
        package var signalPatience = Duration.seconds(10)
        /// Where the host logs what it does: the program's own log, if it has set one up before; else standard error, with priorities
        /// where that is the journal (`JournalLogHandler`).
        ///
        /// Each fault that is resumed has one line: what, in which function and line, in which item, and its report.
        public var logger = JournalLogHandler.standard(
            label: "holdfast",
            journal: ProcessEnvironment.values["JOURNAL_STREAM"]
        )

        /// Makes a configuration with the defaults.
        public init() {}
    }
}
