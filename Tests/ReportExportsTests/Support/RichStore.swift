@testable import CrashReports

/// The reports of a day: several causes, processes and verdicts, a flood and a recursion.
enum RichStore {
    private struct Cause {
        var reason: String
        var signal: Int
        var code: Int
        var function: String
        var file: String
        var line: Int
        var decision: CrashReport.Verdict.Decision
        /// Minutes after the start of the day.
        var minutes: [Double]
        var pid: Int = 4242
        var process = "mail-agent"
        var message: String?
        var diagnosis: CrashReport.Diagnosis?
    }

    private static let causes = [
        Cause(
            reason: "Unexpectedly found nil while unwrapping an Optional value",
            signal: 4,
            code: 2,
            function: "Router.route(for:)",
            file: "Router.swift",
            line: 88,
            decision: .resume,
            minutes: [12, 14, 15, 90, 91, 93, 210, 330, 420, 421, 422, 424, 480, 640],
            message:
                "MailAgent/Router.swift:88: Fatal error: Unexpectedly found nil while unwrapping an Optional value",
            diagnosis: .init(
                summary: "An optional was nil where Router.route(for:) unwraps it with “!”.",
                next: [
                    "Router.swift:88, column 40: the value that was nil",
                    "the callout “retry queue”, which led there 14 times",
                ]
            )
        ),
        Cause(
            reason: "write to address 0x18 (null page)",
            signal: 11,
            code: 1,
            function: "session_close(session *)",
            file: "session.c",
            line: 412,
            decision: .resume,
            minutes: [300, 305, 700],
            diagnosis: .init(
                summary: "A null pointer was written through: a member 24 bytes into an object that is not there.",
                next: ["session.c:412: which pointer can be null"]
            )
        ),
        Cause(
            reason: "uncaught C++ exception std::out_of_range: map::at",
            signal: 6,
            code: -6,
            function: "Index::lookup(std::string const&) const",
            file: "Index.cpp",
            line: 57,
            decision: .restart,
            minutes: [160, 455, 601],
            message: "terminate called after throwing an instance of 'std::out_of_range'"
        ),
        Cause(
            reason: "stack overflow",
            signal: 11,
            code: 2,
            function: "MIMEPart.parse(depth:)",
            file: "MIMEPart.swift",
            line: 203,
            decision: .restart,
            minutes: [660],
            pid: 5120
        ),
        Cause(
            reason: "killed by pid 1 (user 0)",
            signal: 6,
            code: 0,
            function: "epoll_wait",
            file: "",
            line: 0,
            decision: .terminate,
            minutes: [705],
            pid: 901,
            process: "spool-watcher"
        ),
    ]

    static func reports() -> [CrashReport] {
        let day = Timestamp(seconds: 1_795_219_200)
        return causes.enumerated().flatMap { number, cause in
            cause.minutes.map { minutes in
                report(cause, number, at: day.adding(seconds: minutes * 60 + Double(number)))
            }
        }
    }

    private static func report(_ cause: Cause, _ number: Int, at time: Timestamp) -> CrashReport {
        let digits = ReportID(time: time).rawValue.prefix(12) + "0000000000000000000\(number)"
        var report = RichReport.report(id: ReportID(rawValue: String(digits)) ?? ReportID(time: time), time: time)
        report.fingerprint = Fingerprint(rawValue: "v2-00000000c0ffee0\(number)")
        report.process.name = cause.process
        report.process.pid = cause.pid
        report.process.startTime = Timestamp(seconds: 1_795_219_200 - 600 + Int64(cause.pid - 900) * 8)
        report.occurrences = .init(count: 1, first: time, last: time)
        report.verdict = .init(decision: cause.decision, reason: verdicts[cause.decision.rawValue] ?? "")
        report.fault?.signal = .signal(cause.signal)
        report.fault?.code = .code(cause.code, ofSignal: cause.signal)
        report.reason = cause.reason
        report.fault?.message = cause.message
        report.diagnosis = cause.diagnosis
        if cause.signal != 11 {
            report.fault?.address = nil
            report.fault?.addressKind = nil
            report.fault?.access = .none
        }
        if number != 0 { report.recovery = nil }
        var frames = report.thread.frames
        if number != 0 { frames.removeFirst() }
        let top = frames.firstIndex { !$0.inlined } ?? 0
        frames[top].function = cause.function
        frames[top].file = cause.file.isEmpty ? nil : "/src/Sources/MailAgent/\(cause.file)"
        frames[top].line = cause.line > 0 ? cause.line : nil
        frames[top].isUserCode = !cause.file.isEmpty
        switch number {
        case 1:
            report.occurrences = .init(count: 1200, first: time, last: time.adding(seconds: 1500))
            frames.insert(frame(0, like: frames[top], "__memmove_avx_unaligned_erms", in: "libc.so.6"), at: top)
        case 3:
            let call = frames[top]
            frames.insert(contentsOf: (0..<60).map { _ in call }, at: top)
            report.thread.framesOmitted = 20_400
        default: break
        }
        for index in frames.indices { frames[index].index = index }
        if number == 3 { for index in frames.indices.dropFirst(40) { frames[index].index += 20_400 } }
        report.thread.frames = frames
        return report
    }

    private static func frame(
        _ index: Int,
        like other: CrashReport.Frame,
        _ function: String,
        in image: String
    ) -> CrashReport.Frame {
        var frame = other
        frame.index = index
        frame.function = function
        frame.imageName = image
        frame.file = nil
        frame.line = nil
        frame.isUserCode = false
        return frame
    }

    private static let verdicts = [
        "resume": "only application frames lie above the recovery point",
        "restart": "a frame of a library lies between frames of the application",
        "terminate": "another process sent the signal",
    ]
}
