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
