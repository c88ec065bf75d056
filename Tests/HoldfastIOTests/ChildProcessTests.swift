import Glibc
import HoldfastIO
import Testing

/// What children begin with, and how their ends are told.
@Suite(.timeLimit(.minutes(5))) struct ChildProcessTests {
    /// What a child said and how it ended, on a loop of this thread.
    private func run(
        _ program: String,
        _ arguments: [String],
        _ change: (inout HoldfastIO.ChildProcess.Command) -> Void = { _ in },
        then: (HoldfastIO.ChildProcess) -> Void = { _ in }
    ) throws -> (lines: [String], status: HoldfastIO.ChildProcess.Status?) {
        final class Seen: @unchecked Sendable {
            var lines: [String] = []
            var ends = 0
            var status: HoldfastIO.ChildProcess.Status?
        }
        let seen = Seen()
        let loop = HostRunLoop.current
        var command = HoldfastIO.ChildProcess.Command(program, arguments)
        command.output = .pipe
        change(&command)
        let child = try HoldfastIO.ChildProcess(command, on: loop)
        child.output?.onLine { _, line in seen.lines.append(line) }
        child.output?.onClose { _, _ in
            seen.ends += 1
            loop.stop()
        }
        child.onExit { _, status in
            seen.status = status
            seen.ends += 1
            loop.stop()
        }
        then(child)
        while seen.ends < 2 { _ = loop.run(in: .default, for: .seconds(30)) }
        return (seen.lines, seen.status)
    }

    @Test func `Its output and its exit status arrive`() throws {
        let run = try run("sh", ["-c", "echo one; echo two; exit 7"])
        #expect(run.lines == ["one", "two"])
        #expect(run.status == .exited(7))
    }

    @Test func `It reads what is sent to it, to the end`() throws {
        let run = try run("cat", []) {
            $0.input = .pipe
        } then: { child in
            child.input?.send("a\nb\n")
            child.input?.closeWhenSent()
        }
        #expect(run.lines == ["a", "b"])
        #expect(run.status == .exited(0))
    }

    @Test func `It is ended by a signal that it cannot refuse`() throws {
        let run = try run("sh", ["-c", "trap '' TERM; echo ready; while :; do sleep 0.01; done"]) { _ in
        } then: { child in
            child.output?.onLine { _, _ in child.terminate(within: .milliseconds(50)) }
        }
        #expect(run.status == .signalled(SIGKILL))
    }

    @Test func `It runs until its end is told; then it is told again to who asks, and takes no signal`() throws {
        final class Seen: @unchecked Sendable {
            var runs: [Bool] = []
            var statuses: [HoldfastIO.ChildProcess.Status] = []
        }
        let seen = Seen()
        let loop = HostRunLoop.current
        let child = try HoldfastIO.ChildProcess(.init("sh", ["-c", "exit 7"]), on: loop)
        #expect(child.isRunning)
        for count in 1...2 {
            child.onExit { child, status in
                seen.runs.append(child.isRunning)
                seen.statuses.append(status)
                loop.stop()
            }
            #expect(seen.statuses.count == count - 1, "not within the call")
            while seen.statuses.count < count { _ = loop.run(in: .default, for: .seconds(30)) }
            child.terminate()
        }
        #expect(seen.runs == [false, false])
        #expect(seen.statuses == [.exited(7), .exited(7)])
        #expect(!child.isRunning)
    }

    @Test func `It begins with its own environment and directory, and with nothing else open or blocked`() throws {
        var mask = sigset_t()
        sigemptyset(&mask)
        sigaddset(&mask, SIGUSR1)
        pthread_sigmask(SIG_BLOCK, &mask, nil)
        defer { pthread_sigmask(SIG_UNBLOCK, &mask, nil) }
        let open = dup(0)
        defer { close(open) }
        let script = "echo $KEY; pwd; grep SigBlk /proc/self/status; test -e /proc/self/fd/\(open) || echo closed"
        let run = try run("sh", ["-c", script]) {
            $0.environment = ["KEY": "value", "PATH": "/usr/bin:/bin"]
            $0.directory = "/tmp"
        }
        #expect(run.lines == ["value", "/tmp", "SigBlk:\t0000000000000000", "closed"])
    }

    @Test func `What cannot be started says so`() throws {
        let error = #expect(throws: IOError.self) { try run("/nonexistent", []) }
        #expect(error?.code == .noSuchFileOrDirectory)
        #expect(error?.operation == "start /nonexistent")
    }
}
