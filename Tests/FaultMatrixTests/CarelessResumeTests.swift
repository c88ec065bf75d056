import CrashReports
import FaultInjection
import Testing

/// What breaks after a careless resume, item by item: each must have the outcome that keeps it from breaking.
@Suite(.timeLimit(.minutes(180))) struct CarelessResumeTests {
    /// The runs of a case in all builds; it must have ended in the same way in each.
    private func runs(_ cause: Cause, _ place: Place = .block, on site: Site = .main, end: Outcome) throws -> [CaseRun]
    {
        let matrix = try MatrixRun.shared.get()
        let matrixCase = MatrixCase(cause: cause, place: place, site: site)
        return try matrix.builds.map { build in
            let run = try #require(matrix.runs[MatrixRun.Cell(matrixCase: matrixCase, build: build)])
            #expect(run.outcome == end, "\(build.rawValue): \(run.lines)")
            return run
        }
    }

    private func expect(_ checks: [String], in runs: [CaseRun]) {
        for run in runs {
            for check in checks { #expect(run.lines.contains("check \(check): ok"), "\(check): \(run.lines)") }
        }
    }

    @Test func `Accesses that the dead frames had open do not reach later accesses`() throws {
        let runs = try runs(.hazard(.inoutAccess), end: .resume)
        expect(["main checked accesses", "item is called once more"], in: runs)
    }

    @Test func `A Mutex that was held would be trapped on or waited for: restart`() throws {
        _ = try runs(.hazard(.mutex), end: .restart)
    }

    @Test func `A pthread mutex or readers-writer lock that was held would be waited for: restart`() throws {
        _ = try runs(.hazard(.pthreadMutex), end: .restart)
        _ = try runs(.hazard(.pthreadRwlock), end: .restart)
    }

    @Test func `A lazy global that was being made would be waited for: restart`() throws {
        _ = try runs(.hazard(.lazyGlobal), end: .restart)
    }

    @Test func `Metadata that was being made would be waited for: restart`() throws {
        _ = try runs(.hazard(.genericMetadata), end: .restart)
    }

    @Test func `An arena that was locked or broken would hang or break whoever allocates: restart`() throws {
        for cause in [Cause.hazard(.mallocLock), .fault(.doubleFree), .fault(.heapSmash)] {
            _ = try runs(cause, end: .restart)
        }
    }

    @Test func `An overflow in a recursion that allocates stands in malloc: restart`() throws {
        _ = try runs(.hazard(.allocatingOverflow), end: .restart)
    }

    @Test func `The standard output's lock would stay with the thread: restart`() throws {
        _ = try runs(.hazard(.printDescription), end: .restart)
        _ = try runs(.hazard(.stdioLock), end: .restart)
    }

    @Test func `A queue inside whose sync it trapped would never run again: restart`() throws {
        _ = try runs(.hazard(.queueSync), end: .restart)
    }

    @Test func `A value of a dictionary that was moved out is lost unseen: resumed, and handed over when quiet`() throws
    {
        _ = try runs(.hazard(.dictionaryModify), end: .resume)
        let matrix = try MatrixRun.shared.get()
        for build in matrix.builds {
            let cell = MatrixRun.Cell(matrixCase: MatrixPlan.handedOver, build: build)
            let run = try #require(matrix.runs[cell])
            #expect(run.outcome == .resumeAndRestart)
            #expect(run.lines.suffix(2) == ["handing over", "restarted 1"])
        }
    }

    @Test func `A task that was current would stay so, and would never be resumed: restart`() throws {
        _ = try runs(.fault(.nilUnwrap), .task, end: .restart)
        _ = try runs(.fault(.nilUnwrap), .mainQueue, end: .restart)
        _ = try runs(.fault(.nilUnwrap), .task, on: .second, end: .restart)
    }

    @Test func `An actor whose code faulted would stay locked for whoever awaits it: the main loop hands over`() throws
    {
        _ = try runs(.fault(.nilUnwrap), .boundaryActor, on: .pool, end: .drainAndRestart)
        _ = try runs(.fault(.nilUnwrap), .boundaryMainActor, end: .restart)
    }

    @Test func `A detached task is outside of the boundary that started it: the main loop hands over`() throws {
        _ = try runs(.fault(.nilUnwrap), .boundaryDetached, on: .pool, end: .drainAndRestart)
    }

    @Test func `A boundary, a child of it and an async let are abandoned, and the loop and the pool go on`() throws {
        for place in Place.boundaries { _ = try runs(.fault(.nilUnwrap), place, on: .pool, end: .resume) }
    }

    @Test func `A pool thread cannot be abandoned: the main loop hands over`() throws {
        _ = try runs(.fault(.nilUnwrap), .threadBody, on: .pool, end: .drainAndRestart)
    }

    @Test func `A stack overflow of a thread that nobody prepared has a report`() throws {
        for site in [Site.pthread, .dispatch, .pool] {
            for run in try runs(.fault(.stackOverflow), .threadBody, on: site, end: .drainAndRestart) {
                #expect(run.reports.map(\.reason) == ["stack overflow"])
            }
        }
    }

    @Test func `A timer that faulted fires again, and what was queued, the main queue and the mode are as before`()
        throws
    {
        let runs = try runs(.fault(.nilUnwrap), .timer, end: .resume)
        expect(
            [
                "item is called again", "item is called once more", "main performs in order",
                "main main dispatch queue",
                "main mode and nesting",
            ],
            in: runs
        )
    }

    @Test func `Another thread that looks into the abandoned frame sees what was there`() throws {
        let runs = try runs(.hazard(.watchedFrame), end: .resume)
        expect(["frame is as it was"], in: runs)
    }
}
