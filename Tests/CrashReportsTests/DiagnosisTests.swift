import ReportTestSupport
import Testing

@testable import CrashReports

@Suite struct DiagnosisTests {
    /// A fault in `Router.route(for:) (Router.swift:88)`, called by way of `memcpy` if `library` says so.
    private static func report(
        _ signal: Int,
        _ code: Int,
        message: String? = nil,
        check: String? = nil,
        kind: CrashReport.Fault.AddressKind? = nil,
        access: CrashReport.Fault.Access = .none,
        address: UInt64? = nil,
        library: String? = nil,
        isSwift: Bool = true
    ) -> CrashReport {
        var names: [CrashReport.Frame] = []
        if let check { names.append(SampleReport.frame(0, "Swift runtime failure: \(check)")) }
        if let library { names.append(SampleReport.frame(names.count, library, isUserCode: false)) }
        var frame = SampleReport.frame(names.count, "Router.route(for:)", line: 88)
        frame.file = isSwift ? "/src/Router.swift" : "/src/router.c"
        frame.inlined = false
        if names.count == 1, check != nil { names[0].inlined = true }
        var report = SampleReport.minimal(message: message, frames: names + [frame])
        report.fault?.signal = .signal(signal)
        report.fault?.code = .code(code, ofSignal: signal)
        report.fault?.addressKind = kind
        report.fault?.access = access
        report.fault?.address = address.map(HexAddress.init(_:))
        let pid = report.process.pid
        report.fault?.sender = code <= 0 ? .init(pid: pid, uid: 0) : nil
        return report
    }

    /// A callout that was interrupted at its deadline, in its own code or where it waited.
    private static func late(_ seconds: Double, waitingIn library: String? = nil) -> CrashReport {
        var report = report(16, -6, library: library)
        report.fault?.deadlineSeconds = seconds
        report.loop = .init(
            mode: "default",
            activity: "afterWaiting",
            callout: .init(kind: .timer, label: "a timer", item: 7),
            nesting: 1,
            pass: 1
        )
        return report
    }

    /// A trap of libdispatch, which these functions have called.
    private static func checked(by functions: String...) -> CrashReport {
        var report = report(4, 2)
        let callers = ["_dispatch_assert_queue_fail"] + functions
        report.thread.frames =
            callers.enumerated().map { SampleReport.frame($0, $1, isUserCode: false) } + report.thread.frames
        return report
    }

    private static func swift(_ text: String) -> CrashReport { report(4, 2, message: "Fatal error: \(text)") }
    private static let leak = "SWIFT TASK CONTINUATION MISUSE: f() leaked its continuation without resuming it.\n"
    private static func abort(_ text: String?) -> CrashReport { report(6, -6, message: text) }

