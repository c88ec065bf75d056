extension HostRunLoop {
    /// Why a run ended.
    public enum RunResult: Sendable, Hashable {
        /// The mode had nothing that could ever wake it.
        case finished
        /// The run was stopped.
        case stopped
        /// The time was over.
        case timedOut
        /// A source was handled, and the run was to end after that.
        case handledSource
    }
}
