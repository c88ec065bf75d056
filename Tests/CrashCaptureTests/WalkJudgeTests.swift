import Testing

@testable import CrashCapture

/// What a walk is judged to be, frame by frame from the innermost.
@Suite struct WalkJudgeTests {
    typealias Walk = FaultSummary.Walk

    private static func judge(_ frames: [WalkJudge.Frame], reaches: Bool = true) -> Walk {
        var judge = WalkJudge()
        for frame in frames { judge.add(frame) }
        if reaches { judge.reachEnd() }
        return judge.walk(end: reaches ? .recoveryPoint : .outermost)
    }

    private static let application: [WalkJudge.Frame] = [.application, .application]

    @Test func `Functions that run a job may stand between the application and the recovery point, and nowhere else`() {
        let clean = Walk(end: .recoveryPoint)
        #expect(Self.judge([.application, .runner, .runner]) == clean)
        #expect(Self.judge([.swiftFailure, .application, .runner, .runner]).prefix == .swiftFailure)
        // A job that another job runs, and a library between the two.
        #expect(Self.judge([.application, .runner, .runner, .application]).hasForeignFrame)
        #expect(Self.judge([.application, .runner, .other, .runner]).hasForeignFrame)
        #expect(Self.judge([.application, .other, .runner]).hasForeignFrame)
        // The runtime itself.
        #expect(Self.judge([.runner, .runner]).prefix == .foreign)
        #expect(Self.judge([.native, .runner, .runner]).hasForeignFrame)
    }

