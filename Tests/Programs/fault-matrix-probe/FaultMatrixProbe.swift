import FaultInjection
import Glibc
import Holdfast
import SystemPackage

/// A program that commits one cell of the fault matrix: `fault-matrix-probe CAUSE PLACE THREAD SETTING STORE`.
///
/// It says on the standard output, a line each, that the fault was reached, what of the loops' repertoire still works after it, and how
/// the host came out of it. A process that was restarted in place only says so.
@main
enum FaultMatrixProbe {
    @MainActor static func main() {
        let arguments = CommandLine.arguments
        guard arguments.count == 6, let cause = Cause(name: arguments[1]), let place = Place(rawValue: arguments[2]),
            let site = Site(rawValue: arguments[3]), let setting = Setting(rawValue: arguments[4])
        else { exit(EX_USAGE) }
        guard setting != .processOne || getpid() == 1 else { exit(EX_CONFIG) }
        #if !NIO
        guard site != .eventLoop else { exit(EX_CONFIG) }
        #endif
        FoundationLock.prepare()
        do {
            let probe = try MatrixProbe(cause, place, site, setting, store: FilePath(arguments[5]))
            try probe.run()
        } catch {
            say("error \(error)")
            exit(EXIT_FAILURE)
        }
    }
}

/// Writes a line at once, without the standard library's buffers and locks: a process that is replaced or killed keeps nothing back.
func say(_ line: String) {
    _ = try? FileDescriptor.standardOutput.writeAll((line + "\n").utf8)
}

/// Which code commits the fault.
enum Place: String {
    case source
    case port
    case timer
    case observerEntry = "observer-entry"
    case observerBeforeTimers = "observer-before-timers"
    case observerBeforeSources = "observer-before-sources"
    case observerBeforeWaiting = "observer-before-waiting"
    case observerAfterWaiting = "observer-after-waiting"
    case observerExit = "observer-exit"
    case block
    case perform
    case delayedPerform = "delayed-perform"
    case nestedRun = "nested-run"
    case signalHandler = "signal-handler"
    case faultHandler = "fault-handler"
    case mainQueue = "main-queue"
    case task
    /// In a fault boundary, after a suspension.
    case boundary
    /// In a child task of one, in a group.
    case boundaryChild = "boundary-child"
    /// In an `async let` of one.
    case boundaryLet = "boundary-let"
    /// In one, isolated to an actor.
    case boundaryActor = "boundary-actor"
    /// In one, on the main actor.
    case boundaryMainActor = "boundary-main-actor"
    /// In a detached task that was started in one.
    case boundaryDetached = "boundary-detached"
    /// Code of `main`, with a host that does not run yet.
    case beforeRun = "before-run"
    /// Code of `main`, after the host has run.
    case afterRun = "after-run"
    /// Code of `main`, after the host was closed.
    case afterClose = "after-close"
    /// The first function of a thread that has no loop.
    case threadBody = "thread-body"
    /// What a connection's handler does with what it has read, on a SwiftNIO event loop.
    case channelHandler = "channel-handler"
}

extension Place {
    /// Whether it is in a fault boundary.
    var isInBoundary: Bool { rawValue.hasPrefix("boundary") }
}

/// Which thread commits it.
enum Site: String {
    case main
    case second
    case pthread
    case dispatch
    case pool
    case eventLoop = "event-loop"
}

/// What the host is made with.
enum Setting: String {
    /// Every kind of fault may be resumed, and the process goes on.
    case everything
    /// What a host does if it is not told otherwise, but the process goes on.
    case usual
    /// Every kind of fault may be resumed, and the process hands over when it is quiet.
    case whenQuiet = "when-quiet"
    /// Every kind of fault may be resumed, in process 1 of a container.
    case processOne = "process-one"
}
