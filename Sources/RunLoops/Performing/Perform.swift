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
        package var identifier: UInt64 { timer?.identifier ?? block.identifier }

        /// What a crash report calls it.
        package var label: String { block.name.text }

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

extension HostRunLoop {
    /// Why a perform that was waited for has no result.
    public enum PerformError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The time was over before it ran; it was cancelled and will not run.
        case timeOver
        /// The time was over while it ran; it goes on, and its result is lost.
        case timeOverWhileRunning
        /// The loop's thread ended before it ran.
        case threadEnded
        /// It faulted, and its callout was abandoned.
        case abandoned

        /// What happened, as a sentence.
        public var description: String {
            switch self {
            case .timeOver: "the time was over before the loop ran the perform: it was cancelled"
            case .timeOverWhileRunning: "the time was over while the perform was running: it goes on"
            case .threadEnded: "the loop's thread ended before it ran the perform"
            case .abandoned: "the perform faulted and was abandoned"
            }
        }
    }
}
