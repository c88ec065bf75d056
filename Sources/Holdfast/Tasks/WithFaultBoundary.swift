internal import CrashCapture
public import CrashReports
internal import LinuxSystem
internal import Logging
internal import RunLoops
internal import Synchronization
internal import TaskBoundaries

/// A fault in the body of a fault boundary, in place of what the body would have returned.
public struct FaultError: Error, Sendable, Hashable {
    /// The report of the fault; nil if reports cannot be stored (`EventHost.storeProblem`).
    ///
    /// It is in the store soon afterwards. One of very many equal faults is counted in an earlier report, which lists this id.
    public let report: ReportID?
    /// What went wrong, as far as that is known at once.
    ///
    /// The report may say more. In an optimised build, debug information alone tells which check a trap was of, and reading it takes time:
    /// the first fault at a place has a general reason, later ones that of its report.
    public let reason: String
    /// The function that faulted, with file and line where debug information has them; nil for the first fault at a place.
    public let location: String?
    /// The label of the boundary.
    public let boundary: String
    /// Which fault of the process it was, from 1: `CrashMessage.number`.
    public let number: Int
}

extension FaultError: CustomStringConvertible {
    /// The boundary, the reason and the report in a line.
    public var description: String {
        "\(boundary) was abandoned: \(reason) (\(report.map { "report \($0)" } ?? "no report"))"
    }
}

/// Runs async work that may be abandoned by itself: a fault in it costs this call, and nothing else.
///
/// ```swift
/// let answer = try await withFaultBoundary("GET /users") { try await users.all() }
/// ```
///
/// The body runs in a task of its own, with the caller's task-local values, priority and cancellation. Child tasks (`async let`, task
/// groups) are inside; `Task {}` and `Task.detached` are not. If a job of it faults, and the verdict is to resume, the call throws a
/// `FaultError`, and the children are cancelled. The body is not unwound: what it owned is leaked, its `defer` and `deinit` do not run, and
/// whoever waits for something else than this call (a continuation, a lock) waits for ever; see `FaultBoundary.onAbandon(_:)`.
///
/// Not resumed, so that the process drains and restarts: a fault of code that is isolated to an actor, which would stay locked; one with a
/// lock held, inside a library, in a critical section (`EventHost.withCriticalSection`), or when the budget is spent; and each fault outside
/// of a boundary. Without a host, or after it was closed, the body is called without protection. A program that begins with
/// `EventHost.start(_:)`, or calls `EventHost.runTasks()`, has cheaper boundaries.
/// Callable from any thread and actor; in a body of another boundary, the inner one is abandoned first.
///
/// - Parameters:
///   - label: What reports, budgets and the log call it: a route or a method rather than a path with numbers in it. By default the place
///     of the call. One that is kept costs less than one that is made for each call.
///   - deadline: How long the body may take; nil for as long as it likes. Then its task is cancelled. If it has not ended a second later, or
///     after as long again if that is less, it is ended where it is: a job of it that runs is abandoned like one that faulted, if it holds
///     nothing; a body that waits is given up, and may go on by itself.
///   - metadata: What else the report of a fault says, as tags: who asked, and for what. Evaluated only after a fault, by the caller. The
///     metadata of the body's task-local logger (`Logger.current`) is there by itself.
///   - fileID: The file of the call.
///   - line: Its line.
///   - body: The work.
/// - Returns: What the body returns.
/// - Throws: What the body throws; `FaultError` if it faulted; `FaultBoundary.DeadlineError` if it ended by its deadline;
///   `FaultBoundary.QuarantineError`, without a call of the body, if the label has faulted too often.
@inlinable
nonisolated(nonsending) public func withFaultBoundary<Value: Sendable>(
    _ label: FaultBoundary.Label? = nil,
    deadline: Duration? = nil,
    metadata: @autoclosure () -> [String: String] = [:],
    fileID: StaticString = #fileID,
    line: UInt = #line,
    _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    let place = BoundaryValue<Value>()
    try await runInBoundary(label, deadline, metadata, fileID, line) { unsafe place.value = try await body() }
    return place.take()
}

/// What the body of a boundary has returned.
///
/// Written by the body before its caller goes on, and read by the caller.
@usableFromInline
final class BoundaryValue<Value: Sendable>: @unchecked Sendable {
    @usableFromInline @exclusivity(unchecked) var value: Value?

