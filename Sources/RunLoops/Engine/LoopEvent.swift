import LinuxSystem

/// A port source with the event that was harvested for it.
struct ReadyPort {
    let source: HostRunLoop.PortSource
    let token: UInt64
    let events: Epoll.Events
    /// How many port sources had left the mode by then: while that is the same, this one is there.
    let departures: Int

    /// What the descriptor is ready for, as far as the source is still interested.
    var readiness: HostRunLoop.PortSource.Readiness {
        HostRunLoop.PortSource.Readiness(events, interest: source.interest)
    }
}

/// What ended a wait: exactly one thing is served per pass.
enum LoopEvent {
    /// Nothing is ready, or the time of a run is over.
    case none
    /// Somebody woke the loop.
    case wakeUp
    /// Timers are due.
    case timers
    /// A port source's descriptor is ready.
    case port(ReadyPort)
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
