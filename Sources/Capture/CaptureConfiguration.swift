internal import CCrashCapture

extension CrashCapture {
    /// The settings of capture.
    package struct Configuration: Sendable {
        /// The folder for the spool file; made 0700 if it is not there.
        ///
        /// Its parent must exist.
        package var spoolFolder: String
        /// Whether capture fails if the spool file cannot be made; if not, records are kept in memory, and lost with the process.
        package var requiresSpool = true
        /// How long ago the process began to start: it may have waited since.
        package var elapsed = Duration.zero
        /// How long a parked thread waits for its verdict.
        ///
        /// It waits twice as long if the crash thread is not asleep when the time is up: then no lock blocks that thread, it is only slow.
        package var deadline: Duration
        /// What is done if no verdict came in time; never `.resume`.
        package var verdictAtDeadline: Verdict
        /// How long a fault of another thread lets the main loop drain before the process is restarted.
        package var drainDeadline: Duration
        /// The status that the process exits with instead of being restarted; nil for a restart in place.
        package var exitCode: CInt?
        /// Signals that the process before this one held back for it, as bits.
        package var heldSignals: UInt64
        /// How often this process was restarted in place so far.
        package var restarts: Int
        /// Whether reports have the other threads of the process, too.
        ///
        /// They are sampled by SIGSTKFLT, which the program then cannot use.
        package var capturesThreads: Bool
        /// Whether reports have memory contents: of the stack, and near the registers.
        package var capturesMemory: Bool
        /// The limits of the store, for the process that finishes this one's records.
        package var storeLimits = StoreLimits()
        /// Holdfast's own version, for reports.
        package var version: String
        /// Returns what records may tell of the arguments; gets all of them, the program's name first.
        package var tellingArguments: @Sendable ([[UInt8]]) -> [[UInt8]] = { $0 }
        /// What reports may tell of the environment, and how texts are redacted.
        package var told = ToldContext()

        /// Makes a configuration.
        package init(
            spoolFolder: String,
            deadline: Duration = .seconds(2),
            verdictAtDeadline: Verdict = .restart,
            drainDeadline: Duration = .seconds(5),
            exitCode: CInt? = nil,
            heldSignals: UInt64 = 0,
            restarts: Int = 0,
            capturesThreads: Bool = true,
            capturesMemory: Bool = false,
            version: String
        ) {
            self.spoolFolder = spoolFolder
            self.deadline = deadline
            self.verdictAtDeadline = verdictAtDeadline
            self.drainDeadline = drainDeadline
            self.exitCode = exitCode
            self.heldSignals = heldSignals
            self.restarts = restarts
            self.capturesThreads = capturesThreads
            self.capturesMemory = capturesMemory
            self.version = version
        }
    }
}

/// The limits of a store, in the spool file, for the process that finishes these records.
package struct StoreLimits: Sendable {
    /// How many reports; nil for any number.
    package var reports: Int?
    /// How many bytes; nil for any number.
    package var bytes: Int?
    /// For how many seconds; nil for any time.
    package var ageSeconds: Int?

    /// Makes limits; nil means no limit.
    package init(reports: Int? = nil, bytes: Int? = nil, ageSeconds: Int? = nil) {
        self.reports = reports
        self.bytes = bytes
        self.ageSeconds = ageSeconds
    }

    /// Writes them into the header of a spool file.
    func write(to header: UnsafeMutablePointer<HFSpoolHeader>) {
        let words = [reports, bytes, ageSeconds].map { $0.map { UInt64(clamping: $0) + 1 } ?? .max }
        unsafe header.pointee.limit_reports = words[0]
        unsafe header.pointee.limit_bytes = words[1]
        unsafe header.pointee.limit_age_seconds = words[2]
        unsafe header.pointee.limit_check = words.reduce(UInt64(HF_LIMIT_CHECK), ^)
    }
}

/// What a spool file tells of the environment, and how texts from it are redacted.
package struct ToldContext: Sendable {
    /// The variables that may be told, as `name=value`.
    package var environment: [String] = []
    /// Rules by which texts are redacted, in the form that `TextRedaction` of CrashReports writes.
    package var redactionRules: [String] = []
    /// Bits that go with the rules.
    package var redactionFlags: UInt32 = UInt32(HF_REDACTION_BUILT_IN)

    /// Tells nothing of the environment, and has no rules but the built-in ones.
    package init() {}

    /// Writes it into the section of a fresh spool file.
    func write(to header: UnsafeMutablePointer<HFSpoolHeader>) {
        unsafe Self.withTexts(environment) { environment in
            unsafe Self.withTexts(redactionRules) { rules in
                unsafe hf_context_describe(
                    header,
                    environment.baseAddress,
                    environment.count,
                    rules.baseAddress,
                    rules.count,
                    redactionFlags
                )
            }
        }
    }

    /// The texts one after the other, each with a NUL at its end.
    private static func withTexts(_ texts: [String], _ body: (UnsafeBufferPointer<CChar>) -> Void) {
        var bytes: [CChar] = []
        for text in texts { bytes += text.utf8.map { CChar(bitPattern: $0) } + [0] }
        unsafe bytes.withUnsafeBufferPointer(body)
    }
}