    @inlinable init() {}

    /// Moves it out.
    @inlinable func take() -> Value {
        var taken: Value?
        unsafe swap(&taken, &value)
        guard let taken else { fatalError("a fault boundary has returned without a value") }
        return taken
    }
}

/// `withFaultBoundary` without the type of the value, so that there is one compiled form of it, and no more of its frames than needed.
///
/// - Parameters:
///   - label: What the boundary is called; nil for the place of the call.
///   - deadline: How long the body may take.
///   - metadata: What else the report of a fault says.
///   - fileID: The file of the call.
///   - line: Its line.
///   - body: The work. A closure that has one object and nothing else costs no memory of its own.
/// - Throws: As `withFaultBoundary`.
@usableFromInline
package nonisolated(nonsending) func runInBoundary(
    _ label: FaultBoundary.Label?,
    _ deadline: Duration? = nil,
    _ metadata: () -> [String: String] = { [:] },
    _ fileID: StaticString = #fileID,
    _ line: UInt = #line,
    _ body: @escaping @Sendable () async throws -> Void
) async throws {
    guard BoundaryHost.isOpen || BoundaryHost.opens() else { return try await body() }
    let label = label ?? FaultBoundary.Label("\(fileID):\(line)")
    if label.kept.isQuarantined, !label.hasBegun, let refusal = BoundaryHost.refusal(of: label) { throw refusal }
    let boundary = TaskBoundaries.FaultBoundary(label.kept, tags: label.tags)
    BoundaryHost.running.add(1, ordering: .relaxed)
    defer { BoundaryHost.running.subtract(1, ordering: .releasing) }
    let start = BoundaryHost.isObserved ? MonotonicClock.nanoseconds : 0
    var hasFaulted = false
    defer { if start != 0 { BoundaryHost.tellObserver(boundary.label, since: start, hasFaulted) } }
    let limit = deadline.map { BoundaryDeadlines.shared.add(boundary, $0) }
    defer { if let limit { BoundaryDeadlines.shared.remove(limit) } }
    do {
        try await boundary.run(body)
        BoundaryHost.noteService()
    } catch let abandoned as AbandonedBody {
        hasFaulted = true
        let fault = BoundaryHost.explain(abandoned, metadata().merging(label.tags?() ?? [:]) { $1 })
        guard let limit, limit.hasPassed else { throw fault }
        throw limit.error(fault)
    } catch {
        guard let limit, limit.hasPassed else {
            BoundaryHost.noteService()
            throw error
        }
        throw limit.error(nil)
    }
}

/// What a boundary throws before its caller has said what it knows of the fault.
private struct AbandonedBody: Error {
    let fault: FaultError
    /// The id of the report, whether it can be stored or not.
    let id: ReportID
    /// When it was, in nanoseconds of CLOCK_REALTIME.
    let time: Int64
    /// What the body's task-local values say of it.
    let tags: [String: String]
}

/// The fault boundary that the running task is in.
public enum FaultBoundary {
    /// What a boundary is called, and counted by: a route, a method.
    ///
    /// ```swift
    /// static let users: FaultBoundary.Label = "GET /users"
    /// ```
    ///
    /// A process keeps each text for ever, 4,096 of them; further ones are all called `(other boundaries)`. So they must not come from a
    /// client.
    public struct Label: Sendable, Hashable, ExpressibleByStringInterpolation {
        let kept: BoundaryLabel
        /// Whether it is for the rest of work that was let in.
        fileprivate var hasBegun = false
        /// Says whose work it is.
        fileprivate var tags: (@Sendable () -> [String: String])?

        fileprivate init(_ kept: BoundaryLabel) {
            self.kept = kept
        }

        /// The label for a further boundary of work that was let in: it is not refused, whatever became of the label meanwhile.
        package var begun: Label {
            var label = self
            label.hasBegun = true
            return label
        }

        /// The label, with a closure that says whose work it is: after a fault, also after one of which the caller does not hear.
        ///
        /// That one stands still then, and the closure is called on another thread.
        package func described(by tags: @escaping @Sendable () -> [String: String]) -> Label {
            var label = self
            label.tags = tags
            return label
        }

