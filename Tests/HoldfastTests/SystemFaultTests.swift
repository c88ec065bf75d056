import CrashReports
import Glibc
import TestSupport
import Testing

/// What the kernel ends a process for beside faults of memory and of arithmetic.
@Suite(.timeLimit(.minutes(10))) struct SystemFaultTests {
    @Test func `A forbidden system call is reported with its name, and the process restarted`() throws {
        let run = try HostRun("system", "forbidden-call", "default")
        #expect(try run.lines() == ["restarted"])
        #expect(try run.process.wait() == .exited(0))
        let report = try #require(try run.finishedReports().first)
        #expect(report.fault?.signal.name == "SIGSYS" && report.fault?.code.name == "SYS_SECCOMP")
        #expect(report.reason == "forbidden system call")
        #expect(report.diagnosis?.summary.contains("(afs_syscall)") == true)
        #expect(report.verdict.decision == .restart)
        #expect(report.location.contains("faultForbiddenCall"))
    }

    @Test func `A file beyond the limit of the process is reported, and the process restarted`() throws {
        let run = try HostRun("system", "file-size", "default")
        #expect(try run.lines() == ["restarted"])
        #expect(try run.process.wait() == .exited(0))
        let report = try #require(try run.finishedReports().first)
        #expect(report.fault?.signal.name == "SIGXFSZ")
        #expect(report.reason == "a file was to grow beyond the limit of the process (RLIMIT_FSIZE)")
        #expect(report.diagnosis?.summary.contains("RLIMIT_FSIZE") == true)
        #expect(report.verdict.decision == .restart)
        #expect(report.location.contains("faultFileSize"))
    }

    @Test func `The end of the processor time is reported, and ends the process`() throws {
        let run = try HostRun("system", "processor-time", "default")
        #expect(try run.lines() == [])
        #expect(try run.process.wait() == .signalled(SIGXCPU))
        let report = try #require(try run.finishedReports().first)
        #expect(report.fault?.signal.name == "SIGXCPU" && report.fault?.address == nil)
        #expect(report.reason == "the processor time of the process is over (RLIMIT_CPU)")
        #expect(report.verdict.decision == .terminate)
    }

    @Test func `Who ignores or handles the signal of a limit is told by an error, as without Holdfast`() throws {
        for (manner, lines) in [("ignored", ["went on"]), ("handled", ["handled", "went on"])] {
            let run = try HostRun("system", "file-size", manner)
            #expect(try run.lines() == lines)
            #expect(try run.process.wait() == .exited(0))
            #expect(try run.finishedReports().isEmpty)
        }
    }

    @Test func `A sandbox whose calls the program answers itself stays as it is`() throws {
        let run = try HostRun("system", "forbidden-call", "handled")
        #expect(try run.lines() == ["handled", "went on"])
        #expect(try run.process.wait() == .exited(0))
        #expect(try run.finishedReports().isEmpty)
    }

    @Test(arguments: ["halt", "interrupt"])
    func `An instruction that only the kernel may run is not taken for a bad address`(kind: String) throws {
        let run = try HostRun("system", kind)
        _ = try run.lines()
        _ = try run.process.wait()
        let report = try #require(try run.finishedReports().first)
        #expect(report.fault?.signal.name == "SIGSEGV" && report.fault?.code.name == "SI_KERNEL")
        #expect(report.reason == "privileged instruction")
        #expect(report.fault?.addressKind == nil)
        #expect(report.diagnosis?.summary.contains("only the kernel may run") == true)
    }

    @Test func `std::terminate without an exception is said to be that`() throws {
        let run = try HostRun("system", "terminate")
        _ = try run.lines()
        _ = try run.process.wait()
        let report = try #require(try run.finishedReports().first)
        #expect(report.reason == "std::terminate was called without an exception")
        #expect(report.fault?.exception == nil)
        #expect(report.diagnosis?.summary.contains("std::terminate") == true)
        #expect(try run.store.violations().texts == [])
    }
}

extension HostRun {
    /// The reports, when what the process left in the spool is finished.
    fileprivate func finishedReports() throws -> [CrashReport] {
        _ = try store.list()
        return try store.reports()
    }
}
