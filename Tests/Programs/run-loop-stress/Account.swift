import Glibc
import Synchronization

/// What loops owe for one kind of operation: settled when as much was paid as is owed.
final class Account: Sendable {
    let name: String
    private let owed = Atomic<Int>(0)
    private let paid = Atomic<Int>(0)

    init(_ name: String) {
        self.name = name
    }

    func owe() { owed.add(1, ordering: .acquiringAndReleasing) }

    func pay(_ count: Int = 1) { paid.add(count, ordering: .acquiringAndReleasing) }

    var total: Int { owed.load(ordering: .acquiring) }
    var missing: Int { owed.load(ordering: .acquiring) - paid.load(ordering: .acquiring) }
}

/// A debt that is to be paid exactly once: a block, a job, a timer that fires once.
final class Debt: @unchecked Sendable {
    private enum State {
        static let open = 0
        static let paid = 1
        static let cancelled = 2
        static let paidAfterCancelling = 3
    }

    private let account: Account
    private let state = Atomic<Int>(State.open)
    /// Without protection of its own: whoever pays must be able to read what whoever made it wrote.
    private var payload: Int
    private let expected: Int

    init(_ account: Account, payload: Int) {
        self.account = account
        self.payload = payload
        expected = payload
        account.owe()
    }

    func pay() {
        let (isOpen, old) = state.compareExchange(
            expected: State.open,
            desired: State.paid,
            ordering: .acquiringAndReleasing
        )
        guard isOpen else {
            // A callout that had begun when its item was invalidated.
            guard
                old == State.cancelled,
                state.exchange(State.paidAfterCancelling, ordering: .acquiringAndReleasing) == State.cancelled
            else { Referee.fail("\(account.name): one came twice") }
            return
        }
        guard payload == expected else { Referee.fail("\(account.name): the payload is \(payload), not \(expected)") }
        // The loop's thread is the only one to touch it now.
        payload = -expected
        account.pay()
    }

    /// Gives up what is not paid yet.
    func cancel() {
        let isOpen = state.compareExchange(
            expected: State.open,
            desired: State.cancelled,
            ordering: .acquiringAndReleasing
        ).exchanged
        if isOpen { account.pay() }
    }
}

/// The signals of a source: settled when it was performed after the last one.
final class SignalAccount: Sendable {
    private let signals = Atomic<Int>(0)
    private let handled = Atomic<Int>(0)

    func willSignal() { signals.add(1, ordering: .sequentiallyConsistent) }

    /// Called at the beginning of a perform: all signals before it are one.
    func handle() {
        // Not a store: of a source that is in several loops, one thread may be late with what it saw.
        handled.max(signals.load(ordering: .sequentiallyConsistent), ordering: .sequentiallyConsistent)
    }

    /// Gives up what is not handled.
    func close() { handled.store(.max, ordering: .sequentiallyConsistent) }

    var missing: Int {
        let handled = handled.load(ordering: .sequentiallyConsistent)
        return max(0, signals.load(ordering: .sequentiallyConsistent) - handled)
    }
}
