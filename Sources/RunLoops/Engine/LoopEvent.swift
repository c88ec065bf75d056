import LinuxSystem

/// A port source with an event that was harvested for it.
struct ReadyPort {
    let source: HostRunLoop.PortSource
    let token: UInt64
    let events: Epoll.Events
    /// How many port sources had left the mode by then; while this is unchanged, the source is still there.
    let departures: Int

    /// The readiness of the descriptor, as far as the source is still interested.
    var readiness: HostRunLoop.PortSource.Readiness {
        HostRunLoop.PortSource.Readiness(events, interest: source.interest)
    }

    /// Whether the descriptor is ready for anything that the source is still interested in.
    @inline(__always)
    var isReady: Bool { !HostRunLoop.PortSource.Readiness.wanted(events, source.interest).isEmpty }
}

/// The reason why a wait ended; a pass serves exactly one event.
enum LoopEvent {
    /// Nothing is ready, or the time of a run is over.
    case none
    /// The loop was woken.
    case wakeUp
    /// Timers are due.
    case timers
    /// A port source's descriptor is ready.
    case port(ReadyPort)
    /// The main dispatch queue has work.
    case mainQueue

    /// The kinds of events that take turns when they are ready together.
    enum Turn: Int {
        case wakeUp
        case timers
        case ports

        /// The kind whose turn is next.
        var next: Turn {
            switch self {
            case .wakeUp: .timers
            case .timers: .ports
            case .ports: .wakeUp
            }
        }
    }
}
