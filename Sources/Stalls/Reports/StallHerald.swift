internal import CrashCapture
internal import CrashReports
internal import Logging
internal import Synchronization
internal import SystemPackage

/// Announces stalls on its own thread: a blocking log can cause stalls and must not delay their reports.
final class StallHerald: Sendable {
    private let thread = SerialThread(name: "holdfast-warn")
    private let logger: Logger
    private let handlers: StallHandlers

    init(_ handlers: StallHandlers, _ logger: Logger) {
        self.handlers = handlers
        self.logger = logger
    }

    /// Starts the thread; it runs until the process ends.
    func start() throws(Errno) { try thread.start() }

    /// Announces that a stall was found, or that it is over.
    func tell(_ stall: Stall) {
        thread.perform { [self] in
            handlers.call(stall)
            switch stall.phase {
            case .lasting: logger.warning("\(stall.subjectText) stalls", metadata: stall.metadata)
            case .over: logger.notice("\(stall.subjectText) goes on", metadata: stall.metadata)
            }
        }
    }

    /// Reports a tick that a loop held up.
    func tell(late: Duration, heldUp: Duration) {
        thread.perform { [logger] in
            let details: Logger.Metadata = ["late": "\(Self.text(late))", "heldUp": "\(Self.text(heldUp))"]
            logger.warning("a tick was held up", metadata: details)
        }
    }

    private static func text(_ duration: Duration) -> String {
        CrashReport.Stall.text(seconds: duration / .seconds(1))
    }

    /// Logs an error.
    func complain(_ text: String) {
        thread.perform { [logger] in logger.error("\(text)") }
    }
}

/// The handlers that are told of stalls, in the order in which they were added.
///
/// Callable from any thread.
package final class StallHandlers: Sendable {
    private struct State {
        var last = 0
        var handlers: [(number: Int, body: @Sendable (Stall) -> Void)] = []
    }

    /// Protected by its lock.
    private let state = Mutex(State())

    /// Starts empty.
    package init() {}

    /// Adds a handler; returns the number for removing it.
    package func add(_ body: @escaping @Sendable (Stall) -> Void) -> Int {
        state.withLock { state in
            state.last += 1
            state.handlers.append((state.last, body))
            return state.last
        }
    }

    /// Removes a handler; a call in progress continues.
    package func remove(_ number: Int) {
        // Released outside of the lock.
        _ = state.withLock { state in
            state.handlers.firstIndex { $0.number == number }.map { state.handlers.remove(at: $0) }
        }
    }

    fileprivate func call(_ stall: Stall) {
        for handler in state.withLock({ $0.handlers }) { handler.body(stall) }
    }
}

extension Stall {
    fileprivate var subjectText: String {
        switch subject {
        case .loop: "the loop"
        case .ping: "what is pinged"
        case .job: "a job of a task"
        }
    }

    /// The details for the log.
    fileprivate var metadata: Logger.Metadata {
        var details: Logger.Metadata = [
            "stall": "\(number)", "length": "\(CrashReport.Stall.text(seconds: length / .seconds(1)))",
        ]
        if case .ping(let label) = subject { details["pinged"] = "\(label)" }
        if let activity = look?.activity { details["thread"] = "\(activity)" }
        if let callout = look?.callout { details["item"] = "\(callout.label)" }
        return details
    }
}
