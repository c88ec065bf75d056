internal import Logging
internal import Synchronization

/// Whether the store can be used, as of the last attempt; says so in the log when that changes.
final class StoreHealth: Sendable {
    /// Why the store did not take what came last, or cannot be opened; protected by its lock.
    private let present = Mutex<String?>(nil)
    private let logger: Logger
    /// Why there is no store, whatever fails; nil where one was named.
    private let cause: String?

    init(cause: String?, logger: Logger) {
        self.cause = cause
        self.logger = logger
    }

    /// Why reports cannot be stored, with what to do; nil where they can.
    ///
    /// Each one that is due is tried again.
    var problem: String? { present.withLock { $0 } }

    /// Whether the last attempt failed.
    var isUnusable: Bool { problem != nil }

    /// Notes that something could not be written.
    ///
    /// On any thread. Where there is no store, the errors would be those of a path that nobody has named.
    func failed(_ error: String) {
        let error = cause ?? error
        guard replace(with: error) != error else { return }
        logger.critical("reports cannot be stored; the process goes on without them, and tries again: \(error)")
    }

    /// Notes that something was written.
    ///
    /// On any thread.
    func worked() {
        if replace(with: nil) != nil { logger.notice("reports are stored again") }
    }

    private func replace(with problem: String?) -> String? {
        present.withLock { present in
            defer { present = problem }
            return present
        }
    }
}

extension EventHost {
    /// Why reports cannot be stored, as of the last attempt, with what to do; nil where they can.
    ///
    /// An agent without a store serves, and its log tells of faults alone. Each report that is due is tried again. Callable from any thread.
    /// With `Configuration.Advanced.requiresStore` a host is not made without a store.
    public nonisolated var storeProblem: String? { storeHealth.problem }
}
