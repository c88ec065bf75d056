package import CrashReports

/// A fault of this process, or of an earlier one of the same executable, as far as it matters to a start.
///
/// From the environment, from the spool file or from the store: whoever reads those fills it in.
package struct PastFault: Sendable, Hashable {
    /// What was done about a fault.
    package enum Outcome: Sendable, Hashable {
        /// The callout was abandoned.
        case resumed
        /// The callout was abandoned, and its item taken out of the loop.
        case quarantined
        /// The process was replaced by a fresh one.
        case restarted
        /// The process ended.
        case terminated

        /// Whether its process ended with it.
        package var endsProcess: Bool { self == .restarted || self == .terminated }
    }

    /// Which fault of its process it was, from 1.
    package var number: Int
    /// The signal's number.
    package var signal: CInt
    /// What was done about it.
    package var outcome: Outcome
    /// The label of the loop item whose callout it was, empty for none.
    package var label: String
    /// When it happened, by the real-time clock.
    package var time: Timestamp
    /// When its process began, if that is known.
    package var processStart: Timestamp?
    /// Its process; 0 if it is not known.
    package var pid: Int
    /// How far its process had come; nil if that is not known.
    package var phase: ProcessPhase?
    /// Whether the item was in the main loop before the run, with a label that no other item had.
    ///
    /// Only such an item can be told apart in the next process.
    package var isOfStartItem: Bool

    /// Makes a fault.
    package init(
        number: Int,
        signal: CInt,
        outcome: Outcome,
        label: String,
        time: Timestamp,
        processStart: Timestamp? = nil,
        pid: Int = 0,
        phase: ProcessPhase? = nil,
        isOfStartItem: Bool = false
    ) {
        self.number = number
        self.signal = signal
        self.outcome = outcome
        self.label = label
        self.time = time
        self.processStart = processStart
        self.pid = pid
        self.phase = phase
        self.isOfStartItem = isOfStartItem
    }

    /// Whether two are the same fault, read from two places.
    func isSame(as other: PastFault) -> Bool {
        time == other.time && number == other.number && signal == other.signal
    }

    /// Whether two are faults of one process; one that is not known is another each time.
    func hasSameProcess(as other: PastFault) -> Bool {
        guard let processStart, let start = other.processStart else { return false }
        return processStart == start && pid == other.pid
    }
}
