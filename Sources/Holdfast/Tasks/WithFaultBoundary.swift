internal import CrashCapture
public import CrashReports
internal import Logging
internal import Synchronization
internal import TaskBoundaries

/// A fault in the body of a fault boundary, in place of what the body would have returned.
public struct FaultError: Error, Sendable, Hashable {
    /// The report of the fault.
    ///
    /// It is in the store soon afterwards. If it is one of very many equal faults it may be counted in an earlier report instead.
    public let report: ReportID
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
    public var description: String { "\(boundary) was abandoned: \(reason) (report \(report))" }
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
/// of a boundary. Without a host that runs tasks (`EventHost.start(_:)`), or after it was closed, the body is called without protection.
/// Callable from any thread and actor; in a body of another boundary, the inner one is abandoned first.
///
/// - Parameters:
///   - label: What reports, budgets and the log call it: a route or a method rather than a path with numbers in it. By default the place
///     of the call.
///   - metadata: What else the report of a fault says, as tags: who asked, and for what. Evaluated only after a fault, by the caller. The
///     metadata of the task-local logger (`Logger.current`) is there by itself.
///   - fileID: The file of the call.
///   - line: Its line.
///   - body: The work.
/// - Returns: What the body returns.
/// - Throws: What the body throws; `FaultError` if it faulted.
nonisolated(nonsending) public func withFaultBoundary<Value: Sendable>(
    _ label: String? = nil,
    metadata: @autoclosure () -> [String: String] = [:],
    fileID: StaticString = #fileID,
    line: UInt = #line,
    _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    guard BoundaryHost.isOpen else { return try await body() }
    let boundary = TaskBoundaries.FaultBoundary(.named(label ?? "\(fileID):\(line)"))
    BoundaryHost.running.add(1, ordering: .relaxed)
    defer { BoundaryHost.running.subtract(1, ordering: .releasing) }
    do {
        return try await boundary.run(body)
    } catch let abandoned as AbandonedBody {
        throw BoundaryHost.explain(abandoned, metadata())
    }
}

/// What a boundary throws before its caller has said what it knows of the fault.
private struct AbandonedBody: Error {
    let fault: FaultError
    /// When it was, in nanoseconds of CLOCK_REALTIME.
    let time: Int64
}

/// The fault boundary that the running task is in.
public enum FaultBoundary {
    /// Has a closure called if the innermost boundary of the running task is abandoned.
    ///
    /// For what its `defer` would do: giving a connection back, resuming a continuation. The latest closure is called first, on a thread
    /// that has nothing to do with the fault, before the boundary's caller gets its error. A fault in it is not resumed. If the body returns
    /// or throws, nothing is called. Outside of every boundary the closure is dropped.
    ///
    /// - Parameter cleanup: What to do. It must not wait.
    public static func onAbandon(_ cleanup: @escaping @Sendable () -> Void) {
        TaskBoundaries.FaultBoundary.current?.addCleanup(cleanup)
    }

    /// The label of the innermost boundary of the running task; nil outside of every one.
    public static var label: String? { TaskBoundaries.FaultBoundary.current?.label.name }
}

/// What a boundary needs of the host.
enum BoundaryHost {
    /// The parts of the host that answer for a boundary that was abandoned.
    struct Parts: Sendable {
        let capture: CrashCapture
        let supervisor: Supervisor
        let teller: FaultTeller
        let writer: ReportWriter
        let buried: Tally
    }

    /// How many boundaries have a caller that waits.
    static let running = Atomic<Int>(0)
    private static let open = Atomic<Bool>(false)
    /// Protected by its lock.
    private static let parts = Mutex<Parts?>(nil)

    static var isOpen: Bool { open.load(ordering: .acquiring) }

    static func setParts(_ new: Parts?) {
        parts.withLock { $0 = new }
        open.store(new != nil, ordering: .releasing)
    }

    /// Answers for a job that was abandoned, on a thread of the pool.
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
        let error = FaultError(
            report: told.id,
            reason: told.words.reason,
            location: told.words.place,
            boundary: job.boundary.label.name,
            number: Int(job.fault)
        )
        job.boundary.abandon(AbandonedBody(fault: error, time: job.time))
    }

    /// Tells the report what the caller of an abandoned boundary knows, and returns what the caller gets.
    ///
    /// Called in the caller's task, whose task-local values say whose work it was.
    fileprivate static func explain(_ abandoned: AbandonedBody, _ metadata: [String: String]) -> FaultError {
        guard let parts = parts.withLock({ $0 }) else { return abandoned.fault }
        let logger = Logger.current
        let known = logger.handler.metadata.merging(logger.metadataProvider?.get() ?? [:]) { $1 }
        let tags = known.mapValues { "\($0)" }.merging(metadata) { $1 }
        parts.writer.add(
            FaultDetails.Told(
                id: abandoned.fault.report,
                time: Timestamp(microsecondsSinceEpoch: abandoned.time / 1000),
                tags: FaultDetails.tags(tags, CrashContext.redaction)
            ),
            toFault: abandoned.fault.number
        )
        return abandoned.fault
    }
}
