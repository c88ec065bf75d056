internal import Logging
internal import Synchronization

/// Whether the store can be used, as of the last attempt; says so in the log when that changes.
final class StoreHealth: Sendable {
    /// Protected by its lock.
    private let present: Mutex<StoreState>
    private let logger: Logger
    /// Why there is no store, whatever fails; nil where one was named.
    private let cause: String?

    init(cause: String?, logger: Logger) {
        present = Mutex(.usable)
        self.cause = cause
        self.logger = logger
    }

    /// What came of the last attempt.
    var state: StoreState { present.withLock { $0 } }

    /// Whether the last attempt failed.
    var isUnusable: Bool { state != .usable }

    /// Notes that something could not be written.
    ///
    /// On any thread. Where there is no store, the errors would be those of a path that nobody has named.
    func failed(_ error: String) {
        let error = cause ?? error
        let isNews = present.withLock { state in
            defer { state = .unusable(error) }
            return state != .unusable(error)
        }
        guard isNews else { return }
        logger.critical("reports cannot be stored; the process goes on without them, and tries again: \(error)")
    }

    /// Notes that something was written.
    ///
    /// On any thread.
    func worked() {
        let wasUnusable = present.withLock { state in
            defer { state = .usable }
            return state != .usable
        }
        if wasUnusable { logger.notice("reports are stored again") }
    }
}

/// Whether reports can be stored.
enum StoreState: Hashable {
    /// The store took what came last, or nothing has come yet.
    case usable
    /// It did not, or cannot be opened; with the reason, and what to do.
    ///
    /// Each report that is due is tried again.
    case unusable(String)
}

extension EventHost {
    /// Why reports cannot be stored, as of the last attempt, with what to do; nil where they can.
    ///
    /// An agent without a store serves, and its log tells of faults alone. Each report that is due is tried again. Callable from any thread.
    /// With `Configuration.Advanced.requiresStore` a host is not made without a store.
    public nonisolated var storeProblem: String? {
        if case .unusable(let reason) = storeHealth.state { reason } else { nil }
    }
}
