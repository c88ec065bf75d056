import CrashReports
import Glibc
import TestSupport
import Testing

/// What a report says of the threads that did not fault.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ThreadSampleTests {
    private static let functions = [
        "sample-futex": "wait()", "sample-poll": "poll()", "sample-read": "read()", "sample-sleep": "sleep()",
        "sample-busy": "spin()", "sample-sigwait": "awaitSignal()",
    ]

    private static func run(_ variant: String, _ fault: String) throws -> (lines: [String], reports: [CrashReport]) {
        let run = try HostRun("samples", variant, fault)
        let lines = try run.lines()
        #expect(try run.process.wait() == .exited(0), "\(run.process.errors.suffix(2000))")
        _ = try run.store.list()
        return (lines, try run.store.reports().sorted { ($0.fault?.number ?? 0) < ($1.fault?.number ?? 0) })
    }

    private static func thread(_ name: String, of report: CrashReport) -> CrashReport.Thread? {
        report.otherThreads.first { $0.name == name }
    }

    private static func names(_ thread: CrashReport.Thread?, _ function: String) -> Bool {
        thread?.frames.contains { $0.function?.contains("Crowd.\(function)") == true } == true
    }

    @Test(arguments: [("nil-unwrap", "resume"), ("wild-pointer", "restart")])
    func `Every thread is there with its name, its state and its function`(fault: String, verdict: String) throws {
        let (lines, reports) = try Self.run("plain", fault)
        let report = try #require(reports.first)
        #expect(report.verdict.decision.rawValue == verdict)
        #expect(report.notes.allSatisfy { !$0.contains("threads") }, "\(report.notes)")
        #expect(report.threadsOmitted == 0)
        #expect(report.thread.isMain && report.otherThreads.allSatisfy { !$0.isMain })
        #expect(Set(report.otherThreads.map(\.id)).count == report.otherThreads.count)
        for (name, function) in Self.functions {
            let thread = try #require(Self.thread(name, of: report), "\(name)")
            // It wants a processor, which others may have for longer than anybody waits.
            if name == "sample-busy", thread.frames.isEmpty { continue }
            #expect(Self.names(thread, function), "\(name): \(thread.frames.map { $0.function ?? "?" })")
            #expect(!thread.framesTruncated, "\(name)")
            #expect(thread.state == (name == "sample-busy" ? .running : .sleeping), "\(name)")
            #expect(thread.registers.keys.sorted() == ["rbp", "rip", "rsp"])
            #expect(try #require(thread.sampledAfter) > 0)
        }
        #expect(Self.thread("sample-futex", of: report)?.systemCall == "futex")
        #expect(Self.thread("sample-poll", of: report)?.systemCall == "poll")
        #expect(Self.thread("sample-read", of: report)?.systemCall == "read")
        #expect(Self.thread("sample-sleep", of: report)?.systemCall == "clock_nanosleep")
        #expect(Self.thread("sample-sigwait", of: report)?.systemCall == "rt_sigtimedwait")
        #expect(Self.thread("sample-busy", of: report)?.systemCall == nil)
        // libdispatch blocks nearly all signals on its threads.
        #expect(report.otherThreads.contains { Self.names($0, "waitOnWorker()") })
        #expect(report.otherThreads.contains { Self.names($0, "waitInTask()") })
        #expect(Self.thread("holdfast-crash", of: report) == nil, "it is who looks")
        if verdict == "resume" {
            // Those of libraries are not waited for.
            let waitedFor = lines.filter { !$0.hasPrefix("task") && !$0.hasPrefix("worker") }
            #expect(waitedFor == ["errno kept", "poll 1", "read 1", "signal \(SIGUSR1)", "slept", "resumed 1"])
        } else {
            #expect(lines == ["restarted 1"])
        }
    }

    @Test func `A callout of another loop is walked through the stack it runs on`() throws {
        let report = try #require(Self.run("loop", "nil-unwrap").reports.first)
        let thread = try #require(Self.thread("sample-loop", of: report))
        #expect(Self.names(thread, "waitInCallout()"))
        #expect(thread.frames.contains { $0.rawName == "hf_recovery_run" || $0.function == "hf_recovery_run" })
        #expect(!thread.framesTruncated, "\(thread.frames.map { $0.function ?? "?" })")
    }

    @Test(arguments: ["nil-unwrap", "wild-pointer"])
    func `A thread that blocks every signal is listed without its frames`(fault: String) throws {
        let report = try #require(Self.run("deaf", fault).reports.first)
        let thread = try #require(Self.thread("sample-deaf", of: report))
        #expect(thread.frames.isEmpty && thread.framesTruncated)
        #expect(thread.state == .sleeping)
        #expect(thread.systemCall == "read")
        #expect(Self.names(Self.thread("sample-read", of: report), "read()"), "the others are not kept back")
    }

    @Test(arguments: ["nil-unwrap", "wild-pointer"])
    func `Of two hundred threads as many are there as have room, and the others are counted`(fault: String) throws {
        let report = try #require(Self.run("many", fault).reports.first)
        #expect(report.otherThreads.count == 64)
        // Libraries may have threads of their own, and the report writer is one of them unless it waits for work.
        #expect((136...140).contains(report.threadsOmitted), "\(report.threadsOmitted)")
        let walked = report.otherThreads.filter { Self.names($0, "wait()") }
        #expect(walked.count >= (fault == "wild-pointer" ? 60 : 1))
    }

    @Test func `A flood of faults is sampled now and then, and each other report says so`() throws {
        let (lines, reports) = try Self.run("flood", "nil-unwrap")
        #expect(lines.last == "resumed 200")
        #expect(!reports.isEmpty && reports[0].otherThreads.count >= 5)
        for report in reports where report.otherThreads.isEmpty {
            #expect(report.notes.contains { $0.hasPrefix("the other threads were not sampled") })
        }
        #expect(reports.contains { $0.notes.contains { $0.contains("resumed just before") } })
    }

    @Test(arguments: [("off", "does not want it"), ("taken", "uses SIGSTKFLT itself")])
    func `Where threads are not sampled the report says why`(variant: String, because: String) throws {
        let report = try #require(Self.run(variant, "nil-unwrap").reports.first)
        #expect(report.otherThreads.isEmpty)
        #expect(report.notes.contains { $0.hasPrefix("the other threads") && $0.contains(because) }, "\(report.notes)")
    }

    @Test(arguments: ["nil-unwrap", "wild-pointer"])
    func `Without a descriptor left, threads have their names and their frames`(fault: String) throws {
        let run = try HostRun("samples", "descriptors", fault)
        _ = try run.lines()
        _ = try run.process.wait()
        _ = try run.store.list()
        let report = try #require(run.store.reports().first)
        // It wants a processor, which others may have for longer than anybody waits.
        for (name, function) in Self.functions where name != "sample-busy" {
            #expect(Self.names(Self.thread(name, of: report), function), "\(name)")
        }
    }

    @Test(arguments: ["double-free", "heap-smash"])
    func `A broken heap holds nobody up`(fault: String) throws {
        let (lines, reports) = try Self.run("plain", fault)
        #expect(lines == ["restarted 1"])
        #expect(reports.first?.otherThreads.contains { Self.names($0, "read()") } == true)
    }

    @Test func `Code is in every report, and memory where the process asks for it`() throws {
        let plain = try #require(Self.run("plain", "null-read").reports.first)
        #expect(plain.fault?.memory == nil)
        let code = try #require(plain.fault?.instructions)
        let place = try #require(plain.thread.registers["rip"]).rawValue
        #expect(code.about == "code")
        #expect(code.address.rawValue <= place && place < code.address.rawValue + UInt64(code.bytes.count / 2))
        #expect(code.bytes.count == 64)

        let report = try #require(Self.run("memory", "null-read").reports.first)
        let memory = try #require(report.fault?.memory)
        let stack = try #require(memory.first)
        #expect(stack.about == "stack" && (2...1024).contains(stack.bytes.count))
        #expect(stack.address == report.thread.registers["rsp"])
        #expect(memory.dropFirst().allSatisfy { report.thread.registers[$0.about] != nil })
        #expect(memory.allSatisfy { $0.bytes.count % 2 == 0 && $0.bytes.count <= 1024 })
    }
}