        /// Makes the label of many routes, which is never quarantined.
        package init(ofMany text: String) {
            kept = .named(text, isShared: true, item: HostRunLoop.nextItemIdentifier())
        }

        /// The text.
        package var text: String { kept.name }

        /// Makes the label with a text.
        public init(_ text: String) {
            kept = .named(text, item: HostRunLoop.nextItemIdentifier())
        }

        /// Makes the label of a literal.
        public init(stringLiteral text: String) { self.init(text) }

        /// Whether both have the same text.
        public static func == (label: Label, other: Label) -> Bool { label.kept === other.kept }

        /// Hashes the label.
        public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(kept)) }
    }

    /// The body of a boundary has not ended by its deadline.
    public struct DeadlineError: Error, Sendable, Hashable, CustomStringConvertible {
        /// The label of the boundary.
        public let boundary: String
        /// How long the body might take.
        public let deadline: Duration
        /// The report of the job that was abandoned where it ran; nil if the body ended when it was cancelled, or was given up where it
        /// waited.
        public let fault: FaultError?

        /// The boundary and its deadline in a line.
        public var description: String {
            "\(boundary) has not ended within \(deadline)" + (fault?.report.map { " (report \($0))" } ?? "")
        }
    }

    /// Has a closure called if the innermost boundary of the running task is abandoned.
    ///
    /// For what its `defer` would do: giving a connection back, resuming a continuation. The latest closure is called first, in a task that
    /// has nothing else to do, before the boundary's caller gets its error. A fault in it is not resumed. If the body returns
    /// or throws, nothing is called. Outside of every boundary the closure is dropped.
    ///
    /// - Parameter cleanup: What to do. It must not wait.
    public static func onAbandon(_ cleanup: @escaping @Sendable () -> Void) {
        TaskBoundaries.FaultBoundary.current?.addCleanup(cleanup)
    }

    /// The label of the innermost boundary of the running task; nil outside of every one.
    public static var label: String? { current?.text }

    /// The label itself.
    package static var current: Label? { TaskBoundaries.FaultBoundary.current.map { Label($0.label) } }
}

