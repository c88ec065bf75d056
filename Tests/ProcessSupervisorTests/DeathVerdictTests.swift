import Glibc
import Testing

@testable import ProcessSupervisor

/// The rule: what is said of a death, from facts alone.
@Suite struct DeathVerdictTests {
    private typealias Tree = MemoryAccountsTests

    private static func facts(_ status: ProcessEnd, _ change: (inout DeathFacts) -> Void = { _ in }) -> DeathFacts {
        var facts = DeathFacts(status: status)
        change(&facts)
        return facts
    }

    private static func log(_ line: String) throws -> KernelLogEntry { try #require(KernelLogEntry(line: line)) }

    @Test func `A status is the program's own end`() {
        let verdict = DeathVerdict(of: Self.facts(.exited(3)))
        #expect(verdict.cause == .exit)
        #expect(verdict.sentence == "It ended itself with status 3.")
        #expect(DeathVerdict(of: Self.facts(.exited(137))).next.first?.contains("SIGKILL") == true)
    }

    @Test func `SIGKILL without evidence is unknown, whatever can be read`() {
        for isReadable in [true, false] {
            let verdict = DeathVerdict(of: Self.facts(.signalled(SIGKILL)) { $0.isLogReadable = isReadable })
            #expect(verdict.cause == .unknown)
            #expect(verdict.confidence == .none)
        }
    }

    @Test(arguments: [
        ("CONSTRAINT_MEMCG", "oom_memcg=/a/b,task_memcg=/a/b", "own group"),
        ("CONSTRAINT_MEMCG", "oom_memcg=/a,task_memcg=/a/b", "group above"),
        ("CONSTRAINT_NONE", "global_oom,task_memcg=/a/b", "machine"),
    ])
    func `The kernel's log says whose memory it was`(constraint: String, groups: String, scope: String) throws {
        let line =
            "oom-kill:constraint=\(constraint),nodemask=(null),cpuset=/,mems_allowed=0,\(groups),task=x,pid=7,uid=0"
        let entry = try Self.log(line)
        #expect(entry.pid == 7)
        let verdict = DeathVerdict(
            of: Self.facts(.signalled(SIGKILL)) {
                $0.log = [entry]
                $0.isLogReadable = true
            }
        )
        #expect(verdict.cause == .outOfMemory)
        #expect(verdict.confidence == .certain)
        #expect(verdict.scope == scope)
    }

    @Test func `A log that can be read and says nothing outweighs counters: they count others, too`() throws {
        let (before, after) = try Tree.twice("oom 0\noom_kill 0\n", "oom 1\noom_kill 1\n")
        let verdict = DeathVerdict(
            of: Self.facts(.signalled(SIGKILL)) { ($0.before, $0.after, $0.isLogReadable) = (before, after, true) }
        )
        #expect(verdict.cause == .unknown)
    }

    @Test func `Without the log counters make it likely`() throws {
        let (before, after) = try Tree.twice("oom 0\noom_kill 0\n", "oom 1\noom_kill 1\n")
        let verdict = DeathVerdict(of: Self.facts(.signalled(SIGKILL)) { ($0.before, $0.after) = (before, after) })
        #expect(verdict.cause == .outOfMemory)
        #expect(verdict.confidence == .likely && verdict.text.hasSuffix(" That is likely, not certain."))
        #expect(verdict.scope == "own group")
        let (_, same) = try Tree.twice("oom 0\noom_kill 0\n", "oom 0\noom_kill 0\n")
        #expect(
            DeathVerdict(of: Self.facts(.signalled(SIGKILL)) { ($0.before, $0.after) = (before, same) }).cause
                == .unknown
        )
    }

