import Glibc
import TestSupport
import Testing

/// Asynchronous signals as events of the main loop.
@Suite(.timeLimit(.minutes(10))) struct SignalTests {
    @Test func `Every signal of a storm from another process comes in its order or is counted`() throws {
        let count = 100_000
        let storm = try HostRun("signal-storm", "\(count)")
        #expect(try storm.line() == "ready")
        let sender = try HostRun("signal-sender", "\(storm.process.pid)", "\(count)")
        // What the kernel had no room for was refused to the sender, who sent it again.
        #expect(try sender.line()?.hasPrefix("refused ") == true)
        #expect(try storm.line() == "accounted \(count) in order true")
        // Standard signals are one while they are pending.
        let standard = try #require(try storm.line()?.split(separator: " ").last.flatMap { Int($0) })
        #expect((1...count).contains(standard))
        #expect(try storm.process.wait() == .exited(0))
    }

    @Test func `Every signal of two threads comes in its order or is counted`() throws {
        let run = try HostRun("signal-threads")
        #expect(try run.lines() == ["accounted 100000 in order true"])
        #expect(try run.process.wait() == .exited(0))
    }

    @Test func `An event has what its sender gave, and nothing that is not there`() throws {
        let run = try HostRun("signal-fields")
        let first = try #require(try run.line())
        let descriptor = try #require(first.split(separator: " ").last)
        #expect(
            try run.lines() == [
                "kill code 0 sender self value 0 status 0 descriptor none",
                "raise code -6 sender self value 0 status 0 descriptor none",
                "sigqueue code -1 sender self value 77 status 0 descriptor none",
                "timer code -2 sender 0 value 88 status 0 descriptor none",
                "mesgq code -3 sender self value 99 status 0 descriptor none",
                "alarm code 128 sender 0 value 0 status 0 descriptor none",
                "io code 1 sender 0 value 0 status 0 descriptor \(descriptor)",
                "child code 1 pid true uid true status 7",
                "child code 2 pid true uid true status \(SIGTERM)",
            ]
        )
    }

    @Test func `With the last observer of a signal, and at the end of the host, what stood before comes back`() throws {
        let before = "HUP ignored, TERM default, USR1 handled, USR2 default blocked, PIPE default"
        let observed = "HUP handled, TERM handled, USR1 handled, USR2 handled, PIPE handled"
        #expect(
            try HostRun("signals-given-back").lines() == [
                "before: " + before,
                "host: HUP ignored, TERM default, USR1 handled, USR2 default blocked, PIPE handled",
                "observed: " + observed,
                "first",
                "second",
                "one of two: " + observed,
                "none of two: " + observed,
                "the program's own handler",
                // It does nothing again.
                "no PIPE: " + observed,
                "closed: " + before,
                "valid [false, false, false, false]",
            ]
        )
    }

    @Test func `A child begins with no signal blocked or ignored, and a forked one ends by a signal as ever`() throws {
        let lines = try HostRun("signal-children").lines()
        #expect(lines.count == 4)
        // The C library's own signals, 32 and 33, are as the tests were started with.
        let masks = lines.prefix(2).compactMap { line in
            line.split(separator: "\t").last.flatMap { UInt64($0, radix: 16) }.map { $0 & ~(3 << 31) }
        }
        #expect(masks == [0, 0])
        #expect(lines.suffix(2) == ["forked child ended by \(SIGTERM)", "write -1 true"])
    }

    @Test(arguments: ["fault", "planned"])
    func `Signals that were not delivered when the process is replaced are delivered by the next`(kind: String) throws {
        let run = try HostRun("signal-across-restart", kind)
        #expect(try run.lines() == ["TERM from self true code 0", "values true 50"])
        #expect(try run.process.wait() == .exited(0))
    }

    @Test func `A signal that was ignored at the start is ignored again after a restart, until it is observed`() throws
    {
        let run = try HostRun("image", "planned", "wait", shell: "trap '' HUP; exec \"$@\"")
        while let line = try run.line(), line != "ready" {}
        // Not observed: it does nothing.
        run.process.kill(SIGHUP)
        run.process.kill(SIGUSR1)
        #expect(try run.lines().count == 4)
        #expect(try run.process.wait() == .exited(0))
    }
}
