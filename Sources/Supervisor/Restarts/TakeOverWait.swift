/// The process that serves has told the one that stands by to, and ends, while another one is ready to take over from it: the one that stood by
/// takes its place first, and hands over.
///
/// It may also go on, if the other one has ended, or does not take what it is handed. So it is looked again, for a while.
@MainActor
final class TakeOverWait {
    /// Five seconds: a process waits two for the one that stands by.
    private static let mostTries = 100

    private let call = DelayedCall()
    private var tries = 0

    /// Withdraws the process that stands by, so that nobody can tell it to serve.
    ///
    /// - Parameters:
    ///   - place: Its place.
    ///   - name: The program's name.
    ///   - again: Called a moment later if somebody has told it, but not for ever.
    /// - Returns: Whether `again` is called.
    func isNeeded(at place: StandbyPlace?, of name: String, again: @escaping @MainActor () -> Void) -> Bool {
        guard place?.withdraw() == false, tries < Self.mostTries else {
            tries = 0
            return false
        }
        tries += 1
        call.make("\(name): the next process takes over", after: .milliseconds(50), again)
        return true
    }

    /// Waits no longer: the process that was ready has ended.
    func end() {
        tries = 0
        call.cancel()
    }
}
