import Synchronization

/// Ending every run of a loop, for a thread that is about to end.
extension HostRunLoop {
    /// How long a request may go on when its thread was told to end: an answer that is under way is received.
    private static var requestGrace: Duration { .milliseconds(200) }

    /// Ends all runs, each at the end of its present pass, and every later run after one pass.
    ///
    /// There is no way back. Not lost when the loop does not run yet. Callable from any thread.
    func endAllRuns() {
        // Before the stop: a loop that drops its wake-up looks at this again before it sleeps.
        let end = Instant.now.advanced(by: Self.requestGrace).nanoseconds
        _ = endOfRequests.compareExchange(expected: .max, desired: end, ordering: .relaxed)
        areAllRunsEnding.store(true, ordering: .sequentiallyConsistent)
        stop()
    }

    /// Stops the innermost run if all are to end: `stop()` reaches one level only, and this is where every level passes.
    @inline(__always)
    func stopIfAllRunsEnd() {
        if areAllRunsEnding.load(ordering: .acquiring) {
            stop()
        }
    }
}
