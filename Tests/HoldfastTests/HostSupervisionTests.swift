import CrashReports
import Glibc
import TestSupport
import Testing

/// What the host does about faults beside resuming them.
@Suite(.timeLimit(.minutes(10))) struct HostSupervisionTests {
    @Test func `A fault of another thread drains the main loop, then restarts`() throws {
        let run = try ProbeRun("drain")
        #expect(run.end == .exited(0))
        #expect(
            run.lines.filter { $0 != "told of it" } == [
                "first, for fault, draining true", "second", "third", "drained", "restarted 1",
            ]
        )
        #expect(run.lines.contains("told of it"))
        let report = try #require(run.reports.first { $0.verdict.decision == .restart })
        #expect(!report.thread.isMain)
        #expect(report.recovery?.drained == true)
    }

    @Test func `A drain has a deadline`() throws {
        let run = try ProbeRun("drain-deadline")
        #expect(run.end == .exited(0))
        #expect(run.lines == ["holding", "restarted 1"])
    }

    /// Its own timer cannot come to it: the thread that faulted keeps the time.
    @Test func `A main loop that hangs in a drain is replaced all the same`() throws {
        let run = try ProbeRun("drain-never-returns")
        #expect(run.end == .exited(0))
        #expect(run.lines == ["waiting", "restarted 1"])
    }

    @Test func `A drain has one clock, and handlers of the restart are called at its deadline`() throws {
        let run = try ProbeRun("drain-clock")
        #expect(run.end == .exited(0))
        #expect(run.lines == ["in time true, told true", "handing over", "restarted 1"])
    }

    @Test func `A drain ends once, and a handler of the restart that faults costs itself`() throws {
        let run = try ProbeRun("drain-ends-once")
        #expect(run.end == .exited(0))
        #expect(run.lines == ["handing over", "the last handler", "restarted 1"])
    }

    @Test func `Where nobody runs the main loop a thread that faults waits for nobody`() throws {
        let run = try ProbeRun("thread-fault-without-run")
        #expect(run.end == .exited(0))
        #expect(run.lines == ["restarted 1"])
        let report = try #require(run.reports.first)
        #expect(report.verdict.decision == .restart && report.recovery?.drained != true)
    }

    @Test(arguments: [("all", ["told", "dialogue", "resumed 1"]), ("used", ["told", "resumed 1"])])
    func `The way back runs all modes, or those that the program uses`(scope: String, lines: [String]) throws {
        let run = try HostRun("sweep", scope)
        #expect(try run.lines() == lines)
        #expect(try run.process.wait() == .exited(0))
    }

    @Test func `A broken heap is not drained with`() throws {
        let run = try ProbeRun("broken-heap-on-thread")
        #expect(run.end == .exited(0))
        #expect(run.lines == ["restarted 1"])
        #expect(run.reports.map(\.verdict.decision) == [.restart])
        #expect(run.reports.first?.recovery?.drained != true)
    }

    @Test func `A loop of another thread is resumed like the main one`() throws {
        let run = try ProbeRun("loop-thread")
        #expect(run.end == .exited(0))
        #expect(run.lines.filter { $0.hasPrefix("after") } == ["after 1", "after 2", "after 3"])
        #expect(run.lines.filter { $0.hasPrefix("fault") } == (1...3).map { "fault \($0) of another" })
        #expect(run.lines.last == "resumed 3")
        #expect(run.reports.allSatisfy { $0.thread.name == "second" && !$0.thread.isMain })
    }

    @Test(arguments: ["quarantine", "quarantine-on-loop-thread"])
    func `An item that keeps faulting is taken out, tried again, and taken out for ever`(scenario: String) throws {
        let run = try ProbeRun(scenario)
        #expect(run.end == .exited(0))
        #expect(
            run.lines == [
                "fault 1", "fault 2", "quarantined [\"bad timer\"] own true again true",
                "quarantined [\"bad timer\"] own true again false", "served", "resumed 4",
            ]
        )
        #expect(run.reports.map { $0.recovery?.quarantined ?? false } == [false, false, true, true])
    }

    @Test func `A quarantine may end before the message of its beginning was served`() throws {
        let run = try ProbeRun("quarantine-ended-early")
        #expect(run.end == .exited(0))
        #expect(run.lines == ["ended", "quarantined []", "resumed 3"])
    }

    @Test func `A loop's own abandon handler does not keep the host from its work`() throws {
        let run = try ProbeRun("own-abandon-handler")
        #expect(run.end == .exited(0))
        #expect(run.lines == ["quarantined [\"bad timer\"]", "resumed 3"])
        // The texts were cleared, too, and not added up.
        #expect(run.reports.count == 3)
        #expect(Set(run.reports.map(\.fault?.message)).count == 1)
    }

    @Test func `The runtime's text of a fault that was resumed is gone`() throws {
        let run = try ProbeRun("cleared-messages")
        #expect(run.end == .exited(0))
        #expect(run.lines == ["none", "none", "none", "resumed 3"])
        for (number, report) in run.reports.enumerated() {
            #expect(report.fault?.message?.hasSuffix("text \(number + 1)") == true, "\(report.fault?.message ?? "")")
        }
    }

    @Test func `A verdict that does not come restarts the process`() throws {
        let run = try ProbeRun("blocking-policy")
        #expect(run.end == .exited(0))
        #expect(run.lines == ["restarted 1"])
        let report = try #require(run.reports.first)
        #expect(run.reports.count == 1 && report.verdict.decision == .restart)
        let obstacle = "the crash thread waited in the system call pause"
        #expect(report.verdict.reason == "no verdict came within the deadline: \(obstacle)")
    }

    @Test func `A handler of a signal that keeps faulting is left out, and the port of signals never`() throws {
        let run = try ProbeRun("faults-in-signal-handler")
        #expect(run.end == .exited(0))
        #expect(run.lines == ["fault 1 []", "fault 2 []", "fault 3 []", "the others are called", "resumed 3"])
    }

    @Test func `A handler of a signal that was left out is tried again`() throws {
        let run = try ProbeRun("signal-handler-tried-again")
        #expect(run.end == .exited(0))
        #expect(run.lines == ["fault 1 []", "fault 2 []", "fault 3 []", "fault 4 []", "resumed 4"])
    }

    @Test func `The end of a drain can be brought forward, and its thread is named`() throws {
        let run = try ProbeRun("drain-end-within")
        #expect(run.end == .exited(0))
        #expect(run.lines == ["earlier true, later false, thread true", "handing over", "restarted 1"])
    }

    @Test func `A signal that an abandoned callout had blocked is heard again`() throws {
        let run = try ProbeRun("blocked-signal")
        #expect(run.end == .exited(0))
        #expect(run.lines == ["told to end", "resumed 1"])
    }

    @Test func `What a thread said that stands still is not in the report of another's fault`() throws {
        let run = try ProbeRun("words-of-another")
        #expect(run.end == .exited(0))
        #expect(run.lines == ["restarted 1"])
        let words = "the other thread's words"
        let other = try #require(run.reports.first { $0.thread.isMain == false })
        #expect(other.fault?.message?.contains(words) == true)
        let handlers = try #require(run.reports.first { $0.thread.isMain })
        let message = try #require(handlers.fault?.message)
        #expect(message.contains("a fault on purpose") && !message.contains(words), "\(message)")
    }

    @Test func `Once the run is over a fault ends the process as its signal says`() throws {
        let run = try ProbeRun("after-the-run")
        #expect(run.end == .signalled(SIGILL))
        #expect(run.reports.map(\.verdict.decision) == [.terminate])
    }

    @Test func `A process may exit with a status of its own for a restart`() throws {
        let run = try ProbeRun("exit-for-restart")
        #expect(run.end == .exited(75))
        #expect(run.reports.map(\.verdict.decision) == [.restart])
    }

    @Test func `A crash loop comes to safe mode without the culprit, and to an end where that is asked for`() throws {
        let run = try ProbeRun("crash-loop")
        #expect(run.end == .exited(125))
        let safe = ["without [\"bad timer\"], for fault", "withheld [\"bad timer\"]"]
        #expect(Array(run.lines.prefix(7)) == Array(repeating: "normal", count: 5) + safe)
        #expect(!run.lines.contains("no host"), "the host ends the process, and throws nothing")
        #expect(!run.lines.contains("served"))
        #expect(run.lines.filter { $0.hasPrefix("withheld") }.count == 3)
        #expect(run.reports.count == 8)
    }

    @Test func `Cleanups run after an abandoned callout, and what was touched is poisoned and named`() throws {
        let run = try ProbeRun("cleanups")
        #expect(run.end == .exited(0))
        #expect(run.lines == ["newest", "oldest", "poisoned true", "healed true", "resumed 2"])
        #expect(run.reports.first?.recovery?.touched == ["the list"])
    }

    // MARK: Policies

    @Test func `An item may have a policy of its own`() throws {
        let run = try ProbeRun("item-policy")
        #expect(run.lines == ["resumed", "restarted 1"])
        #expect(run.reports.map(\.verdict.decision) == [.resume, .restart])
        #expect(run.reports.last?.loop?.callout?.label == "strict")
    }

    @Test func `A policy's objection denies, in its own words`() throws {
        let run = try ProbeRun("objection")
        #expect(run.lines == ["resumed", "restarted 1"])
        #expect(run.reports.last?.verdict.reason == "no arithmetic here")
    }

    @Test func `A fault on the crash thread restarts, and both are reported`() throws {
        let run = try ProbeRun("fault-in-policy")
        #expect(run.end == .exited(0))
        #expect(run.lines == ["restarted 1"])
        #expect(run.reports.contains { $0.thread.name == "holdfast-crash" && $0.verdict.decision == .restart })
        #expect(run.reports.count == 2)
        // Walked by frame pointers alone.
        let own = try #require(run.reports.first { $0.thread.name == "holdfast-crash" })
        #expect(own.thread.frames.contains { $0.function?.contains("faultNilUnwrap") == true })
    }

    @Test func `Descriptors that abandoned callouts leave open are a budget`() throws {
        let run = try ProbeRun("descriptor-budget")
        #expect(run.end == .exited(0))
        // The report writer has files open, too, now and then: the count is an estimate.
        #expect((2...3).contains(run.lines.filter { $0.hasPrefix("after") }.count), "\(run.lines)")
        #expect(run.lines.last == "restarted 1")
        #expect(run.reports.last?.verdict.reason.contains("descriptors") == true)
    }

    @Test func `A stop that comes before the run ends the next one, and no other`() throws {
        #expect(try HostRun("early-stop").lines() == ["returned", "served", "over"])
    }
}
