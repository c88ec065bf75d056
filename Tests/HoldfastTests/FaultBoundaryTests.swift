import CrashReports
import Foundation
import Glibc
import TestSupport
import Testing

/// Faults in the tasks of a program with an async main.
@Suite(.timeLimit(.minutes(5))) struct FaultBoundaryTests {
    /// What came of a scenario of `boundary-probe`.
    private struct Run {
        let end: ChildProcess.End
        let lines: [String]
        let errors: String
        let store: StoreReader

        init(_ scenario: String, _ number: Int = 0, within limit: Duration = .seconds(60)) throws {
            store = try StoreReader()
            let run = try ProgramRun.run(
                try BuiltProduct.path(of: "boundary-probe"),
                [scenario, store.path, "\(number)"],
                within: limit
            )
            (end, errors) = (run.end, run.errors)
            lines = run.output.split(separator: "\n").map(String.init)
        }

        /// The reports, also of what the process had no time for.
        func reports() throws -> [CrashReport] {
            _ = try store.list()
            return try store.reports()
        }
    }

    private static let faulted = "faulted: a fault on purpose"

    @Test(
        arguments: [
            "plain", "suspended", "child", "let", "stream", "handler", "dictionary",
        ]
    )
    func `A fault costs its boundary, and the program goes on`(scenario: String) throws {
        let run = try Run(scenario)
        #expect(run.end == .exited(0), "\(run.errors.suffix(2000))")
        #expect(run.lines == ["\(scenario) \(Self.faulted), fault 1, boundary \(scenario)", "end"])
        let report = try #require(try run.reports().first)
        #expect(report.verdict.decision == .resume)
        #expect(report.loop?.callout?.kind == .task && report.loop?.callout?.label == scenario)
    }

    @Test(arguments: ["continuation", "deinit", "task-local-binding"])
    func `Inside a function of the standard library only a build that inlines it resumes`(scenario: String) throws {
        let run = try Run(scenario)
        let label = scenario == "task-local-binding" ? "bound" : scenario
        let report = try #require(try run.reports().first)
        if BuiltProduct.isDebug {
            #expect(run.end == .exited(77) && run.lines.isEmpty)
            #expect(report.verdict.reason.hasPrefix("a library's frame lies between the application's"))
        } else {
            #expect(run.lines.first == "\(label) \(Self.faulted), fault 1, boundary \(label)")
            // A value that was bound inside goes with the task.
            #expect(run.lines.last == (label == "bound" ? "local none" : "end"))
        }
    }

    @Test func `What the body returns or throws is what the call returns or throws`() throws {
        let run = try Run("returned")
        #expect(run.end == .exited(0))
        #expect(run.lines == ["value returned 7", "error threw OwnError()", "end"])
    }

    @Test func `A task goes to the executor that it prefers, and comes back into its boundary`() throws {
        let run = try Run("executor")
        #expect(run.end == .exited(0), "\(run.errors.suffix(2000))")
        #expect(
            run.lines == [
                "outside true false", "inside true false false",
                "executor \(Self.faulted), fault 1, boundary executor", "end",
            ]
        )
    }

    @Test func `A task may end the process by exit`() throws {
        let run = try Run("exit")
        #expect(run.end == .exited(5), "\(run.errors.suffix(2000))")
        #expect(try run.reports().isEmpty)
    }

    @Test func `Without a host the body is called as if there were no boundary`() throws {
        let run = try Run("unprotected")
        #expect(run.end == .exited(0))
        #expect(run.lines == ["unprotected returned 3"])
    }

    @Test func `A fault in a boundary inside another one costs the inner one`() throws {
        let run = try Run("nested")
        #expect(run.lines == ["inner \(Self.faulted), fault 1, boundary inner", "outer returned 2", "end"])
    }

    @Test func `Cleanups of an abandoned boundary run before its caller hears of it, the latest first`() throws {
        let run = try Run("cleanup")
        #expect(
            run.lines == [
                "second", "first", "cleanup \(Self.faulted), fault 1, boundary cleanup", "no cleanup returned 4",
                "end",
            ]
        )
    }

    @Test func `Task-local values, name and priority are the caller's, and children are inside`() throws {
        let run = try Run("values")
        #expect(
            run.lines == [
                "local bound, label values", "child bound, values", "unstructured none", "values returned 0",
                "name named, priority high", "name returned 0", "end",
            ]
        )
    }

    @Test(arguments: ["", "tasks"])
    func `A program with a loop has boundaries as soon as it has a host`(how: String) throws {
        let run = try HostRun("boundaries", how)
        var lines: [String] = []
        while let line = try run.line() { lines.append(line) }
        let answers = ["answer 1", "job 1 true", "answer 3"]
        #expect(lines.filter { answers.contains($0) } == answers)
        #expect(Set(lines) == Set(answers + ["in a boundary true, job, true", "the same report true"]), "\(lines)")
    }

    @Test func `Where reports cannot be stored, no id is given`() throws {
        let run = try ProgramRun.run(
            try BuiltProduct.path(of: "recovery-probe"),
            ["boundaries", "/dev/null/no-store"],
            within: .seconds(60)
        )
        let lines = run.output.split(separator: "\n").map(String.init)
        #expect(lines.contains("job 1 false") && lines.contains("in a boundary true, job, false"), "\(lines)")
        #expect(lines.contains("the same report true"))
    }

    @Test func `Who cancels the caller cancels the body`() throws {
        let run = try Run("cancelled")
        #expect(run.lines == ["waits", "cancelled threw CancellationError()", "end"])
    }

    @Test func `The children of an abandoned boundary are cancelled`() throws {
        let run = try Run("siblings")
        #expect(run.lines.contains("siblings \(Self.faulted), fault 1, boundary siblings"))
        #expect(run.lines.contains("cancelled true") && run.lines.last == "end")
    }

    @Test func `A body that is late is cancelled, then ended where it is`() throws {
        #expect(
            try Run("in-time").lines == ["in time returned 1", "throws threw CancellationError()"]
                + ["faults \(Self.faulted), fault 1, boundary faults", "end"]
        )
        #expect(try Run("sleeping").lines == ["sleeping late, no report, 0.02 seconds", "end"])
        #expect(try Run("partial").lines == ["partial returned 7", "end"])
        // Its own cleaning up is left to a body that may go on.
        #expect(try Run("deaf").lines == ["deaf late, no report, 0.02 seconds", "end"])
        let run = try Run("spinning", 6)
        let spun = Array(repeating: "spinning late, report, 0.02 seconds", count: 6)
        #expect(run.lines == spun + ["next returned 4", "end"], "\(run.errors.suffix(2000))")
        let report = try #require(try run.reports().first)
        #expect(report.reason.contains("deadline") && report.verdict.decision == .resume)
    }

    @Test func `A deadline waits for no other, whatever the bodies do when they are cancelled`() throws {
        let blocked = Array(repeating: "blocked late, no report, 0.02 seconds", count: 8)
        #expect(try Run("blocked-handlers", 8).lines == blocked + ["next late, no report, 0.02 seconds", "end"])
        let waiting = Array(repeating: "mutex late, no report, 0.02 seconds", count: 12)
        #expect(try Run("mutexes", 12).lines == waiting + ["together true", "end"])
    }

    @Test(arguments: ["sleep", "calculate", "bound", "signal", "starved"])
    func `A job that keeps its thread from those who wait for it is a stall, with the function that does it`(
        how: String
    ) throws {
        let run = try Run("stall-\(how)", 16)
        #expect(run.end == .exited(0), "\(run.errors.suffix(2000))")
        let stalls = try run.reports().filter { $0.stall?.subject == .job }
        let report = try #require(stalls.first)
        let function = how == "sleep" ? "dawdle()" : "calculate()"
        #expect(report.thread.frames.contains { $0.function == function })
        #expect(report.loop?.callout?.label == (how == "starved" ? nil : "stall-\(how)"))
        #expect(report.reason.hasPrefix("stalled for") && report.stall?.end == .wentOn)
        guard how != "starved" else { return }
        // Who awaits it, and what the other tasks did meanwhile.
        let awaits = report.thread.frames.filter { $0.asyncRole != nil }.compactMap(\.function)
        #expect(
            awaits.contains { $0.contains("closure #2 in FaultBoundary.start") || $0.contains("attempt") },
            "\(awaits)"
        )
        let group = try #require(report.tasks?.groups.first)
        #expect(group.label == "stall-\(how)" && group.state == "running")
        #expect(group.frames.contains { $0.function == function })
    }

    @Test func `An actor that does not answer is a stall of the job that keeps it`() throws {
        let run = try Run("stall-actor")
        #expect(run.end == .exited(0), "\(run.errors.suffix(2000))")
        #expect(run.lines == ["sum true", "end"])
        let report = try #require(try run.reports().first { $0.stall?.subject == .ping })
        #expect(report.stall?.label == "ledger" && report.stall?.end == .wentOn)
        let functions = report.thread.frames.compactMap(\.function)
        #expect(
            functions.contains { $0.hasPrefix("calculate()") } && functions.contains { $0.contains("Ledger.sum()") }
        )
        // The call of the actor's function is synchronous, after a hop.
        #expect(functions.contains { $0.hasPrefix("audit(") }, "\(functions)")
        // Those between are inlined in an optimised build.
        #expect(Self.functions(report, "await").contains { $0.contains("BoundaryProbe.main()") }, "\(functions)")
    }

    @Test func `A job that keeps its thread after it gave its task away has no async calls: they are another thread's`()
        throws
    {
        let run = try Run("stall-handover")
        #expect(run.end == .exited(0), "\(run.errors.suffix(2000))")
        let report = try #require(
            try run.reports().first {
                $0.stall?.subject == .job && $0.thread.frames.contains { $0.function?.contains("Reluctant") == true }
            }
        )
        let functions = report.thread.frames.compactMap(\.function)
        #expect(functions.contains { $0.hasPrefix("dawdle()") } && functions.contains("swift_task_switch"))
        #expect(Self.functions(report, "await") == [], "\(functions)")
    }

    @Test func `A body that waits and a job that nobody waits for are no stalls`() throws {
        let run = try Run("stall-none")
        #expect(run.lines == ["stall-none returned 1", "end"])
        #expect(try run.reports().allSatisfy { $0.stall?.subject != .job })
    }

    @Test func `Every fault of very many is answered, and nothing else is`() throws {
        let run = try Run("many", 1600)
        #expect(run.end == .exited(0), "\(run.errors.suffix(2000))")
        #expect(run.lines == ["faulted 800, returned 800", "resumed 800", "end"])
    }

    @Test func `Each of 200 faults can be found by the id that its caller got, with the request's own id`() throws {
        let run = try Run("requests", 200, within: .seconds(300))
        #expect(run.end == .exited(0), "\(run.errors.suffix(2000))")
        let reports = try run.reports()
        #expect(reports.reduce(0) { $0 + $1.occurrences.count } == 200)
        let store = ReportStore(run.store.path)
        let answers = run.lines.dropLast().map { $0.split(separator: " ") }
        #expect(answers.count == 200)
        for answer in answers {
            let (request, id) = (String(answer[0]), String(answer[1]))
            let report = try store.load(try store.identify(prefix: id))
            let other = report.occurrences.others?.first { $0.id.rawValue == id }
            let tags = report.id.rawValue == id ? report.context?.tags : other?.tags
            #expect(
                tags == [
                    "request.id": "r\(request)", "client": "c\((Int(request) ?? 0) % 64)",
                    "password": TextRedaction.mark,
                ]
            )
            var filter = ReportFilter()
            filter.tags = ["request.id": "r\(request)"]
            #expect(try store.summaries(matching: filter).summaries.map(\.id) == [report.id])
        }
        // One of them has a report of its own, the last ones are counted.
        #expect(reports.count < 40 && reports.contains { $0.occurrences.others != nil })
    }

    @Test func `An actor and a callout may call a boundary, and go on after its fault`() throws {
        let run = try Run("from-actor")
        #expect(
            run.lines == [
                "actor \(Self.faulted), fault 1, boundary actor", "calls 1",
                "actor \(Self.faulted), fault 2, boundary actor", "calls 2", "end",
            ]
        )
        let other = try Run("from-callout")
        #expect(other.lines == ["callout \(Self.faulted), fault 1, boundary callout", "end"])
    }

    @Test func `After the host was closed the body is called as if there were no boundary`() throws {
        let run = try Run("closed")
        #expect(run.end == .exited(0), "\(run.errors.suffix(2000))")
        #expect(run.lines == ["closed returned 3", "end"])
    }

    @Test func `The second fault at a place has the words of the first one's report`() throws {
        let run = try Run("again")
        try #require(run.lines.count == 3, "\(run.errors.suffix(2000))")
        #expect(run.lines[0].hasSuffix(" at no place"))
        #expect(run.lines[1].contains("ndex out of range at element(of:at:) at ResumedScenarios.swift:"))
    }

    /// Twelve warnings are more than a record has room for.
    @Test(arguments: [1, 12])
    func `A fault after continuations that were leaked has its own reason and group`(count: Int) throws {
        let run = try Run("leaks", count)
        #expect(run.errors.components(separatedBy: "leaked its continuation").count == count + 1)
        #expect(run.lines.count == 2 && run.lines.last == "end", "\(run.lines) \(run.errors.suffix(2000))")
        let report = try #require(try run.reports().first)
        #expect(report.reason.contains("ndex out of range"), "\(report.reason)")
        #expect(report.fault?.message?.contains("CONTINUATION") != true)
        // Only a debug build says something of the fault itself.
        #expect(
            report.fault?.message?.hasSuffix("Fatal error: Index out of range") == (BuiltProduct.isDebug ? true : nil)
        )
        let other = try #require(try Run("leaks", 0).reports().first)
        #expect(report.fingerprint == other.fingerprint && report.reason == other.reason)
    }

    @Test func `A lock that an async body has let go of does not count`() throws {
        let run = try Run("mutex-released")
        let labels = ["used", "read", "thrown", "suspended", "before", "loop"]
        let faults = labels.enumerated().map { "\($1) \(Self.faulted), fault \($0 + 1), boundary \($1)" }
        #expect(run.end == .exited(0), "\(run.errors.suffix(2000))")
        // Four of them count one before they fault, and the loop 0, 1 and 2.
        #expect(run.lines == faults + ["the lock is free 7", "end"])
        #expect(try run.reports().allSatisfy { $0.verdict.decision == .resume })
    }

    @Test func `A label that faults too often is refused, and tried again`() throws {
        let run = try Run("label-quarantine")
        let faults = (1...3).map { "route \(Self.faulted), fault \($0), boundary route" }
        #expect(
            run.lines == faults + [
                "route has faulted too often; it is tried again in 30 s", "other returned 2",
                "quarantined true, ended true, ended false", "route returned 3",
                "route \(Self.faulted), fault 4, boundary route",
                "route has faulted too often; it is tried again in 60 s", "end",
            ]
        )
        let reports = try run.reports()
        #expect(reports.filter { $0.recovery?.quarantined == true }.compactMap(\.fault?.number).sorted() == [3, 4])
        let retried = try Run("label-retried")
        #expect(retried.lines == faults + ["returned 1, quarantined false", "end"])
    }

    @Test func `Bodies that had begun before their label was quarantined are resumed`() throws {
        let run = try Run("label-strays", 100)
        #expect(run.end == .exited(0), "\(run.errors.suffix(2000))")
        #expect(
            run.lines == [
                "faulted 100, refused 0", "route has faulted too often; it is tried again in 30 s", "begun: 2", "end",
            ]
        )
    }

    @Test func `A job is judged and told by the label that it began with`() throws {
        let run = try Run("label-changed")
        #expect(
            run.lines == (1...3).map { "old \(Self.faulted), fault \($0), boundary old" } + [
                "quarantined true false", "old has faulted too often; it is tried again in 30 s", "new returned 2",
                "end",
            ]
        )
    }

    @Test func `A body may give its boundary another label`() throws {
        let run = try Run("label-set")
        let labels = ["job", "next job", "child", "route", "route", "route"]
        let faults = labels.enumerated().map { number, label in
            "\(number < 3 ? "method" : label) \(Self.faulted), fault \(number + 1), boundary \(label)"
        }
        #expect(
            run.lines == faults + [
                "route has faulted too often; it is tried again in 30 s", "method returned 2", "end",
            ]
        )
        let reports = try run.reports().filter { ["job", "next job", "child"].contains($0.loop?.callout?.label) }
        #expect(reports.count == 3)
    }

    @Test func `A label of many routes is never quarantined`() throws {
        let run = try Run("label-of-many")
        #expect(run.lines == (1...7).map { "fault \($0)" } + ["quarantined false", "end"])
    }

    @Test func `A label has a recovery policy of its own`() throws {
        let run = try Run("label-policy")
        #expect(run.end == .exited(77))
        #expect(
            run.lines == [
                "others have none: true, it has one: true", "route \(Self.faulted), fault 1, boundary route",
            ]
        )
    }

    @Test func `Jobs that block every thread of the pool do not keep others from running`() throws {
        let run = try Run("blocked", 8)
        #expect(run.lines == ["ran beside them", "end"])
    }

    @Test(
        arguments: [
            ("actor", "the job was isolated to an actor"),
            ("main-actor", "a library's frame lies between"), ("outside", "a library's frame lies between"),
            ("detached", "outside of a callout of the loop"), ("unstructured", "outside of a callout of the loop"),
            ("mutex", "a function that holds a lock"), ("mutex-async", "a function that holds a lock"),
            ("mutex-switch", "a function that holds a lock"),
            ("pthread-mutex", "a lock that the callout took is still held"),
            ("critical", "inside a critical section"), ("memory", "the policy does not resume memory faults"),
            ("allocator", "the policy does not resume memory faults"), ("budget", "faults"),
            ("task-memory", "it happened inside a library"),
        ]
    )
    func `What would leave something broken ends the process, and the report says why`(
        scenario: String,
        reason: String
    ) throws {
        let run = try Run(scenario)
        #expect(run.end == .exited(77), "\(run.lines) \(run.errors.suffix(2000))")
        #expect(!run.lines.contains("end"))
        let report = try #require(try run.reports().first { $0.verdict.decision == .restart })
        #expect(report.verdict.reason.contains(reason), "\(report.verdict.reason)")
    }

    @Test func `A process that has ended a body counts as one that has served: a fault restarts it at once`() throws {
        let run = try Run("served-something", 7)
        #expect(run.lines == Array(repeating: "ok returned 1", count: 8) + ["restarts 7", "end"])
        #expect(!run.errors.contains("waiting before serving") && !run.errors.contains("safe mode"), "\(run.errors)")
        // Without a boundary that has ended, jobs count from a second after the start on.
        let late = try Run("served-tasks", 3)
        #expect(
            late.lines == ["restarts 3", "end"] && !late.errors.contains("waiting before serving"),
            "\(late.errors)"
        )
        let other = try Run("served-nothing", 3)
        #expect(other.lines == ["restarts 3", "end"])
        #expect(other.errors.contains("waiting before serving"), "\(other.errors)")
    }

    @Test func `The report of a fault that restarts the process says whose work it was`() throws {
        let run = try Run("served-described", 3)
        #expect(run.lines == ["restarts 3", "end"], "\(run.errors.suffix(2000))")
        let reports = try run.reports().filter { $0.verdict.decision != .resume }
        #expect(reports.compactMap { $0.context?.tags["request.id"] }.sorted() == ["0", "1", "2"])
        #expect(reports.allSatisfy { $0.context?.tags["password"] != "swordfish" })
    }

    // MARK: Async calls behind the stack

    private static func functions(_ report: CrashReport, _ kind: String) -> [String] {
        report.thread.frames.filter { $0.kind.rawValue == kind }.compactMap(\.function)
    }

    @Test func `A report has the functions that await the one that faulted, innermost first`() throws {
        let report = try #require(try Run("chain").reports().first)
        let frames = report.thread.frames
        let calls = frames.filter { $0.kind.rawValue != "await" }.compactMap(\.function)
        #expect(calls.contains("query()"))
        let awaits = Self.functions(report, "await").filter { ["loadUser()", "showUser()"].contains($0) }
        #expect(awaits == ["loadUser()", "showUser()"])
        let lines = frames.filter { $0.kind.rawValue == "await" && $0.function == "loadUser()" }
        #expect(lines.allSatisfy { $0.file?.hasSuffix("ChainScenarios.swift") == true && $0.line != nil })
        // They stand where they belong: behind the async function, before what runs it.
        let last = try #require(frames.lastIndex { $0.kind.rawValue == "await" })
        #expect(frames[last...].contains { $0.function?.contains("runJobInEstablishedExecutorContext") == true })
        #expect(frames.map(\.index) == Array(frames.indices))
    }

    @Test(arguments: [("chain-group", "gather()"), ("chain-let", "pair()")])
    func `It goes on with those of the task that a child task belongs to`(scenario: String, parent: String) throws {
        let report = try #require(try Run(scenario).reports().first)
        #expect(Self.functions(report, "parentAwait").contains { $0.contains(parent) }, "\(report.thread.frames)")
        #expect(!Self.functions(report, "await").contains { $0 == parent })
    }

    @Test(arguments: [
        ("chain-stream", "consume()", "readAll()"), ("chain-actor", "Shelf.count()", "visit()"),
        ("chain-c", "sortRows()", "page()"), ("chain-callback", "hold()", "wrap()"),
    ])
    func `They are there in a loop over a stream, on an actor, below a C function and in a continuation's closure`(
        scenario: String,
        function: String,
        caller: String
    ) throws {
        let report = try #require(try Run(scenario).reports().first)
        let calls = report.thread.frames.filter { $0.kind.rawValue != "await" }.compactMap(\.function)
        #expect(calls.contains { $0.contains(function) }, "\(calls)")
        let awaits = Self.functions(report, "await")
        #expect(awaits.contains(caller), "\(awaits)")
        // The function that faulted awaits nothing, but for the one whose closure did: it awaits what calls the closure.
        #expect(scenario == "chain-callback" || !awaits.contains { $0.contains(function) }, "\(awaits)")
    }

    @Test func `A stripped program has them, too, as addresses`() throws {
        let folder = try TemporaryFolder()
        let (program, store) = (folder.path + "/stripped", folder.path + "/store")
        let original = try BuiltProduct.path(of: "boundary-probe")
        #expect(try ProgramRun.run("/usr/bin/strip", ["-o", program, original]).end == .exited(0))
        // Nothing tells Swift from C in it, so the fault is not resumed.
        #expect(try ProgramRun.run(program, ["chain", store, "0"]).end == .exited(77))
        _ = try ProgramRun.crashreport(["list", "--store", store])
        let path = try #require(
            try FileManager.default.contentsOfDirectory(atPath: store + "/reports").first { $0.hasSuffix(".json") }
        )
        let report = try CrashReport(json: Array(Data(contentsOf: URL(fileURLWithPath: store + "/reports/" + path))))
        let awaits = report.thread.frames.filter { $0.kind.rawValue == "await" }
        #expect(awaits.count >= 3)
        #expect(awaits.allSatisfy { $0.imageOffset != nil })
    }
}