/// What a boundary needs of the host.
package enum BoundaryHost {
    /// The parts of the host that answer for a boundary that was abandoned.
    struct Parts: Sendable {
        let capture: CrashCapture
        let supervisor: Supervisor
        let teller: FaultTeller
        let writer: ReportWriter
        let buried: Tally
        let ward: QuarantineWard
        /// Is told once that the process has served something.
        let noteService: @Sendable () -> Void
    }

    /// What is needed to begin.
    struct Opener: Sendable {
        let parts: Parts
        let stackSize: Int
        let logger: Logger
        let stallWatch: StallWatchBox
    }

    /// Used under its lock; nil without a host, and where the first boundary could not begin.
    private static let opener = Mutex<Opener?>(nil)

    /// Sets what the first boundary begins with.
    static func setOpener(_ new: Opener?) { opener.withLock { $0 = new } }

    /// Begins, unless that was done or there is no host.
    ///
    /// - Parameter takesAll: Whether the pool runs all tasks of the program, not only those in boundaries.
    /// - Throws: `EventHostError`, if no threads can be started.
    static func open(takesAll: Bool) throws(EventHostError) {
        try opener.withLock { opener throws(EventHostError) in
            guard !isOpen, let opener else { return }
            try opener.open(takesAll: takesAll)
        }
    }

    /// Begins at the first boundary; returns whether boundaries protect now.
    static func opens() -> Bool {
        do {
            try open(takesAll: false)
        } catch {
            opener.withLock { opener in
                opener?.logger.error("fault boundaries protect nothing: \(error)")
                opener = nil
            }
        }
        return isOpen
    }

    /// How many boundaries have a caller that waits.
    static let running = Atomic<Int>(0)
    private static let open = Atomic<Bool>(false)
    /// Protected by its lock.
    private static let parts = Mutex<Parts?>(nil)

    /// Closures in structures, for the reason of `TaskPool.Handler`.
    private struct Source {
        let tags: @Sendable (FaultError) -> [String: String]
    }

    /// What is asked for tags beside the logger.
    ///
    /// Protected by its lock.
    private static let sources = Mutex<[Source]>([])

    /// Has a closure asked for tags after each fault in a boundary, in a task that has the task-local values of the one that faulted.
    package static func addSource(_ tags: @escaping @Sendable (FaultError) -> [String: String]) {
        sources.withLock { $0.append(Source(tags: tags)) }
    }

    /// Who is told of each boundary: what it is called, how long it took, and whether a fault has ended it.
    private struct Observer {
        var tell: (@Sendable (FaultBoundary.Label, Duration, Bool) -> Void)?
    }

    private static let observed = Atomic<Bool>(false)
    /// Protected by its lock.
    private static let observer = Mutex(Observer())

    fileprivate static var isObserved: Bool { observed.load(ordering: .acquiring) }

    /// Has a closure told of each boundary that ends, in the caller's task.
    package static func setObserver(_ tell: @escaping @Sendable (FaultBoundary.Label, Duration, Bool) -> Void) {
        observer.withLock { $0.tell = tell }
        observed.store(true, ordering: .releasing)
    }

    fileprivate static func tellObserver(_ label: BoundaryLabel, since start: Int64, _ hasFaulted: Bool) {
        let duration = Duration.nanoseconds(MonotonicClock.nanoseconds - start)
        observer.withLock { $0 }.tell?(FaultBoundary.Label(label), duration, hasFaulted)
    }

    /// What the caller of a boundary gets whose label is quarantined; nil if that is over.
    static func refusal(of label: FaultBoundary.Label) -> FaultBoundary.QuarantineError? {
        parts.withLock { $0 }?.refusal(of: label)
    }

    private static let served = Atomic<Bool>(false)

    /// Notes that work has ended without a fault: the end of the process will not be an early one.
    static func noteService() {
        guard !served.load(ordering: .relaxed), !served.exchange(true, ordering: .relaxed) else { return }
        parts.withLock { $0 }?.noteService()
    }

    static var isOpen: Bool { open.load(ordering: .acquiring) }

    static func setParts(_ new: Parts?) {
        parts.withLock { $0 = new }
        served.store(false, ordering: .relaxed)
        open.store(new != nil, ordering: .releasing)
    }

    /// Answers for a job that was abandoned, in a task that has the task-local values of the job's.
    static func answer(_ job: TaskPool.Abandoned) {
        guard let parts = parts.withLock({ $0 }) else {
            _ = job.buryStack()
            return
        }
        parts.capture.clearMessages()
        let told = parts.teller.report(ofFault: Int(job.fault), at: job.time)
        let bytes = job.buryStack()
        parts.buried.add(bytes)
        parts.supervisor.noteCost(bytes: bytes)
        // Before the caller hears of it: its next call is refused.
        if CrashCapture.isQuarantined(facts: job.facts) { parts.quarantine(job.label) }
        let fault = FaultError(
            report: told.isStored ? told.id : nil,
            reason: told.words.reason,
            location: told.words.place,
            boundary: job.label.name,
            number: Int(job.fault)
        )
        job.boundary.abandon(AbandonedBody(fault: fault, id: told.id, time: job.time, tags: tags(fault)))
    }

    /// What the task-local values say of a fault.
    private static func tags(_ fault: FaultError) -> [String: String] {
        let logger = Logger.current
        let known = logger.handler.metadata.merging(logger.metadataProvider?.get() ?? [:]) { $1 }
        let sources = sources.withLock { $0 }
        return sources.reduce(known.mapValues { "\($0)" }) { $0.merging($1.tags(fault)) { $1 } }
    }

    /// Tells the report what the caller of an abandoned boundary knows, and returns what the caller gets.
    fileprivate static func explain(_ abandoned: AbandonedBody, _ metadata: [String: String]) -> FaultError {
        guard let parts = parts.withLock({ $0 }) else { return abandoned.fault }
        let tags = abandoned.tags.merging(metadata) { $1 }
        parts.writer.add(
            FaultDetails.Told(
                id: abandoned.id,
                time: Timestamp(microsecondsSinceEpoch: abandoned.time / 1000),
                tags: FaultDetails.tags(tags, CrashContext.redaction)
            ),
            toFault: abandoned.fault.number
        )
        return abandoned.fault
    }
}
