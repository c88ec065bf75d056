internal import RunLoops
internal import Synchronization

/// The deadlines of callouts: the host's, and those of some items.
///
/// Callable from any thread.
final class DeadlineTable: Sendable {
    private struct State {
        var usual: CalloutDeadline?
        var ofItems: [UInt64: CalloutDeadline] = [:]
    }

    /// Protected by its lock.
    private let state: Mutex<State>
    /// How often a callout is looked at, in nanoseconds.
    private let lookInterval: Atomic<Int64>

    init(_ usual: CalloutDeadline?) {
        let state = State(usual: usual)
        lookInterval = Atomic(Self.interval(state))
        self.state = Mutex(state)
    }

    /// The time between two looks at a loop, in nanoseconds.
    var interval: Int64 { lookInterval.load(ordering: .relaxed) }

    func set(_ deadline: CalloutDeadline?, forItem item: UInt64) {
        state.withLock { state in
            state.ofItems[item] = deadline
            lookInterval.store(Self.interval(state), ordering: .relaxed)
        }
    }

    /// The deadline that an item has of its own.
    func own(ofItem item: UInt64) -> CalloutDeadline? { state.withLock { $0.ofItems[item] } }

    /// The deadline that holds for an item.
    func deadline(ofItem item: UInt64) -> CalloutDeadline? { state.withLock { $0.ofItems[item] ?? $0.usual } }

    /// A stop of the process within a sleep of the watcher is not noticed: so none is long.
    private static func interval(_ state: State) -> Int64 {
        let shortest = state.ofItems.values.reduce(state.usual?.nanoseconds ?? .max) { min($0, $1.nanoseconds) }
        return min(shortest / 4, 100_000_000)
    }
}

extension CalloutDeadline {
    /// In nanoseconds, a millisecond at least.
    var nanoseconds: Int64 { max(after.saturatingNanoseconds, 1_000_000) }
}