    @Test(
        arguments: [
            ([], Walk.Prefix.none),
            ([.noCode], .none),
            ([.swiftFailure], .swiftFailure),
            ([.swiftCore, .swiftFailure], .swiftFailure),
            ([.swiftFailure, .swiftCore], .swiftFailure),
            ([.c, .abortFunction, .swiftCore, .swiftFailure], .swiftFailure),
            // The heap found itself broken while the runtime wrote its message: what it called is not above `abort`.
            ([.c, .abortFunction, .c, .swiftCore, .swiftFailure], .foreign),
            ([.c, .abortFunction, .c, .c, .abortFunction, .swiftFailure], .swiftFailure),
            ([.c, .swiftFailure], .foreign),
            ([.swiftCore], .swiftCode),
            ([.swiftCore, .swiftCore], .swiftCode),
            ([.c, .swiftCore], .foreign),
            ([.abortFunction, .swiftCore], .foreign),
            ([.abortFunction], .ownAbort),
            ([.c, .abortFunction], .ownAbort),
            ([.c, .c, .abortFunction, .abortFunction], .ownAbort),
            ([.c], .foreign),
            ([.c, .abortFunction, .c], .foreign),
            ([.other], .foreign),
            ([.other, .swiftFailure], .foreign),
            ([.c, .abortFunction, .other], .foreign),
            ([.swiftCore, .other], .foreign),
            ([.noCode, .noCode], .none),
            ([.c, .noCode], .foreign),
            ([.noCode, .c], .foreign),
            ([.waitFunction], .waiting),
            ([.waitFunction, .waitFunction], .waiting),
            ([.c, .waitFunction], .foreign),
            ([.waitFunction, .c], .foreign),
            ([.waitFunction, .other], .foreign),
            ([.waitFunction, .swiftCore], .foreign),
            ([.waitFunction, .swiftFailure], .foreign),
            ([.waitFunction, .abortFunction], .ownAbort),
        ] as [([WalkJudge.Frame], Walk.Prefix)]
    )
    func `What stands above the application is told by its frames`(above: [WalkJudge.Frame], prefix: Walk.Prefix) {
        let walk = Self.judge(above + Self.application)
        #expect(
            walk
                == Walk(
                    end: .recoveryPoint,
                    prefix: prefix,
                    hasForeignFrame: false,
                    hasAbort: above.contains(.abortFunction)
                )
        )
    }

    @Test(arguments: [WalkJudge.Frame.swiftFailure, .swiftCore, .abortFunction, .c, .noCode, .other])
    func `Any other frame between two of the application is foreign`(frame: WalkJudge.Frame) {
        let walk = Self.judge([.application, frame, .application])
        #expect(walk == Walk(end: .recoveryPoint, prefix: .none, hasForeignFrame: true, isInsideLibrary: true))
    }

    @Test(arguments: [WalkJudge.Frame.swiftFailure, .swiftCore, .abortFunction, .c, .noCode, .other])
    func `A frame between the application and the recovery point is foreign`(frame: WalkJudge.Frame) {
        #expect(Self.judge([.application, frame]).hasForeignFrame)
    }

    @Test func `A failure function between two of the application does not become the prefix`() {
        let walk = Self.judge([.c, .abortFunction, .application, .swiftFailure, .application])
        #expect(
            walk
                == Walk(
                    end: .recoveryPoint,
                    prefix: .ownAbort,
                    hasForeignFrame: true,
                    isInsideLibrary: true,
                    hasAbort: true
                )
        )
    }

    @Test(
        arguments: [
            // Functions that the application called, and that called nothing of it.
            ([.native, .application], false, false),
            ([.native, .native, .application, .application], false, false),
            ([.abortFunction, .native, .application], false, false),
            ([.application, .native, .application], true, false),
            ([.native, .application, .native, .application], true, false),
            // Nothing of the application lies below but the loop, which is Swift.
            ([.application, .native], true, false),
            ([.native], false, false),
            // What is unknown may be the one or the other.
            ([.unknown, .application], false, false),
            ([.native, .unknown, .application], false, false),
            ([.unknown, .native, .application], true, false),
            ([.unknown, .unknown, .application], false, true),
            ([.application, .unknown, .application], false, true),
            ([.unknown, .unknown], false, true),
        ] as [([WalkJudge.Frame], Bool, Bool)]
    )
    func `A function of another language that called back is told`(
        frames: [WalkJudge.Frame],
        isNative: Bool,
        isUnknown: Bool
    ) {
        let walk = Self.judge(frames)
        #expect(walk.hasNativeFrame == isNative)
        #expect(walk.hasUnknownFrame == isUnknown)
        #expect(!walk.hasForeignFrame)
    }

    @Test(
        arguments: [
            ([.inlinedNative], [.native, .application]),
            ([.inlinedNative, .application], [.native, .application]),
            ([.application, .inlinedNative], [.application, .native, .application]),
            ([.swiftFailure, .inlinedNative], [.swiftFailure, .native, .application]),
            ([.unknown, .inlinedNative], [.unknown, .native, .application]),
            ([.c, .inlinedNative, .application], [.c, .native, .application]),
            ([.withinNative], [.application, .native, .application]),
            ([.swiftFailure, .withinNative], [.swiftFailure, .application, .native, .application]),
            ([.application, .withinNative], [.application, .native, .application]),
        ] as [([WalkJudge.Frame], [WalkJudge.Frame])]
    )
    func `A function that was inlined counts as if it had not been`(
        frames: [WalkJudge.Frame],
        asIf: [WalkJudge.Frame]
    ) {
        #expect(Self.judge(frames) == Self.judge(asIf))
    }

    @Test func `A library that a function of another language lies above is foreign`() {
        #expect(Self.judge([.native, .c, .application]).hasForeignFrame)
        #expect(Self.judge([.native, .other, .native, .application]).isInsideLibrary)
    }

    @Test func `Frames of the loop, below the recovery point, do not count`() {
        var judge = WalkJudge()
        judge.add(.application)
        judge.reachEnd()
        for frame in [WalkJudge.Frame.c, .other, .swiftCore, .application] { judge.add(frame) }
        #expect(judge.walk(end: .recoveryPoint) == Walk(end: .recoveryPoint))
    }

    @Test func `No frame at all is no foreign one`() {
        #expect(Self.judge([]) == Walk(end: .recoveryPoint))
        #expect(Self.judge([], reaches: false) == Walk(end: .outermost))
    }

    @Test func `How the walk ended is told as it was`() {
        let judge = WalkJudge()
        for end in [Walk.End.recoveryPoint, .outermost, .broken] { #expect(judge.walk(end: end).end == end) }
    }

    @Test(
        arguments: [
            ([.application, .other, .application], true),
            ([.swiftFailure, .application, .swiftCore, .other, .application, .other], true),
            ([.application, .native, .application], true),
            ([.application, .native], false),
            ([.native, .application], false),
            ([.application, .other], false),
            ([.other, .application], false),
            ([.application], false),
        ] as [([WalkJudge.Frame], Bool)]
    )
    func `A library that calls the application back is told from one that called it`(
        frames: [WalkJudge.Frame],
        isInside: Bool
    ) {
        var judge = WalkJudge()
        for frame in frames { judge.add(frame) }
        judge.reachEnd()
        judge.add(.application)
        #expect(judge.walk(end: .outermost).isInsideLibrary == isInside)
    }
}
