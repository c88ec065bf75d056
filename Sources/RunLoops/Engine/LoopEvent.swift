import LinuxSystem

/// What ended a wait: exactly one thing is served per pass.
enum LoopEvent {
    /// Nothing is ready, or the time of a run is over.
    case none
    /// Somebody woke the loop.
    case wakeUp
    /// Timers are due.
    case timers
    /// A port source's descriptor is ready.
    case port(token: UInt64, events: Epoll.Events)
    /// The main dispatch queue has work.
    case mainQueue

    /// The kinds that can be ready together, in the order in which they take turns.
    enum Turn: Int {
        case wakeUp
        case timers
        case ports

        /// Whose turn it is after this one.
        var next: Turn {
            switch self {
            case .wakeUp: .timers
            case .timers: .ports
            case .ports: .wakeUp
            }
        }
    }
}
