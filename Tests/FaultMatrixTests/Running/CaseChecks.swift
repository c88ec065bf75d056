import CrashReports
import FaultInjection

/// Compares what was seen of a case with what the rules say.
struct CaseChecks {
    let matrixCase: MatrixCase
    let build: Build
    let run: CaseRun

    private var expected: Expectation { Expectation(matrixCase, in: build) }

    /// Everything that is not as it must be, in words.
    var problems: [String] {
        var problems = run.problems
        if run.outcome != expected.outcome { problems.append("\(run.outcome), not \(expected.outcome)") }
        if run.outcome == .resume { problems += missingChecks }
        problems += problemsOfReports
        return problems
    }

    private var missingChecks: [String] {
        let missing = Repertoire.lines(of: matrixCase).subtracting(run.lines)
        return missing.isEmpty ? [] : ["not checked: \(missing.sorted().joined(separator: ", "))"]
    }

    // MARK: Reports

    /// The host's handler is asked for by another fault, which has a report of its own.
    private func isOfMatrix(_ report: CrashReport) -> Bool {
        matrixCase.place != .faultHandler || report.loop?.callout?.label != "cause of a message"
    }

    /// How many reports of the fault there must be: a fault that is resumed is committed twice.
    private var expectedCount: Int {
        switch expected.outcome {
        case .resume: 2
        case .ends: expected.reason == nil ? 0 : 1
        default: 1
        }
    }

    /// Whether it is of a thread that found the heap broken meanwhile, such as the report writer's: a fault of its own, and reported.
    private func isAnotherThreads(_ report: CrashReport) -> Bool {
        guard [.fault(.heapSmash), .fault(.doubleFree)].contains(matrixCase.cause) else { return false }
        // Threads that run jobs of the program's are none of them.
        return report.thread.name?.hasPrefix("holdfast-") == true && report.thread.name != "holdfast-tasks"
    }

    /// Whether a thread of that kind ended the process first: then this fault's verdict is not its own, and one that came at the last
    /// instant has none, and no calls.
    private func isOvertaken(_ report: CrashReport) -> Bool {
        guard run.reports.contains(where: { isAnotherThreads($0) && $0.verdict.decision == expected.decision }) else {
            return false
        }
        return report.verdict.reason == "a fault of another thread had ended the process"
            || report.verdict.reason == "the process ended before a verdict was given"
    }

    private var problemsOfReports: [String] {
        let reports = run.reports.filter { isOfMatrix($0) && !isAnotherThreads($0) }
        var problems: [String] = []
        if reports.count != expectedCount {
            let verdicts = reports.map { "\($0.verdict.decision.rawValue) \($0.reason)" }
            problems.append("\(reports.count) reports, not \(expectedCount): \(verdicts)")
        }
        if run.reports.compactMap(\.fault?.number) != Array(1..<run.reports.count + 1) {
            problems.append("reports are numbered \(run.reports.compactMap(\.fault?.number))")
        }
        // One each: a second fault's report has the same faults as the first.
        for report in reports.prefix(1) { problems += self.problems(of: report) }
        return problems
    }

    /// Whether the reason is that of a heap that nobody may use: with a static standard library it is not looked up then whose the frames
    /// behind are.
    private func isSaidOtherwise(_ reason: Reason, _ report: CrashReport) -> Bool {
        ProbeBuilds.areStatic && reason.words.contains("a library's frame lies between")
            && report.verdict.reason.hasPrefix("it happened inside a library")
    }

    private func problems(of report: CrashReport) -> [String] {
        let cause = matrixCase.cause
        var problems: [String] = []
        func require(_ what: String, _ seen: some Equatable & Sendable, _ expected: some Equatable & Sendable) {
            if "\(seen)" != "\(expected)" { problems.append("report: \(what) is \(seen), not \(expected)") }
        }
        require("signal", report.fault?.signal.name ?? "none", SignalText.name(cause.signal))
        let isOvertaken = isOvertaken(report)
        if !isOvertaken {
            require("verdict", report.verdict.decision.rawValue, expected.decision?.rawValue ?? "none")
            if let reason = expected.reason, !reason.words.contains(where: report.verdict.reason.contains),
                !isSaidOtherwise(reason, report)
            {
                problems.append("report: the reason is \"\(report.verdict.reason)\", not \"\(reason.words)\"")
            }
        }
        require("main thread", report.thread.isMain, matrixCase.site == .main)
        if matrixCase.site == .second { require("thread name", report.thread.name ?? "", "second loop") }
        if matrixCase.site == .eventLoop {
            require("thread name", report.thread.name?.prefix(7) ?? "", "NIO-ELT")
        }
        let callout = CalloutFacts(matrixCase.place, on: matrixCase.site)
        require("callout kind", report.loop?.callout?.kind.rawValue ?? "none", callout?.kind.rawValue ?? "none")
        require("callout label", report.loop?.callout?.label ?? "none", callout?.label ?? "none")
        if let callout {
            require("nesting", report.loop?.nesting ?? 0, callout.nesting)
            require("mode", report.loop?.mode ?? "none", callout.mode)
        }
        if !cause.hasLeftStack, !isOvertaken, !namesFunction(report) {
            let functions = report.thread.frames.prefix(8).map { $0.function ?? "?" }
            problems.append("report: no frame of \(cause.functionName) in \(functions)")
        }
        if cause == .fault(.cxxException) {
            let text = "\(report.reason) \(report.fault?.message ?? "")"
            let words = ["std::runtime_error", "an exception that nobody catches"]
            if !words.allSatisfy(text.contains) { problems.append("report: the exception is \"\(text)\"") }
        }
        return problems
    }

    private func namesFunction(_ report: CrashReport) -> Bool {
        report.thread.frames.contains { frame in
            frame.function?.split { !$0.isLetter && !$0.isNumber }.contains { $0 == matrixCase.cause.functionName }
                ?? false
        }
    }
}
