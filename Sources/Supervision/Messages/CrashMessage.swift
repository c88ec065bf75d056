/// What happened about a fault, as it arrives on the main loop.
public struct CrashMessage: Sendable, Hashable {
    /// What happened.
    public enum Event: Sendable, Hashable {
        /// A callout was abandoned, and its loop goes on.
        case resumed
        /// A callout was abandoned, and its item must be taken out of its loop, for so long; nil for ever.
        ///
        /// `Supervisor.takeDueItem()` says when it is to be put back.
        case quarantined(coolDown: Duration?)
        /// Another thread faulted and stands still: the process restarts within so long, and what is healthy may be finished.
        case draining(within: Duration)
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
    /// How many messages of resumed faults were left out before this one, because nobody took them in time.
    public var merged: Int

    /// Makes a message.
    public init(
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
