import FaultInjection

/// One cell of the matrix: a fault, committed once in a process of its own.
struct MatrixCase: Hashable, Sendable, CustomStringConvertible {
    let cause: Cause
    let place: Place
    let site: Site
    var setting = Setting.everything

    /// The probe's arguments, but for the store.
    var arguments: [String] { [cause.name, place.rawValue, site.rawValue, setting.rawValue] }

    /// The command that runs the probe, less the store.
    func command(_ probe: String) -> [String] {
        setting == .processOne ? ProcessNamespace.command + [probe] + arguments : [probe] + arguments
    }

    var description: String { arguments.joined(separator: " ") }
}

/// Which code commits the fault; the names are the probe's.
enum Place: String, CaseIterable, Sendable {
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
    case boundary
    case boundaryChild = "boundary-child"
    case boundaryLet = "boundary-let"
    case boundaryActor = "boundary-actor"
    case boundaryMainActor = "boundary-main-actor"
    case boundaryDetached = "boundary-detached"
    case beforeRun = "before-run"
    case afterRun = "after-run"
    case afterClose = "after-close"
    case threadBody = "thread-body"
    case channelHandler = "channel-handler"

    /// What any loop calls out to.
    static let callouts: [Place] = [
        .source, .port, .timer, .observerEntry, .observerBeforeTimers, .observerBeforeSources, .observerBeforeWaiting,
        .observerAfterWaiting, .observerExit, .block, .perform, .delayedPerform, .nestedRun,
    ]

    /// What is inside of a fault boundary.
    static let boundaries: [Place] = [.boundary, .boundaryChild, .boundaryLet]

    /// What only the host on the main loop calls out to.
    static let handlers: [Place] = [.signalHandler, .faultHandler]
}

/// Which thread commits it.
enum Site: String, CaseIterable, Sendable {
    case main
    case second
    case pthread
    case dispatch
    case pool
    case eventLoop = "event-loop"
}

/// What the host is made with.
enum Setting: String, Sendable {
    /// Every kind of fault may be resumed, and the process goes on.
    case everything
    /// The default policy, and the process goes on.
    case usual
    /// Every kind of fault may be resumed, and the process hands over when it is quiet.
    case whenQuiet = "when-quiet"
    /// Every kind of fault may be resumed, in process 1 of a container.
    case processOne = "process-one"
}

/// How the probe was built.
enum Build: String, CaseIterable, Comparable, Sendable {
    case debug
    case release
    case crossModule = "cross-module"

    static func < (left: Build, right: Build) -> Bool {
        (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
    }
}
