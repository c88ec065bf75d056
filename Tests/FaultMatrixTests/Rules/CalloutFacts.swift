import CrashReports

/// What a report says of the callout at a place.
struct CalloutFacts: Equatable {
    let kind: CrashReport.LoopState.Callout.Kind
    let label: String
    var nesting = 1
    var mode = "default"

    /// The callout; nil outside of any.
    init?(_ place: Place, on site: Site) {
        switch place {
        case .source: (kind, label) = (.source, "matrix")
        case .port: (kind, label) = (.port, "matrix")
        case .timer, .delayedPerform: (kind, label) = (.timer, "matrix")
        case .observerEntry, .observerBeforeTimers, .observerBeforeSources, .observerBeforeWaiting,
            .observerAfterWaiting, .observerExit:
            (kind, label) = (.observer, "matrix")
        case .block, .perform: (kind, label) = (.block, "matrix")
        case .nestedRun: (kind, label, nesting, mode) = (.block, "matrix", 2, "nested")
        case .signalHandler: (kind, label) = (.port, "signals")
        case .faultHandler: (kind, label) = (.port, "crash messages")
        case .task where site == .second: (kind, label) = (.block, "task")
        case .mainQueue, .task, .boundaryMainActor: (kind, label) = (.mainQueue, "main queue")
        case .boundary, .boundaryChild, .boundaryLet, .boundaryActor: (kind, label, mode) = (.task, "matrix", "tasks")
        case .boundaryDetached, .beforeRun, .afterRun, .afterClose, .threadBody, .channelHandler: return nil
        }
    }
}