    @Test func `A group above that ran out, one that is not visible, and the machine are told apart`() throws {
        let above = try Tree.twice("oom 0\noom_kill 0\n", "oom 0\noom_kill 1\n", parent: ("oom 0\n", "oom 1\n"))
        let facts = Self.facts(.signalled(SIGKILL)) { ($0.before, $0.after) = above }
        #expect(DeathVerdict(of: facts).scope == "group above")
        let machine = try Tree.twice("oom 0\noom_kill 0\n", "oom 0\noom_kill 1\n")
        #expect(
            DeathVerdict(of: Self.facts(.signalled(SIGKILL)) { ($0.before, $0.after) = machine }).scope == "machine"
        )
        let hidden = try Tree.twice("oom 0\noom_kill 0\n", "oom 0\noom_kill 1\n", isCutOff: true)
        #expect(DeathVerdict(of: Self.facts(.signalled(SIGKILL)) { ($0.before, $0.after) = hidden }).scope == "beyond")
    }

    @Test func `memory.oom.group kills without a count of its own`() throws {
        let (before, after) = try Tree.twice("oom 0\noom_group_kill 0\n", "oom 1\noom_group_kill 1\n")
        let facts = Self.facts(.signalled(SIGKILL)) { ($0.before, $0.after) = (before, after) }
        #expect(DeathVerdict(of: facts).cause == .outOfMemory)
        let entry = try Self.log("Memory cgroup out of memory: Killed process 7 (x) total-vm:1kB")
        #expect(DeathVerdict(of: Self.facts(.signalled(SIGKILL)) { $0.log = [entry] }).scope == "beyond")
    }

    @Test func `The kill of another process of the group is no reason of this one's end`() throws {
        let (before, after) = try Tree.twice("oom 0\noom_kill 0\n", "oom 1\noom_kill 1\n")
        let verdict = DeathVerdict(of: Self.facts(.exited(9)) { ($0.before, $0.after) = (before, after) })
        #expect(verdict.cause == .exit)
        #expect(verdict.next.contains { $0.contains("1 other process") })
    }

    @Test func `Limits need the limit, and what was used`() {
        let limits = ResourceLimits(
            text: """
                Limit                     Soft Limit           Hard Limit           Units
                Max cpu time              2                    3                    seconds
                Max file size             512                  512                  bytes
                Max address space         1048576              1048576              bytes
                """
        )
        func cause(_ signal: CInt, _ seconds: Double) -> DeathVerdict.Cause {
            DeathVerdict(of: Self.facts(.signalled(signal)) { ($0.limits, $0.processorSeconds) = (limits, seconds) })
                .cause
        }
        #expect(cause(SIGXCPU, 2) == .limit)
        // The kernel has raised it by a second when it sent the signal.
        #expect(cause(SIGXCPU, 1) == .limit)
        #expect(cause(SIGXCPU, 0.5) == .signal)
        #expect(cause(SIGKILL, 3) == .limit)
        #expect(cause(SIGKILL, 2.5) == .unknown)
        #expect(cause(SIGXFSZ, 0) == .limit)
        let none = ResourceLimits(text: "Max file size             unlimited            unlimited            bytes\n")
        #expect(DeathVerdict(of: Self.facts(.signalled(SIGXFSZ)) { $0.limits = none }).cause == .signal)
        let said = Self.facts(.signalled(SIGABRT)) { ($0.limits, $0.saidNoMemory) = (limits, true) }
        #expect(DeathVerdict(of: said).scope == "address space")
        #expect(DeathVerdict(of: Self.facts(.signalled(SIGABRT)) { $0.saidNoMemory = true }).cause == .signal)
        let told = Self.facts(.signalled(SIGUSR1)) { ($0.limits, $0.saidNoMemory) = (limits, true) }
        #expect(DeathVerdict(of: told).cause == .signal)
    }

    @Test(arguments: [
        // Names of processes and of files that look like a mark.
        "traps: a[5] trap [7] trap invalid opcode ip:55 sp:7f error:0 in a[55+1]",
        "a[5] trap [7]: segfault at 0 ip 00007f sp 00007f error 4 in b[9]: segfault at 0[7f+1]",
        "traps: x[7] trap invalid opcode ip:55 sp:7f error:0 in y[9] trap [55+1]",
    ])
    func `A fault is that of the process that the kernel names`(line: String) throws {
        #expect(try Self.log(line).pid == 7)
    }

    @Test func `The line of a kill says whether a group's limit was reached, and the counters whose`() throws {
        let (before, after) = try Tree.twice("oom 0\noom_kill 0\n", "oom 1\noom_kill 1\n")
        func scope(_ line: String) throws -> String? {
            let entry = try Self.log(line)
            return DeathVerdict(
                of: Self.facts(.signalled(SIGKILL)) { ($0.before, $0.after, $0.log) = (before, after, [entry]) }
            )
            .scope
        }
        #expect(try scope("Memory cgroup out of memory: Killed process 7 (x) total-vm:1kB") == "own group")
        #expect(try scope("Out of memory: Killed process 7 (x) total-vm:1kB") == "machine")
    }

    @Test func `A kill of others of its group for want of memory is told, if its own is unknown`() throws {
        let (before, after) = try Tree.twice("oom 0\noom_kill 0\n", "oom 1\noom_kill 1\n")
        let verdict = DeathVerdict(
            of: Self.facts(.signalled(SIGKILL)) { ($0.before, $0.after, $0.isLogReadable) = (before, after, true) }
        )
        #expect(verdict.sentence.contains("has killed 1 of its control group"))
    }

    @Test func `A crash on the way out is one`() {
        let crash = Self.facts(.signalled(SIGSEGV)) { ($0.order, $0.orderSignal) = (.stop(by: "x"), SIGTERM) }
        #expect(DeathVerdict(of: crash).cause == .signal)
        #expect(DeathVerdict(of: crash).sentence.contains("being stopped meanwhile (x)"))
        let told = Self.facts(.signalled(SIGABRT)) { ($0.order, $0.orderSignal) = (.stop(by: "x"), SIGABRT) }
        #expect(DeathVerdict(of: told).cause == .stopped)
    }

    @Test(arguments: [
        "python3[7]: segfault at 0 ip 00007f sp 00007f error 4 in libc.so.6[1,7f+1] likely on CPU 1",
        "traps: x[7] trap invalid opcode ip:55 sp:7f error:0 in x[55+1]",
        "traps: x y[z[7] general protection fault ip:55 sp:7f error:0",
    ])
    func `A fault needs the kernel's word`(line: String) throws {
        let entry = try Self.log(line)
        #expect(entry.pid == 7)
        #expect(DeathVerdict(of: Self.facts(.signalled(SIGSEGV)) { $0.log = [entry] }).cause == .fault)
        #expect(DeathVerdict(of: Self.facts(.signalled(SIGSEGV))).cause == .signal)
    }

    @Test func `A forbidden system call is known by its signal, and certain by the log`() throws {
        #expect(DeathVerdict(of: Self.facts(.signalled(SIGSYS))).confidence == .likely)
        #expect(DeathVerdict(of: Self.facts(.signalled(SIGSYS)) { $0.hasFilter = false }).cause == .signal)
        let entry = try Self.log(
            "audit: type=1326 audit(1.2:3): auid=0 uid=0 gid=0 ses=1 pid=7 comm=\"x\" exe=\"/x\" sig=31 arch=c000003e syscall=59"
        )
        #expect(DeathVerdict(of: Self.facts(.signalled(SIGSYS)) { $0.log = [entry] }).confidence == .certain)
    }

    @Test func `What the supervisor did is known, and does not hide what the kernel did`() throws {
        let stopped = Self.facts(.signalled(SIGTERM)) { $0.order = .stop(by: "SIGTERM") }
        #expect(DeathVerdict(of: stopped).cause == .stopped)
        let killed = Self.facts(.signalled(SIGKILL)) { ($0.order, $0.wasKilledByUs) = (.stop(by: "SIGTERM"), true) }
        #expect(DeathVerdict(of: killed).sentence.contains("did not end in time"))
        #expect(
            DeathVerdict(of: Self.facts(.signalled(SIGABRT)) { $0.order = .watchdog(.seconds(2)) }).cause == .watchdog
        )
        let entry = try Self.log("oom-kill:constraint=CONSTRAINT_NONE,task_memcg=/,task=x,pid=7,uid=0")
        let both = Self.facts(.signalled(SIGKILL)) { ($0.order, $0.log) = (.stop(by: "SIGTERM"), [entry]) }
        #expect(DeathVerdict(of: both).cause == .outOfMemory)
    }

    @Test func `One that leaves because another one serves is not stopped by who asks for that meanwhile`() {
        let leaving = Self.facts(.exited(75)) { ($0.order, $0.hasHandedOver) = (.stop(by: "SIGTERM"), true) }
        #expect(DeathVerdict(of: leaving).cause == .exit)
        #expect(DeathVerdict(of: Self.facts(.exited(75)) { $0.order = .stop(by: "SIGTERM") }).cause == .stopped)
        let obeying = Self.facts(.exited(0)) { ($0.order, $0.hasHandedOver) = (.stop(by: "SIGTERM"), true) }
        #expect(DeathVerdict(of: obeying).cause == .stopped)
    }

    @Test func `Lines that are about nothing of the kind are left out`() {
        for line in ["", "oom-kill:", "oom-kill:pid=x", "[7]: segfault at ", "usb 1-1: new device", "] trap "] {
            let entry = KernelLogEntry(line: line)
            #expect(entry == nil || entry?.pid == 7, "\(line)")
        }
    }
}
