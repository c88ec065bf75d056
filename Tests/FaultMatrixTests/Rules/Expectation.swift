import CrashReports
import FaultInjection

/// What must follow a fault by the documented rules: a pure function of what is committed, where, and in which build.
///
/// The order is that of `VerdictRule`.
struct Expectation: Equatable, Sendable {
    let outcome: Outcome
    /// Why; nil where nothing is captured any more.
    let reason: Reason?

    private init(_ outcome: Outcome, _ reason: Reason?) {
        self.outcome = outcome
        self.reason = reason
    }

    init(_ matrixCase: MatrixCase, in build: Build) {
        let cause = matrixCase.cause
        switch matrixCase.place {
        // A restart would not give it more time.
        case _ where cause == .hazard(.processorTime) && matrixCase.place != .afterClose:
            self.init(.ends(cause.signal), .processorTime)
        // The handlers were taken away.
        case .afterClose: self.init(.ends(cause.signal), nil)
        // A process that is ending would come back.
        case .afterRun: self.init(.ends(cause.signal), .runIsOver)
        default:
            guard let reason = Self.objection(to: matrixCase, in: build) else {
                let outcome = matrixCase.setting == .whenQuiet ? Outcome.resumeAndRestart : .resume
                self.init(outcome, .onlyApplicationFrames)
                return
            }
            // The main loop can hand over when it is another thread that stands, and the heap and the runtime are whole.
            // The concurrency runtime stands between a task and the loop that it runs on.
            let isInside =
                cause.isInsideLibrary || cause.isCalledByLibrary(in: build) || cause == .hazard(.printDescription)
                || matrixCase.place == .task || matrixCase.place == .boundaryMainActor
            let drains = matrixCase.site != .main && !isInside
            self.init(drains ? .drainAndRestart : .restart, reason)
        }
    }

    /// Why the fault is not resumed.
    private static func objection(to matrixCase: MatrixCase, in build: Build) -> Reason? {
        let cause = matrixCase.cause
        switch cause {
        case .fault(.raiseSegv): return .raisedByItself
        case .hazard(.forbiddenCall): return .forbiddenCall
        case .hazard(.fileSize): return .fileSize
        default: break
        }
        let isCallout = ![.beforeRun, .threadBody, .channelHandler, .boundaryDetached].contains(matrixCase.place)
        if !isCallout || cause.hasLeftStack { return .outsideOfCallouts }
        if matrixCase.place == .boundaryActor { return .actor }
        let isTask = matrixCase.place == .task || matrixCase.place == .boundaryMainActor
        let isJob = matrixCase.place == .mainQueue || isTask
        if cause.isCounted || cause.holdsLock && !isJob { return .lock }
        if isTask { return .task }
        if matrixCase.setting == .usual {
            if cause.isStackOverflow { return .overflowPolicy }
            if cause.isMemoryFault { return .memoryPolicy }
        }
        if cause == .hazard(.cCallback), matrixCase.place != .mainQueue { return .nativeBetween }
        if matrixCase.place == .mainQueue || cause.isCalledByLibrary(in: build) { return .libraryBetween }
        return cause.isInsideLibrary ? .insideLibrary : nil
    }

    /// What the report says was decided; nil where there is none.
    var decision: CrashReport.Verdict.Decision? {
        switch outcome {
        case .resume, .resumeAndRestart: .resume
        case .restart, .drainAndRestart: .restart
        case .ends: reason == nil ? nil : .terminate
        case .broken, .hang, .unclassified: nil
        }
    }
}
