/// Judges the frames of a walk one by one, innermost first: which ran the application's code, and which somebody else's.
///
/// A pure state machine. The rule is decision 5 of the design: above the recovery point there may be only application frames,
/// apart from one run of failure functions at the very top.
struct WalkJudge {
    /// What a frame is to the judge.
    enum Frame {
        /// Code of the executable.
        case application
        /// A failure function of the Swift runtime that is on the list.
        case swiftFailure
        /// Any other function of libswiftCore.
        case swiftCore
        /// `abort` or `__assert_fail`.
        case abortFunction
        /// A function of libc that only waits, or moves bytes (`FunctionRanges.waitFunctions`).
        case waitFunction
        /// Any other function of libc.
        case c
        /// No function: an address in page zero, which is where a call of a null function pointer goes.
        case nullPage
        /// A function of any other image, or of none.
        case other
    }

    private enum State {
        /// Above the innermost application frame.
        case prefix
        /// Between that and the recovery point.
        case body
    }

    private var state = State.prefix
    private var sawSwiftFailure = false
    private var sawSwiftCore = false
    private var sawOther = false
    private var sawC = false
    private var sawAbort = false
    private var sawWait = false
    private var isEmpty = true
    private var hasForeignFrame = false
    private var isInsideLibrary = false
    private var isDone = false

    /// Takes the next frame outwards.
    mutating func add(_ frame: Frame) {
        guard !isDone else { return }
        if case .application = frame {
            state = .body
            isInsideLibrary = hasForeignFrame
            return
        }
        switch state {
        case .body:
            hasForeignFrame = true
        case .prefix:
            if case .nullPage = frame, isEmpty { return }
            isEmpty = false
            switch frame {
            case .swiftFailure: sawSwiftFailure = true
            case .swiftCore: sawSwiftCore = true
            case .other: sawOther = true
            case .c: sawC = true
            case .waitFunction: sawWait = true
            case .abortFunction:
                // What lies above `abort` is how it raises its signal.
                sawC = false
                sawWait = false
                sawAbort = true
            case .nullPage: sawOther = true
            case .application: break
            }
        }
    }

    /// The recovery point was reached, or the beginning of the thread: frames from here on are the loop's or the system's.
    mutating func reachEnd() {
        isDone = true
    }

    /// What was found.
    func walk(end: FaultSummary.Walk.End) -> FaultSummary.Walk {
        FaultSummary.Walk(
            end: end,
            prefix: prefix,
            hasForeignFrame: hasForeignFrame,
            isInsideLibrary: isInsideLibrary,
            hasAbort: sawAbort
        )
    }

    private var prefix: FaultSummary.Walk.Prefix {
        if isEmpty { return .none }
        // A C frame that is not above `abort` is somebody's who called it, or who faulted: the heap's, for one.
        if sawOther || sawC { return .foreign }
        if sawWait { return sawSwiftFailure || sawSwiftCore || sawAbort ? .foreign : .waiting }
        if sawSwiftFailure { return .swiftFailure }
        if sawSwiftCore { return sawAbort ? .foreign : .swiftCode }
        return sawAbort ? .ownAbort : .foreign
    }
}
