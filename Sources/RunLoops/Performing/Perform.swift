extension HostRunLoop {
    /// A token for a closure that a loop runs once, to cancel it or to ask for its state.
    ///
    /// Once the perform has ended, the token keeps neither the closure nor the target nor the loop alive. Callable from any thread.
    public struct Perform: Sendable {
        /// The state of a perform.
        public enum State: UInt8, Sendable, Hashable {
            /// It waits for its turn.
            case pending
            /// It is running now.
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
        /// The timer that it waits for, if it was to run after a delay.
        let timer: Timer?

        /// The identity of the perform, unique in the process.
        ///
        /// `AbandonedCallout.item` names it. For a delayed perform, both are the identity of its timer.
        package var identifier: UInt64 { timer?.identifier ?? block.identifier }

        /// The name that crash reports show for it.
        package var label: String { block.name.text }

        /// The present state.
        public var state: State {
            // Checked first: a callout that completes writes the state before its timer becomes invalid.
            let isTimerOver = timer.map { !$0.isValid } ?? false
            let state = block.state
            return state == .running && isTimerOver ? .abandoned : state
        }

        /// Cancels it unless it already runs, even if its turn comes later in the running pass.
        ///
        /// The closure and the target are released now, on the calling thread.
        ///
        /// - Returns: Whether this call kept it from running.
        @discardableResult
        public func cancel() -> Bool {
            guard block.cancel() else { return false }
            timer?.invalidate()
            return true
        }
    }
}

extension HostRunLoop {
    /// Why `performAndWait` has no result.
    public enum PerformError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The time limit passed before it ran; it was cancelled and will not run.
        case timeOver
        /// The time limit passed while it ran; it continues, and its result is lost.
        case timeOverWhileRunning
        /// The loop's thread ended before it ran.
        case threadEnded
        /// It faulted, and its callout was abandoned.
        case abandoned

        /// What happened, as a sentence.
        public var description: String {
            switch self {
            case .timeOver: "the time limit passed before the loop ran the perform: it was cancelled"
            case .timeOverWhileRunning: "the time limit passed while the perform was running: it continues"
            case .threadEnded: "the loop's thread ended before it ran the perform"
            case .abandoned: "the perform faulted and was abandoned"
            }
        }
    }
}
