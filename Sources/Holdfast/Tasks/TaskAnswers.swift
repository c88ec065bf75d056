internal import CrashCapture
internal import CrashReports
internal import LinuxSystem
internal import Synchronization
internal import SystemPackage

/// Answers `crashreport tasks`: another process that asks what the tasks of this one do.
///
/// The question comes as a signal, and the answer is a file in the folder of the spool, where only the store's owner reads and writes. So a
/// process answers whose main loop and whose tasks all stand still.
final class TaskAnswers: Sendable {
    /// The number of the last question, above a bit that says that there is one.
    private let question = Atomic<UInt64>(0)

    /// The number of a question whose answer goes to the log.
    static let forLog: UInt32 = 0

    /// Takes a question.
    ///
    /// Called on the crash thread, or on any other.
    func ask(_ number: UInt32) { question.store(UInt64(number) << 1 | 1, ordering: .releasing) }

    /// Answers the last question, if there is one that has no answer.
    func answer(by dumper: TaskDumper, into store: ReportStore, log: (String) -> Void) throws {
        let question = question.exchange(0, ordering: .acquiring)
        guard question != 0, let dump = dumper.dump() else { return }
        guard UInt32(question >> 1) != Self.forLog else {
            for line in dump.lines { log(line) }
            return
        }
        let folder = try FileDirectory(at: store.spoolPath)
        let name = TaskQuestion(number: UInt32(question >> 1)).answerName
        let draft = name + TaskQuestion.draftSuffix
        let file = try folder.create(draft)
        do {
            try file.writeAll(try dump.json())
            try folder.rename(draft, to: name)
        } catch {
            try? folder.remove(draft)
            throw error
        }
    }
}
