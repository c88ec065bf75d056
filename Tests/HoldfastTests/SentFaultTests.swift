import CrashReports
import Glibc
import TestSupport
import Testing

/// Fault signals that were sent, from outside and from within, with all that may have stood before the host's handlers.
@Suite(.serialized, .timeLimit(.minutes(10))) struct SentFaultTests {
    static let signals = [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV]
    /// `si_code` of kill(2) and of sigqueue(3), which siginfo.h has as macros.
    static let (byUser, byQueue): (CInt, CInt) = (0, -1)

    @Test(arguments: signals, [byUser, byQueue])
    func `Another process's signal ends this one, after the handler that stood before`(signal: CInt, code: CInt) throws
    {
        let run = try HostRun("sent-fault", "\(signal)", "wait", "handler", "restart")
        #expect(try run.line() == "ready")
        if code == Self.byUser { run.process.kill(signal) } else { #expect(run.queue(signal, 5)) }
        #expect(try run.lines() == ["previous \(signal) code \(code) sender \(getpid())"])
        #expect(try run.process.wait() == .signalled(signal))
        let report = try run.store.onlyReport()
        #expect(report.verdict.decision == .terminate)
        #expect(report.fault?.sender?.pid == Int(getpid()))
    }

    @Test(arguments: signals)
    func `With Swift's backtracer before us it ends the process all the same`(signal: CInt) throws {
        let run = try HostRun(
            "sent-fault",
            "\(signal)",
            "wait",
            "none",
            "restart",
            environment: ["SWIFT_BACKTRACE": "enable=yes,color=no,symbolicate=off"]
        )
        #expect(try run.line() == "ready")
        run.process.kill(signal)
        #expect(try run.process.wait() == .signalled(signal))
    }

    @Test(arguments: signals)
    func `A signal that was ignored before is ignored when another process sends it`(signal: CInt) throws {
        let run = try HostRun("sent-fault", "\(signal)", "wait", "ignored", "restart")
        #expect(try run.line() == "ready")
        run.process.kill(signal)
        run.process.kill(SIGUSR1)
        #expect(try run.lines() == ["going on", "end"])
        #expect(try run.process.wait() == .exited(0))
        #expect(try run.store.list().isEmpty)
    }

    @Test(arguments: signals, ["raise", "thread"])
    func `The process's own signal restarts it, also where it was ignored`(signal: CInt, how: String) throws {
        for previous in ["none", "handler", "ignored"] {
            let run = try HostRun("sent-fault", "\(signal)", how, previous, "restart")
            #expect(try run.lines().last == "restarted")
            #expect(try run.process.wait() == .exited(0))
        }
    }

    @Test(arguments: signals)
    func `Where nothing is restarted it ends the process, after the handler that stood before`(signal: CInt) throws {
        let run = try HostRun("sent-fault", "\(signal)", "raise", "handler", "end")
        // SI_TKILL is -6.
        #expect(try run.lines() == ["ready", "previous \(signal) code -6 sender \(run.process.pid)"])
        #expect(try run.process.wait() == .signalled(signal))
    }

    @Test(arguments: signals)
    func `When the host is closed the handler that stood before is back`(signal: CInt) throws {
        let run = try HostRun("sent-fault", "\(signal)", "closed", "handler", "restart")
        #expect(try run.lines() == ["ready", "previous \(signal) code -6 sender \(run.process.pid)", "end"])
        #expect(try run.process.wait() == .exited(0))
    }

    // MARK: The first process of a container

    static let unshare = ["/usr/bin/unshare", "--user", "--map-root-user", "--pid", "--fork"]

    /// Whether this kernel lets a user make a namespace of processes: some distributions and containers forbid it.
    static var hasNamespaces: Bool {
        let command = unshare + ["/bin/true"]
        return (try? ProgramRun.run(command[0], Array(command.dropFirst())))?.end == .exited(0)
    }

    /// There the kernel ignores signals whose action is the default (pid_namespaces(7)): abort(3) alone would not end it.
    @Test(.enabled(if: hasNamespaces), arguments: signals, ["raise", "abort", "thread"])
    func `Process 1 ends by its own signals, with the status of a shell`(signal: CInt, how: String) throws {
        let run = try HostRun("sent-fault", "\(signal)", how, "none", "end", prefix: Self.unshare)
        #expect(try run.process.wait() == .exited(128 + (how == "abort" ? SIGABRT : signal)))
    }

    @Test(.enabled(if: hasNamespaces), arguments: ["raise", "abort", "thread"])
    func `Process 1 is restarted in place`(how: String) throws {
        let run = try HostRun("sent-fault", "\(SIGABRT)", how, "none", "restart", prefix: Self.unshare)
        #expect(try run.lines().last == "restarted")
        #expect(try run.process.wait() == .exited(0))
    }
}
