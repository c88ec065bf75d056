/// The wait of a task for what its loop brings: one task at a time, on the loop's thread.
final class TaskWait {
    private var waiter: AsyncStream<Never>.Continuation?

    /// Whether a task is waiting, and was not woken yet.
    var isPending: Bool { waiter != nil }

    /// Ends the wait, if there is one: the task then looks by itself.
    func end() {
        waiter?.finish()
        waiter = nil
    }

    /// Waits until `end()`, or until the task is cancelled.
    ///
    /// - Parameter begin: Called when the wait is pending.
    nonisolated(nonsending) func wait(_ begin: () -> Void) async {
        // A stream knows how to end a wait for what is cancelled; nothing is ever in it.
        let (wait, waiter) = AsyncStream.makeStream(of: Never.self)
        self.waiter = waiter
        begin()
        var waits = wait.makeAsyncIterator()
        await waits.next(isolation: #isolation)
        self.waiter = nil
    }
}
