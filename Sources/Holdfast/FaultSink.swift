internal import CrashCapture
internal import Supervision
internal import Synchronization

/// Where the crash thread puts a resumed fault: the message for the main loop, the record for the report writer.
final class FaultSink: Sendable {
    private let supervisor: Supervisor
    /// Set once, before the first callout runs.
    ///
    /// Protected by its lock.
    private let writer = Mutex<ReportWriter?>(nil)

    init(supervisor: Supervisor) {
        self.supervisor = supervisor
    }

    func attach(_ writer: ReportWriter) {
        self.writer.withLock { $0 = writer }
    }

    func resumed(slot: UInt32, fault: FaultSummary) {
        supervisor.post(CrashMessage(number: Int(fault.number), signal: fault.signal, item: fault.item))
        writer.withLock { $0 }?.enqueue(slot: slot)
    }
}