    /// A report, and words that its summary must have.
    private static let cases: [(CrashReport, String)] = [
        (swift("Unexpectedly found nil while unwrapping an Optional value"), "optional was nil"),
        (swift("Unexpectedly found nil while implicitly unwrapping an Optional value"), "optional was nil"),
        (report(4, 2, check: "Unexpectedly found nil while unwrapping an Optional value"), "optional was nil"),
        (swift("Index out of range"), "element that it does not have"),
        (swift("Array index is out of range"), "element that it does not have"),
        (swift("String index is out of bounds"), "element that it does not have"),
        (swift("Can't remove first element from an empty collection"), "element that it does not have"),
        (report(4, 2, check: "Index out of range"), "element that it does not have"),
        (report(4, 2, message: leak, check: "Index out of range"), "element that it does not have"),
        (report(4, 2, message: leak + "a.swift:1: Fatal error: Index out of range"), "element that it does not have"),
        (
            swift("SWIFT TASK CONTINUATION MISUSE: f() tried to resume its continuation more than once, returning ()!"),
            "A continuation was resumed twice"
        ),
        (report(4, 2, check: "arithmetic overflow"), "too large or too small"),
        (swift("Division by zero"), "divided by zero"),
        (report(8, 1), "divided by zero"),
        (late(2), "of the timer “a timer” ran for longer than its deadline of 2 s; it was interrupted in"),
        (late(0.25, waitingIn: "read"), "(Router.swift:88), which had called read"),
        (swift("Negative value is not representable"), "does not fit the type"),
        (
            swift("Double value cannot be converted to Int because it is either infinite or NaN"),
            "does not fit the type"
        ),
        (swift("Range requires lowerBound <= upperBound"), "end lies before its start"),
        (swift("Dictionary literal contains duplicate keys"), "same key twice"),
        (
            abort("Could not cast value of type 'Swift.Int' (0x7f00) to 'Swift.String' (0x7f01).\n"),
            "type Swift.Int was taken for a Swift.String"
        ),
        (
            swift("'try!' expression unexpectedly raised an error: Demo.(unknown context at $55aa).Oops(code: 3)"),
            "(try!) was thrown, a Demo.Oops, in"
        ),
        (
            swift("Attempted to read an unowned reference but object 0x55aa was already deallocated"),
            "used after it was gone"
        ),
        (
            abort("Simultaneous accesses to 0x7f00, but modification requires exclusive access.\nPrevious access: …"),
            "already being changed"
        ),
        (report(4, 2, message: "a.swift:1: Precondition failed: n > 0"), "did not hold: “n > 0”"),
        (report(4, 2, check: "precondition failure"), "condition that the code relies on"),
        (report(4, 2, message: "Assertion failed: n > 0"), "assertion did not hold: “n > 0”"),
        (swift("no route"), "gave up on purpose (fatalError): “no route”"),
        (checked(by: "dispatch_assert_queue", "swift_task_isCurrentExecutorWithFlags"), "one actor or thread"),
        (
            checked(by: "_swift_task_checkIsolatedSwift", "static MainActor.assumeIsolated<A>()"),
            "the main actor ran on another"
        ),
        (checked(by: "dispatch_sync"), "a dispatch object was used"),
        (report(4, 2, message: "Fatal error"), "gave up on purpose (fatalError), in"),
        (swift("Incorrect actor executor assumption; Expected same executor as MainActor."), "one actor or thread"),
        (report(4, 2), "an optimised build does not say which"),
        (report(4, 2, isSwift: false), "(a trap)"),
        (report(4, 5), "only the kernel may run"),
        (report(5, 1), "breakpoint"),
        (abort("a.out: a.c:3: f: Assertion `x == 1' failed.\n"), "assertion of C code did not hold: “x == 1”"),
        (abort("free(): double free detected in tcache 2\n"), "freed twice"),
        (abort("double free or corruption (out)\n"), "freed twice"),
        (abort("malloc(): corrupted top size\n"), "notes overwritten"),
        (abort("corrupted size vs. prev_size\n"), "notes overwritten"),
        (abort("*** stack smashing detected ***: terminated\n"), "past the end of a variable on its stack"),
        (abort("*** buffer overflow detected ***: terminated\n"), "past the end of a buffer"),
        (abort("out of luck\n"), "(abort): “out of luck”"),
        (abort(nil), "gave up on purpose (abort), in"),
        (swift("failed to allocate 88 bytes"), "the system did not give"),
        (report(11, 1, kind: .noCode, access: .read, address: 0), "null pointer was used: the code read address 0x0"),
        (report(11, 1, kind: .noCode, access: .write, address: 24), "24 bytes into it: the code wrote to"),
        (report(11, 1, kind: .noCode, access: .execute, address: 0), "called through a null pointer"),
        (report(11, 2, kind: .notExecutable, access: .execute, address: 0x5000), "which is no code"),
        (report(11, 2, kind: .stackGuard, access: .write, address: 0x5000), "The main thread's stack is used up"),
        (report(11, 0x80, kind: .nonCanonical), "value that no address has"),
        (report(11, 2, kind: .readOnly, access: .write, address: 0x5000), "may not be written"),
        (report(11, 1, kind: .unmapped, access: .read, address: 0x5000), "pointer led nowhere: the code read address"),
        (
            report(11, 1, kind: .unmapped, access: .read, address: 0x5000, library: "memcpy"),
            "which had called memcpy of libc.so.6"
        ),
        (report(11, 1, kind: .unmapped, access: .read, address: 0x5000, library: "free"), "notes overwritten"),
        (
            report(11, 1, kind: .unmapped, access: .read, address: 0x5000, library: "swift_retain"),
            "not lead to an object"
        ),
        (report(7, 2, kind: .pastEndOfFile, access: .read), "shorter than its mapping"),
        (report(7, 1), "not a multiple"),
        (report(7, 4, address: 0x5000), "is defective at address 0x5000"),
        (report(7, 0x80), "stack pointer itself"),
        (report(8, 7), "FPE_FLTINV"),
        (report(11, -6), "sent itself SIGSEGV"),
        (report(31, 1), "system call"),
        (report(99, 7), "signal 99"),
    ]

