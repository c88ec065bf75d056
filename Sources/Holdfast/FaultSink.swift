internal import CRecordLayout
internal import CrashCapture
internal import RunLoops
internal import Synchronization

/// Takes the crash thread's decisions: the message goes to the main loop, the record to the report writer.
final class FaultSink: Sendable {
    private let supervisor: Supervisor
    /// Set once, before the first callout runs.
    ///
    /// Protected by its lock.
    private let writer = Mutex<ReportWriter?>(nil)
    /// Signalled when the main loop has begun to drain.
    let drains = Semaphore()
    /// How long that is waited for.
    private static var patience: Duration { .milliseconds(2) }

    init(supervisor: Supervisor) {
        self.supervisor = supervisor
    }

    func attach(_ writer: ReportWriter) {
        self.writer.withLock { $0 = writer }
    }

    func decided(fault: FaultSummary, decision: Decision) {
        if decision.drains {
            // The next process finishes its record: what is reported is the end of this one.
            let deadline = HostRunLoop.Instant(nanoseconds: CrashCapture.drainDeadline)
            drains.drain()
            supervisor.post(draining: fault, thread: fault.thread, until: deadline)
            // Next all threads stand still, to be looked at: before that, the main loop may end connections which nobody will answer.
            drains.wait(atMost: Self.patience)
        } else {
            supervisor.post(resumed: fault, thread: fault.thread)
        }
    }

    func succeeded() { ListenerHandover.restWhatIsNoted() }

    func asked(number: UInt32) {
        if number == HF_QUESTION_REST { return ListenerHandover.rest() }
        writer.withLock { $0 }?.ask(number)
    }

    func recorded(slot: UInt32) {
        writer.withLock { $0 }?.enqueue(slot: slot)
    }
}
