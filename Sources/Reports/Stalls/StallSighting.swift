/// What was seen of a stall so far, for its report: nothing faulted, so there is no record.
package struct StallSighting: Sendable {
    /// What did not go on.
    package var stall: CrashReport.Stall
    /// How long the process had run when it was found.
    package var uptimeNanoseconds: Int64
    /// Where its thread was when it was looked at last.
    package var thread: ThreadSnapshot.Thread
    /// Where its loop was; nil if it is of no loop, or nobody could look.
    package var loop: CrashReport.LoopState?
    /// What the process was doing and had told of itself.
    package var context: FaultContext?
    /// The other threads, as far as they were looked at.
    package var others: [ThreadSnapshot.Thread]
    /// How many more there were.
    package var othersOmitted: Int
    /// What the tasks in fault boundaries did; nil if there were none.
    package var tasks: TaskDump?

    /// Takes what was seen.
    package init(
        _ stall: CrashReport.Stall,
        uptimeNanoseconds: Int64,
        thread: ThreadSnapshot.Thread,
        loop: CrashReport.LoopState?,
        context: FaultContext?,
        others: [ThreadSnapshot.Thread] = [],
        othersOmitted: Int = 0,
        tasks: TaskDump? = nil
    ) {
        self.stall = stall
        self.uptimeNanoseconds = uptimeNanoseconds
        self.thread = thread
        self.loop = loop
        self.context = context
        self.others = others
        self.othersOmitted = othersOmitted
        self.tasks = tasks
    }
}