    @Test(arguments: cases.indices)
    func `A fault has a diagnosis of its own`(index: Int) {
        let (report, words) = Self.cases[index]
        let diagnosis = CrashReport.Diagnosis(of: report)
        #expect(diagnosis.summary.contains(words), "\(diagnosis.summary)")
        #expect(!diagnosis.next.isEmpty)
        if !diagnosis.summary.contains("used up"), !diagnosis.summary.contains("defective") {
            #expect(
                diagnosis.summary.contains("Router.route(for:) (\(report.thread.frames.last?.sourceLocation ?? "?"))")
            )
        }
    }

    @Test func `A signal from outside is somebody else's doing`() {
        var report = Self.report(6, 0)
        report.fault?.sender = .init(pid: 1, uid: 0)
        let watchdog = CrashReport.Diagnosis(of: report)
        #expect(watchdog.summary.hasPrefix("The service manager (pid 1) ended the process with SIGABRT"))
        #expect(watchdog.next[0].contains("WatchdogSec="))
        report.fault?.sender = .init(pid: 4711, uid: 7)
        #expect(CrashReport.Diagnosis(of: report).summary.hasPrefix("Process 4711 of user 7 ended"))
        report.process.parentPid = 4711
        #expect(CrashReport.Diagnosis(of: report).summary.hasPrefix("The parent process (pid 4711)"))
    }

    @Test(
        arguments: [
            (.after, 16, "[heap]", "rw-p", "unmapped, 16 bytes past the end of the heap"),
            (.after, 0, "/usr/lib/x.so", "rw-p", "unmapped, at the end of the writable data of /usr/lib/x.so"),
            (.before, 8, "[stack]", "rw-p", "unmapped, 8 bytes before the start of the main thread's stack"),
            (.inside, 8, "/usr/lib/x.so", "r-xp", "unmapped, in the code of /usr/lib/x.so"),
            (.inside, 8, "/usr/lib/x.so", "r--p", "unmapped, in the read-only data of /usr/lib/x.so"),
            (.inside, 8, "", "---p", "unmapped, in memory that is kept free"),
            (.inside, 8, "", "rw-p", "unmapped, in memory of no name"),
            (.inside, 8, "[vdso]", "r-xp", "unmapped, in [vdso]"),
        ] as [(CrashReport.Fault.Mapping.Place, Int, String, String, String)]
    )
    func `What is mapped at an address is said`(
        place: CrashReport.Fault.Mapping.Place,
        distance: Int,
        name: String,
        permissions: String,
        words: String
    ) {
        var report = Self.report(11, 1, kind: .unmapped, access: .read, address: 0x5000)
        report.fault?.mapping = .init(
            place: place,
            distance: distance,
            name: name,
            start: HexAddress(0x4000),
            end: HexAddress(0x5000),
            permissions: permissions
        )
        let summary = CrashReport.Diagnosis(of: report).summary
        #expect(summary.contains("address 0x5000 (\(words))"), "\(summary)")
    }

    @Test func `The file that was cut is named, and who sent a signal`() {
        var report = Self.report(7, 2, kind: .pastEndOfFile, access: .read, address: 0x5000)
        report.fault?.mapping = .init(
            place: .inside,
            distance: 0,
            name: "/var/lib/mail/queue",
            start: HexAddress(0x5000),
            end: HexAddress(0x6000),
            permissions: "r--s"
        )
        #expect(CrashReport.Diagnosis(of: report).summary.hasPrefix("A mapped file (/var/lib/mail/queue) is shorter"))
        report = Self.report(11, 0)
        report.fault?.sender = .init(pid: 4711, uid: 0, name: "watchdogd")
        #expect(CrashReport.Diagnosis(of: report).summary.hasPrefix("Process 4711 “watchdogd” of user 0 ended"))
    }

    @Test func `An uncaught exception is named`() {
        var report = Self.abort(nil)
        report.fault?.exception = .init(type: "std::out_of_range", message: "map::at")
        #expect(
            CrashReport.Diagnosis(of: report).summary
                == "A C++ exception of type std::out_of_range was thrown and nobody caught it: “map::at”, "
                + "in Router.route(for:) (Router.swift:88)."
        )
        report.fault?.exception = .init(type: "std::bad_alloc")
        #expect(CrashReport.Diagnosis(of: report).summary.hasPrefix("Memory was asked for"))
    }

    @Test func `The functions of a recursion are named`() {
        var report = Self.report(11, 2, kind: .stackGuard, access: .write, address: 0x5000)
        let names = ["helper"] + Array(repeating: ["visit(_:)", "children(of:)"], count: 40).flatMap(\.self) + ["main"]
        report.thread.frames = names.enumerated().map { SampleReport.frame($0.offset, $0.element) }
        report.thread.isMain = false
        report.thread.name = "worker"
        let diagnosis = CrashReport.Diagnosis(of: report)
        #expect(
            diagnosis.summary
                == "The stack of thread 12 “worker” is used up: visit(_:), children(of:) call each other without end."
        )
        report.loop = .init(
            mode: "default",
            activity: "entry",
            callout: .init(kind: .timer, label: "retry", item: 1),
            nesting: 1,
            pass: 1
        )
        #expect(
            CrashReport.Diagnosis(of: report).summary.hasPrefix("The callout stack of the timer “retry” is used up")
        )
    }

    @Test func `What went before and what became of it is said`() {
        var report = Self.report(11, 1, kind: .noCode, access: .read, address: 0)
        report.fault?.number = 3
        report.occurrences.count = 412
        report.recovery = .init(quarantined: true, touched: ["routing table"])
        report.verdict.decision = .restart
        report.context = .init(
            memory: .init(resident: 99, virtual: 200),
            descriptors: .init(open: 1020, limit: 1024),
            container: .init(memoryLimit: 100)
        )
        let next = CrashReport.Diagnosis(of: report).next.joined(separator: "\n")
        for words in [
            "412 times", "fault 3 of this process", "“routing table”", "quarantine", "restarted in place",
            "almost all of the memory", "1020 of 1024",
        ] {
            #expect(next.contains(words), "\(words): \(next)")
        }
    }

    @Test(arguments: Fixture.reports)
    func `Every report that was ever written has one`(name: String) throws {
        let diagnosis = CrashReport.Diagnosis(of: try CrashReport(json: try Fixture.bytes(name)))
        #expect(!diagnosis.summary.isEmpty && !diagnosis.next.isEmpty)
    }

    @Test func `A diagnosis is made of short lines, whatever the report says`() {
        let evil = String(repeating: "x\n\u{1b}[2J", count: 10_000)
        for message in [evil, "Fatal error: \(evil)", "Could not cast value of type '\(evil)' to '\(evil)'"] {
            for signal in [4, 6] {
                var report = Self.report(signal, signal == 6 ? -6 : 2, message: message)
                report.thread.frames[0].function = evil
                report.recovery = .init(touched: Array(repeating: evil, count: 100))
                report.fault?.exception = signal == 6 ? .init(type: evil, message: evil) : nil
                let diagnosis = CrashReport.Diagnosis(of: report)
                for line in [diagnosis.summary] + diagnosis.next {
                    #expect(line.count <= 401)
                    #expect(line.split(whereSeparator: \.isNewline).count == 1)
                }
            }
        }
    }

    @Test func `An error that nobody caught has no place: main ends elsewhere than it was thrown`() {
        let report = Self.swift("Error raised at top level: Demo.Oops(code: 3)")
        let diagnosis = CrashReport.Diagnosis(of: report)
        #expect(diagnosis.summary == "An error that nobody caught has ended the program: “Demo.Oops(code: 3)”.")
        #expect(!diagnosis.next.contains { $0.contains("Router.swift") })
    }
}
