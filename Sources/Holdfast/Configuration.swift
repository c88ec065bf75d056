public import CrashCapture
public import CrashReports
public import Logging
public import StallDetection

extension EventHost {
    /// The settings of a host: begin with a preset, and change what differs.
    ///
    /// ```swift
    /// var configuration = EventHost.Configuration.conservative
    /// configuration.store = "/var/lib/agent/reports"
    /// ```
    ///
    /// The fields of recovery are in the order in which things happen. A fault is *resumed* if `recoveryPolicy` allows it. `budget` limits
    /// how many faults are resumed: an item that exceeds it is *quarantined*, a process *restarts*. `afterResume` says what follows a fault
    /// that was resumed, and `restart` what follows any other. If processes end early again and again, the next one waits, then serves in
    /// *safe mode*, and after `givesUpAfter` ends gives up.
    public struct Configuration: Sendable {
        /// Resumes faults that show that nothing else was touched, then restarts in place as soon as nothing would be lost: the default.
        public static var conservative: Configuration { Configuration() }

        /// Resumes the same faults, and goes on within the budget: for agents whose state in memory matters more than a clean state.
        public static var keepServing: Configuration {
            var configuration = Configuration()
            configuration.afterResume = .keepServing
            return configuration
        }

        /// Resumes nothing and restarts nothing: a fault is reported, and ends the process by its signal, as without Holdfast.
        public static var captureOnly: Configuration {
            var configuration = Configuration()
            configuration.recoveryPolicy = .never
            configuration.restart = .never
            configuration.advanced.earlyEnds = nil
            return configuration
        }

        /// The path of the store for reports; nil for the default one (`ReportStore.defaultPath`).
        public var store: String?
        /// Which faults are resumed; an item may have a policy of its own.
        public var recoveryPolicy: RecoveryPolicy = .default
        /// How many faults are resumed, of one item and of the process.
        public var budget: FaultBudget = .default
        /// What follows a fault that was resumed.
        public var afterResume: AfterResume = .restartWhenQuiet
        /// What follows a fault that is not resumed, and how a planned restart is done.
        public var restart: Restart = .inPlace
        /// How many further early ends in safe mode make the next process give up; nil for any number.
        ///
        /// A process that gives up exits with status 125. It is the status by which a finish script of s6 prevents another start of the
        /// service (skarnet.org, s6-supervise). In a unit of systemd: `RestartPreventExitStatus=125`.
        public var givesUpAfter: Int?
        /// What is done about loops that do not go on; nil for nothing.
        ///
        /// By default the main loop is watched, and anything that holds it up for a second has a report. Watching costs nothing while the
        /// loop sleeps.
        public var stallPolicy: StallPolicy? = .default
        /// How long one callout may run before it is ended; nil for any time.
        ///
        /// It holds for the main loop and for loops that are watched. Needs `Advanced.capturesThreads`.
        public var calloutDeadline: CalloutDeadline?
        /// What records and reports may tell of the process.
        public var privacy = PrivacyPolicy()
        /// The host's log: the program's own, if it has set one up before; else standard error, with priorities if that is the journal.
        ///
        /// Each fault that is resumed has one line: what, in which function and line, in which item, and its report.
        public var logger = JournalLogHandler.standard(
            label: "holdfast",
            journal: ProcessEnvironment.value(of: "JOURNAL_STREAM")
        )
        /// Settings that few programs change.
        public var advanced = Advanced()

