/// Judges the frames of a walk one by one, innermost first: which ran the application's code, and which somebody else's.
///
/// A pure state machine. The rule: above the recovery point there may be only frames of the application, except one run of failure
/// functions at the very top. A library's frame may hold the library's locks, or leave its data half changed. A C function of the
/// executable that the application called may have faulted itself. A C function that called back into Swift may hold what a library holds.
struct WalkJudge {
    /// The kinds of frames that the judge tells apart.
    enum Frame {
        /// Swift code of the executable, or code that the policy trusts.
        case application
        /// Code of the executable in another language.
        case native
        /// A Swift function of the executable, at a place where a function of another language was inlined.
        case inlinedNative
        /// The same, at a place where Swift was in turn inlined into that function.
        case withinNative
        /// Code of the executable in an unknown language.
        case unknown
        /// A failure function of the Swift runtime that is on the list.
        case swiftFailure
        /// The runtime's function that ends a program with an uncaught error.
        case errorInMain
        /// Any other function of libswiftCore.
        case swiftCore
        /// A function through which the Swift runtime runs a job of a task.
        case runner
        /// `abort` or `__assert_fail`.
        case abortFunction
        /// A function of libc that only waits, or moves bytes (`FunctionRanges.waitFunctions`).
        case waitFunction
        /// Any other function of libc.
        case c
        /// No function: an address in page zero or in data, where a call through a bad pointer goes.
        case noCode
        /// A function of any other image, or of none.
        case other
    }

    private enum State {
        /// Above the innermost application frame.
        case prefix
        /// In functions of another language, with nothing of the application above them.
        case leaf
        /// Between the innermost application frame and the recovery point.
        case body
    }

    private var state = State.prefix
    private var sawSwiftFailure = false
    private var sawErrorInMain = false
    private var sawSwiftCore = false
    private var sawOther = false
    private var sawC = false
    private var sawAbort = false
    private var sawWait = false
    private var isEmpty = true
    private var hasForeignFrame = false
    private var hasNativeFrame = false
    private var hasUnknownFrame = false
    private var isInsideLibrary = false
    /// Whether the last frames were those of functions that run a job: outside of them may be only the recovery point.
    private var isInRunner = false
    private var isDone = false

    /// Takes the next frame outwards.
    mutating func add(_ frame: Frame) {
        guard !isDone else { return }
        if case .runner = frame, state == .body {
            isInRunner = true
            return
        }
        if isInRunner { hasForeignFrame = true }
        switch frame {
        case .application:
            enterBody()
            return
        case .native:
            if state == .body { hasNativeFrame = true } else { state = .leaf }
            return
        // Judged as if nothing had been inlined, the innermost function first.
        case .inlinedNative:
            add(.native)
            enterBody()
            return
        case .withinNative:
            enterBody()
            add(.native)
            enterBody()
            return
        case .unknown:
            // It may be Swift code, so that the frames that follow lie between; or C that lies between.
            if state == .body { hasUnknownFrame = true }
            enterBody()
            return
        default: break
        }
        switch state {
        case .body, .leaf:
            hasForeignFrame = true
        case .prefix:
            if case .noCode = frame, isEmpty { return }
            isEmpty = false
            switch frame {
            case .swiftFailure: sawSwiftFailure = true
            case .errorInMain:
                sawSwiftFailure = true
                sawErrorInMain = true
            case .swiftCore: sawSwiftCore = true
            case .other: sawOther = true
            case .c: sawC = true
            case .waitFunction: sawWait = true
            case .abortFunction:
                // The frames above `abort` are those that raise its signal.
                sawC = false
                sawWait = false
                sawAbort = true
            case .noCode, .runner: sawOther = true
            case .application, .native, .inlinedNative, .withinNative, .unknown: break
            }
        }
    }

    /// Notes that an outer frame has called the application.
    private mutating func enterBody() {
        state = .body
        isInsideLibrary = hasForeignFrame || hasNativeFrame
    }

    /// Notes the recovery point, or the beginning of the thread: frames from here on are the loop's or the system's.
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
            hasNativeFrame: hasNativeFrame,
            hasUnknownFrame: hasUnknownFrame,
            hasAbort: sawAbort,
            isUncaughtError: sawErrorInMain
        )
    }

    private var prefix: FaultSummary.Walk.Prefix {
        if isEmpty { return .none }
        // A C frame that is not above `abort` has called it or has faulted: it may be the heap's, for one.
        if sawOther || sawC { return .foreign }
        if sawWait { return sawSwiftFailure || sawSwiftCore || sawAbort ? .foreign : .waiting }
        if sawSwiftFailure { return .swiftFailure }
        if sawSwiftCore { return sawAbort ? .foreign : .swiftCode }
        return sawAbort ? .ownAbort : .foreign
    }
}
