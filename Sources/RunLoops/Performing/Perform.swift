extension HostRunLoop {
    /// A closure that was given to a loop to run once: a token to cancel it and to ask what became of it.
    ///
    /// It keeps neither the closure nor the target nor the loop once the perform has ended. Callable from any thread.
    public struct Perform: Sendable {
        /// What became of a perform.
        public enum State: UInt8, Sendable, Hashable {
            /// It waits for its turn.
            case pending
            /// It runs now.
            case running
            /// It has run.
            case done
            /// It was cancelled before it ran.
            case cancelled
            /// It faulted, and its callout was abandoned.
            case abandoned
            /// The loop's thread ended before it ran.
            case dropped
        }

        let block: QueuedBlock
        /// What it waits for, if it was to run after a delay.
        let timer: Timer?

        /// The identity of the perform, unique in the process.
        ///
        /// It is what `AbandonedCallout.item` names, except for one that was to run after a delay: there it is its timer.
        public var identifier: UInt64 { timer?.identifier ?? block.identifier }

        /// What a crash report calls it.
        public var label: String { block.name.text }

        /// What became of it so far.
        public var state: State {
            // Asked first: a callout that came to its end wrote the state before its timer was over.
            let isTimerOver = timer.map { !$0.isValid } ?? false
            let state = block.state
            return state == .running && isTimerOver ? .abandoned : state
        }

        /// Cancels it if it does not run yet, also one whose turn comes later in this very pass.
        ///
        /// The closure and the target are released now, on the calling thread.
        ///
        /// - Returns: Whether it will not run because of this call.
        @discardableResult
        public func cancel() -> Bool {
            guard block.cancel() else { return false }
            timer?.invalidate()
            return true
        }
    }
}