        /// Settings that few programs change.
        public struct Advanced: Sendable {
            /// How long an item or a process must run without a fault until earlier faults no longer count.
            ///
            /// An item that was put back after its quarantine is then forgiven. The end of a process that has lived so long is no early
            /// end. Safe mode lasts so long.
            public var healthyAfter: Duration = .seconds(60)
            /// How long an item is in quarantine, longer each time; nil for no quarantine: then its budget ends in a restart.
            public var quarantine: BackOff? = BackOff(first: .seconds(30), longest: .seconds(3600))
            /// How many early ends within a minute bring safe mode; nil for no safe mode: then nothing waits or gives up, either.
            ///
            /// An early end is that of a process that had served nothing and had not lived for `healthyAfter`.
            public var earlyEnds: Int? = 5
            /// How long a process waits before it serves, after two early ends or more.
            public var startDelay: BackOff = .restarts
            /// How long the process may drain before it is replaced.
            public var drainDeadline: Duration = .seconds(5)
            /// How long requests in fault boundaries are waited for then.
            package var requestPatience = RequestPatience()
            /// How long a thread that faulted waits for its verdict.
            ///
            /// It waits twice as long if the crash thread is not asleep when the time is up: then no lock blocks that thread, it is only
            /// slow. With more than the default, reports also wait longer for the other threads.
            public var verdictDeadline: Duration = .seconds(2)
            /// Whether the sweep after a fault also runs modes that the program has not run yet.
            ///
            /// A mode that is left out could be the broken one. But the sweep serves what is due in modes that the program runs only at
            /// certain times, as for a dialogue.
            public var sweepsUnusedModes = true
            /// Whether making a host throws if reports cannot be stored.
            ///
            /// By default the process serves without them, and says so in its log and in `EventHost.storeProblem`.
            public var requiresStore = false
            /// How much the store may hold; nil for any amount.
            ///
            /// A process that writes a report removes reports beyond the limits.
            public var reportLimits: ReportStore.Limits? = .default
            /// Whether reports have the other threads of the process, too.
            ///
            /// SIGSTKFLT asks them to stand still; the program then cannot use that signal. A system call that a signal interrupts
            /// (signal(7)) returns EINTR on a thread that is sampled.
            public var capturesThreads = true
            /// Whether reports have memory contents: 512 bytes of the stack, and 64 bytes around the address in each register.
            ///
            /// They may hold secrets.
            public var capturesMemory = false
            /// A signal by which the process logs what its tasks do, such as SIGQUIT; nil for none.
            ///
            /// The main loop takes it. `crashreport tasks` is answered even if that stands still.
            public var taskDumpSignal: CInt?
            /// The size of a callout stack in bytes.
            package var calloutStackSize = 1 << 20
            /// The size in bytes of a stack on which jobs in fault boundaries run: of addresses, of which only those in use cost memory.
            package var taskStackSize = 8 << 20
            /// How often an item is put back before it stays in quarantine for ever.
            package var quarantineTrials = Int.max
            /// How long observed signals wait until somebody runs the main loop; then they act as if they were not observed.
            package var signalPatience = Duration.seconds(10)

            init() {}
        }

        private init() {}
    }

    /// What follows a fault that was resumed.
    public struct AfterResume: Sendable, Hashable {
        enum Value: Sendable, Hashable {
            case keepServing
            case restartWhenQuiet(within: Duration)
        }

        let value: Value

        /// Go on as long as the budget lasts.
        public static let keepServing = AfterResume(value: .keepServing)
        /// Restart as soon as nothing would be lost by it, after an hour at the latest, because damage that no rule sees may remain.
        ///
        /// Nothing would be lost when nobody has taken a hold (`EventHost.hold()`), and the main loop has swept all its modes, is about to
        /// sleep, and has none of these: a port source with an open connection that is not kept (`EventHost.keepAcrossRestart`), a
        /// connection or a message of a message port, a queued block, a signalled source, a job of a task. The host does not see
        /// connections that another thread serves, nor requests that a task waits for: take a hold for them. Timers begin anew. With
        /// `Restart.exit` nothing is kept, so all connections count. When the hour is over, the process drains and restarts, whatever is
        /// open, and logs what that was.
        public static let restartWhenQuiet = AfterResume(value: .restartWhenQuiet(within: .seconds(3600)))

        /// Like `restartWhenQuiet`, with a limit of your own.
        public static func restartWhenQuiet(within limit: Duration) -> AfterResume {
            AfterResume(value: .restartWhenQuiet(within: limit))
        }
    }

    /// What follows a fault that is not resumed, and how a planned restart is done.
    public struct Restart: Sendable, Hashable {
        enum Value: Sendable, Hashable {
            case inPlace
            case exit(CInt)
            case never
        }

        let value: Value

        /// A fresh process takes this one's place, with its pid, its arguments and what was kept for it.
        public static let inPlace = Restart(value: .inPlace)
        /// A fault ends the process by its signal, and no restart is planned: for an outer supervisor that looks at signals.
        public static let never = Restart(value: .never)

        /// The process exits with this status, for an outer supervisor that starts it again.
        public static func exit(_ status: CInt) -> Restart {
            Restart(value: .exit(status & 0xff))
        }

        var verdict: Verdict { self == .never ? .terminate : .restart }

        var exitCode: CInt? {
            guard case .exit(let status) = value else { return nil }
            return status
        }
    }
}

extension EventHost.Configuration {
    /// When an item is taken out of its loop, by these settings; nil for never.
    var quarantinePolicy: QuarantinePolicy? {
        advanced.quarantine.map { times in
            QuarantinePolicy(times: times, healthyAfter: advanced.healthyAfter, trials: advanced.quarantineTrials)
        }
    }

    /// When starts are a crash loop, by these settings; nil for never.
    var crashLoopPolicy: CrashLoopPolicy? {
        advanced.earlyEnds.map { earlyEnds in
            CrashLoopPolicy(
                earlyEnds: earlyEnds,
                givesUpAfter: givesUpAfter,
                healthyAfter: advanced.healthyAfter,
                backOff: advanced.startDelay
            )
        }
    }
}
