public import CrashReports
public import RunLoops

/// What happened about a fault, as it arrives on the main loop.
public struct CrashMessage: Sendable, Hashable {
    /// What happened.
    public enum Event: Sendable, Hashable {
        /// A callout was abandoned, and its loop goes on.
        case resumed
        /// A callout or the body of a boundary was abandoned. For so long, its item is out of its loop, or the boundaries of its label are
        /// refused; nil for ever.
        case quarantined(coolDown: Duration?)
        /// Another thread faulted and stands still: the process restarts at this time at the latest, and what is healthy may be finished.
        case draining(until: HostRunLoop.Instant)
    }

    /// Which fault of the process it was, from 1.
    public var number: Int
    /// The signal's number.
    public var signal: CInt
    /// The identity of the loop item whose callout it was, 0 for none.
    public var item: UInt64
    /// The thread that faulted, as gettid(2) has it; 0 if it is not known.
    public var thread: CInt
    /// What happened.
    public var event: Event
    /// Whether it was a job of a task in a fault boundary (`withFaultBoundary`), whose caller gets a `FaultError`.
    public internal(set) var isInBoundary = false
    /// How many messages of resumed faults were left out before this one, because nobody took them in time.
    package var merged: Int

    /// Finds more to say about the fault when the message is printed.
    package var words = Words()

    /// What is known of a fault.
    package struct Known: Sendable {
        /// The line in which the log tells of it.
        package var line: String
        /// Its report; nil where reports cannot be written.
        package var report: ReportID?
        /// The label of its item, of its block or of its boundary.
        package var label: String?
    }

    /// Asks a closure, if there is one, what is known of a fault; equal to any other.
    package struct Words: Sendable, Hashable {
        /// Gives what is known, or nil; called in ordinary code, on any thread.
        package var find: (@Sendable (Int) -> Known?)?

        /// Makes one that finds nothing.
        package init(_ find: (@Sendable (Int) -> Known?)? = nil) { self.find = find }

        package static func == (_: Words, _: Words) -> Bool { true }

        package func hash(into _: inout Hasher) {}
    }

    /// Makes a message.
    package init(
        number: Int,
        signal: CInt,
        item: UInt64,
        thread: CInt = 0,
        event: Event = .resumed,
        merged: Int = 0
    ) {
        self.number = number
        self.signal = signal
        self.item = item
        self.thread = thread
        self.event = event
        self.merged = merged
    }
}

extension CrashMessage {
    /// The report of the fault, which is in the store soon afterwards; nil where reports cannot be written, and where nothing is left of the
    /// fault.
    ///
    /// One of very many equal faults is counted in an earlier report, which lists this id if it was a fault in a boundary.
    public var report: ReportID? { words.find?(number)?.report }

    /// The label of the item, of the block (`perform(label:)`) or of the boundary that faulted; nil if it had none, and where nothing is left of
    /// the fault.
    public var label: String? { words.find?(number)?.label }
}

extension CrashMessage: CustomStringConvertible {
    /// The fault in one line, as the host's log has it: what, where, in which item, and what came of it.
    ///
    /// While the report is being made, without the function and the line. Without a host, and for a fault that is only counted in the report of
    /// an equal one, with little more than the number.
    public var description: String { words.find?(number)?.line ?? plain }

    /// What the message itself says.
    package var plain: String {
        let outcome =
            switch event {
            case .resumed: "resumed"
            case .quarantined: "resumed, item quarantined"
            case .draining: "restarts the process"
            }
        return "fault \(number) \(outcome): signal \(signal)" + (thread == 0 ? "" : ", thread \(thread)")
    }
}
