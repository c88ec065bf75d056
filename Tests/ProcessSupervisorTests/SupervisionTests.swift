import CrashReports
import Foundation
import Glibc
import TestSupport
import Testing

/// Signals, orders, readiness and sockets of `holdfast run`.
@Suite(.timeLimit(.minutes(5))) struct SupervisionTests {
    @Test func `SIGTERM reaches the program, which is not started again`() throws {
        let script = "trap 'echo stopped; exit 7' TERM; echo up $$; while :; do sleep 0.05; done"
        let supervised = try Supervised(["--restart", "always"], ["sh", "-c", script])
        _ = try supervised.nextPid()
        supervised.process.kill(SIGTERM)
        #expect(try supervised.line() == "stopped")
        #expect(try supervised.process.wait() == .exited(7))
        let death = try #require(try supervised.reports().first?.death)
        #expect(death.cause == "stopped")
        #expect(death.sentence.contains("SIGTERM from process \(getpid())"))
    }

    @Test func `A program that does not end is killed`() throws {
        let supervised = try Supervised(
            ["--stop-timeout", "50ms"],
            ["sh", "-c", "trap '' TERM; echo up $$; while :; do sleep 0.05; done"]
        )
        _ = try supervised.nextPid()
        supervised.process.kill(SIGTERM)
        #expect(try supervised.process.wait() == .exited(137))
        #expect(try supervised.reports().first?.death?.sentence.contains("did not end in time") == true)
    }

    @Test func `Every other signal that can be caught is passed on`() throws {
        let script = """
            import os, signal
            numbers = [n for n in range(1, 65) if n not in (2, 3, 9, 15, 17, 18, 19, 32, 33)]
            signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
            os.write(1, b'up %d\\n' % len(numbers))
            while True: os.write(1, b'%d\\n' % signal.sigwait(numbers))
            """
        let supervised = try Supervised([], ["python3", "-c", script])
        let count = try supervised.nextPid()
        #expect(count == 55)
        for number in CInt(1)...64 where ![2, 3, 9, 15, 17, 18, 19, 32, 33].contains(number) {
            supervised.process.kill(number)
            let line = try supervised.process.output.next()
            #expect(line == "\(number)", "\(String(describing: supervised.process.end)) \(supervised.process.errors)")
        }
    }

    @Test func `A restart waits until the next process is ready`() throws {
        let supervised = try Supervised(["--name", "waiter"], waiter)
        let first = try supervised.nextPid()
        let run = try supervised.order("restart", ["waiter"])
        #expect(run.output == "restarted\n", "\(run.errors)")
        let second = try supervised.nextPid()
        #expect(first != second)
        let status = try supervised.status(once: "ready")
        #expect(status["pid"] as? Int == Int(second))
        #expect(status["restarts"] as? Int == 1)
        #expect(try supervised.order("probe").end == .exited(0))
        #expect(try supervised.order("stop").output == "stopped\n")
        #expect(try supervised.process.wait() == .exited(143))
        #expect(try supervised.order("status").end == .exited(69))
    }

    @Test func `A status that is watched tells of the next process, and ends with the supervisor`() throws {
        let supervised = try Supervised(["--name", "waiter"], waiter)
        let first = try supervised.nextPid()
        let watch = try ChildProcess(
            BuiltProduct.path(of: "holdfast"),
            ["status", "--watch", "--store", supervised.store.path]
        )
        #expect(try watch.output.next()?.contains("waiter: ready, pid \(first), ") == true)
        #expect(try supervised.order("restart", ["waiter"]).end == .exited(0))
        let second = try supervised.nextPid()
        while try !#require(try watch.output.next()).contains("waiter: ready, pid \(second), ") {}
        supervised.process.kill(SIGTERM)
        #expect(try watch.wait() == .exited(69))
    }

    @Test func `A reload is a signal where the program knows one`() throws {
        let script = "trap 'echo reloaded' HUP; echo up $$; while :; do sleep 0.05; done"
        let supervised = try Supervised(["--reload-signal", "HUP"], ["sh", "-c", script])
        let pid = try supervised.nextPid()
        #expect(try supervised.order("reload").end == .exited(0))
        #expect(try supervised.line() == "reloaded")
        #expect(try supervised.status()["pid"] as? Int == Int(pid))
    }

    @Test func `An order for a program that is not there names those that are`() throws {
        let supervised = try Supervised(["--name", "waiter"], waiter)
        _ = try supervised.nextPid()
        let run = try supervised.order("restart", ["other"])
        #expect(run.end == .exited(1))
        #expect(run.errors.contains("there are: waiter"))
    }

    // MARK: sd_notify

    private static let notifier = """
        import array, os, socket, sys, time
        name = os.environ['NOTIFY_SOCKET']
        s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        s.connect('\\0' + name[1:] if name[0] == '@' else name)
        def say(text, *fds):
            s.sendmsg([text.encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', fds))] if fds else [])

        """

    @Test func `A program that says so is ready, and not before`() throws {
        let folder = try TemporaryFolder()
        let script =
            Self.notifier
            + "print('up', os.getpid(), flush=True)\nwhile not os.path.exists('\(folder.path)/go'): time.sleep(0.01)\n"
            + "say('READY=1\\nSTATUS=serving 3 clients')\ntime.sleep(1000)\n"
        let supervised = try Supervised(["--ready", "notify"], ["python3", "-c", script])
        _ = try supervised.nextPid()
        #expect(try supervised.status()["state"] as? String == "starting")
        #expect(try supervised.order("probe").end == .exited(1))
        try folder.write("", to: "go")
        let restart = try supervised.order("restart")
        #expect(restart.output == "restarted\n", "\(restart.errors)")
        #expect(try supervised.status()["status"] as? String == "serving 3 clients")
    }

    @Test func `One that is never ready is ended, and the report says so`() throws {
        let run = try Supervised.run(["--ready", "notify", "--start-timeout", "100ms"], ["sleep", "1000"])
        #expect(run.end == .exited(134))
        #expect(run.reports.first?.death?.cause == "start timeout")
    }

    @Test func `One that falls silent is ended by its watchdog`() throws {
        let script = Self.notifier + "say('READY=1\\nWATCHDOG=1')\ntime.sleep(1000)\n"
        let options = ["--ready", "notify", "--watchdog", "100ms"]
        let run = try Supervised.run(options, ["python3", "-c", script])
        #expect(run.end == .exited(134))
        #expect(run.reports.first?.death?.cause == "watchdog")
    }

    @Test func `One that had to be ended because it hung was no success, whatever its status`() throws {
        let script =
            Self.notifier + """
                import signal, sys
                signal.signal(signal.SIGABRT, lambda *_: sys.exit(0))
                say('READY=1\\nWATCHDOG=1')
                while True: time.sleep(1000)
                """
        let options = ["--ready", "notify", "--watchdog", "100ms"]
        let run = try Supervised.run(options, ["python3", "-c", script])
        #expect(run.end == .exited(134))
        #expect(run.reports.first?.death?.cause == "watchdog")
    }

    @Test func `What a probe leaves behind is ended with it`() throws {
        let folder = try TemporaryFolder()
        let command = "sleep 1000 & echo $! >> \(folder.path)/left"
        let supervised = try Supervised(
            ["--probe", "exec:\(command)", "--probe-interval", "10ms"],
            [
                "sh", "-c",
                """
                touch \(folder.path)/left
                until [ $(wc -l < \(folder.path)/left) -ge 3 ]; do sleep 0.01; done
                echo enough
                exec sleep 1000
                """,
            ]
        )
        #expect(try supervised.line() == "enough")
        let left = try String(contentsOfFile: folder.path + "/left", encoding: .utf8).split(separator: "\n").prefix(2)
        for pid in left.compactMap({ CInt($0) }) { #expect(kill(pid, 0) == -1 && errno == ESRCH) }
        supervised.process.kill(SIGTERM)
        _ = try supervised.process.wait()
    }

    @Test func `A message of a stranger does not count`() throws {
        let folder = try TemporaryFolder()
        let script =
            Self.notifier + """
                print('at', name[1:], flush=True)
                while not os.path.exists('\(folder.path)/go'): time.sleep(0.01)
                say('STATUS=mine')
                r, w = os.pipe()
                say('BARRIER=1', w)
                os.close(w)
                os.read(r, 1)
                print('taken', flush=True)
                time.sleep(1000)
                """
        let supervised = try Supervised(["--ready", "notify"], ["python3", "-c", script])
        let name = try supervised.line().dropFirst(3)
        try Self.send("READY=1\nSTATUS=not mine", to: String(name))
        try folder.write("", to: "go")
        // Messages are taken in their order, and a barrier is the last.
        #expect(try supervised.line() == "taken")
        let status = try supervised.status()
        #expect(status["status"] as? String == "mine")
        #expect(status["state"] as? String == "starting")
    }

    /// Sends a datagram to a name in the kernel.
    private static func send(_ text: String, to name: String) throws {
        let descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { path in
            for (index, byte) in name.utf8.enumerated() { path[index + 1] = byte }
        }
        let size = MemoryLayout<sa_family_t>.size + 1 + name.utf8.count
        let count = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                sendto(descriptor, text, text.utf8.count, 0, pointer, socklen_t(size))
            }
        }
        guard count == text.utf8.count else { throw HarnessError("sendto: error \(errno)") }
    }

    @Test func `Descriptors that a program gives away come back to its next process`() throws {
        let script =
            Self.notifier + """
                print(os.environ.get('LISTEN_FDS'), os.environ.get('LISTEN_FDNAMES'), flush=True)
                if 'LISTEN_FDS' in os.environ:
                    assert os.environ['LISTEN_PID'] == str(os.getpid())
                    print(os.read(3, 5).decode(), flush=True)
                    say('FDSTOREREMOVE=1\\nFDNAME=memory')
                    sys.exit(0)
                fd = os.memfd_create('kept'); os.write(fd, b'state'); os.lseek(fd, 0, 0)
                say('FDSTORE=1\\nFDNAME=memory', fd)
                say('BARRIER=1', os.open('/dev/null', 0))
                sys.exit(1)
                """
        let supervised = try Supervised(["--restart", "on-failure", "--backoff", "1ms"], ["python3", "-c", script])
        #expect(try supervised.line() == "None None")
        #expect(try supervised.line() == "1 memory")
        #expect(try supervised.line() == "state")
        #expect(try supervised.process.wait() == .exited(0))
    }

    // MARK: Sockets

    @Test func `A port stays open whatever becomes of the program, and its clients wait`() throws {
        let port = try Loopback.freePort()
        let folder = try TemporaryFolder()
        let script = """
            import os, socket, sys, time
            s = socket.socket(fileno=3)
            print('up', os.getpid(), flush=True)
            c, _ = s.accept()
            c.sendall(b'served by %d\\n' % os.getpid())
            if os.path.exists('\(folder.path)/once'): time.sleep(1000)
            open('\(folder.path)/once', 'w').close()
            os.kill(os.getpid(), 9)
            """
        let options = ["--restart", "always", "--backoff", "300ms", "--listen", "tcp:127.0.0.1:\(port)"]
        let supervised = try Supervised(options, ["python3", "-c", script])
        let first = try supervised.nextPid()
        let one = try LineClient(port: port)
        #expect(try one.line() == "served by \(first)")
        // Its end is taken now or soon: for some hundred milliseconds there is no program.
        let two = try LineClient(port: port)
        let second = try supervised.nextPid()
        #expect(try two.line() == "served by \(second)")
    }

    @Test func `Clients that have waited long enough are turned away`() throws {
        let port = try Loopback.freePort()
        let options = [
            "--restart", "always", "--backoff", "1h", "--backoff-cap", "1h", "--backlog-wait", "50ms", "--listen",
            "tcp:127.0.0.1:\(port)",
        ]
        let supervised = try Supervised(options, ["sh", "-c", "echo up $$; exit 1"])
        _ = try supervised.nextPid()
        let client = try LineClient(port: port)
        // A reset, or an end where the kernel was asked before it came.
        #expect(throws: (any Error).self) { if try client.line() == nil { throw HarnessError("ended") } }
        _ = try supervised.status(once: "waiting")
        supervised.process.kill(SIGTERM)
        #expect(try supervised.process.wait() == .exited(1))
    }

    @Test func `A port that is taken is told with who to ask`() throws {
        let port = try Loopback.freePort()
        let first = try Supervised(["--listen", "tcp:127.0.0.1:\(port)"], waiter)
        _ = try first.nextPid()
        let second = try Supervised(["--listen", "tcp:127.0.0.1:\(port)"], waiter)
        #expect(try second.process.wait() == .exited(69))
        #expect(second.process.errors.contains("ss -lxtnp"))
    }

    // MARK: Process 1

    @Test(.enabled(if: ProcessNamespace.isAllowed))
    func `As process 1 it takes ten thousand orphans, where this user may make a namespace of processes`() throws {
        let store = try StoreReader()
        let script =
            "i=0; while [ $i -lt 100 ]; do (j=0; while [ $j -lt 100 ]; do true & j=$((j+1)); done) ; i=$((i+1)); done; exit 9"
        let holdfast = [try BuiltProduct.path(of: "holdfast"), "run", "--store", store.path, "--", "sh", "-c", script]
        let run = try ProgramRun.run("/usr/bin/env", ProcessNamespace.command + holdfast, within: .seconds(120))
        #expect(run.end == .exited(9), "\(run.errors)")
    }

    @Test func `A root that cannot be written to, no HOME and another user are no reason not to run`() throws {
        let run = try ProgramRun.run(
            "/usr/bin/env",
            [
                "-i", "PATH=/usr/bin:/bin", BuiltProduct.path(of: "holdfast"), "run", "--store", "/proc/none", "--",
                "sh", "-c", "exit 4",
            ]
        )
        #expect(run.end == .exited(4))
        #expect(run.errors.contains("deaths are told here only"))
        let none = try ProgramRun.run(
            "/usr/bin/env",
            ["-i", BuiltProduct.path(of: "holdfast"), "run", "--", "/bin/sh", "-c", "exit 4"]
        )
        #expect(none.end == .exited(4))
        #expect(none.errors.contains("no store"))
    }

    @Test func `Stopping a program that waits for its next start is told as what it is`() throws {
        let options = ["--restart", "always", "--backoff", "1h", "--backoff-cap", "1h"]
        let supervised = try Supervised(options, ["sh", "-c", "echo up $$; exit 9"])
        _ = try supervised.nextPid()
        _ = try supervised.status(once: "waiting")
        let stop = try supervised.order("stop")
        #expect(stop.output == "stopped\n", "\(stop.errors)")
        #expect(try supervised.process.wait() == .exited(9))
    }

    @Test func `Two supervisors of one name do not share a store`() throws {
        let first = try Supervised(["--name", "w"], waiter)
        _ = try first.nextPid()
        let second = try Supervised(["--name", "w"], waiter, store: first.store)
        #expect(try second.process.wait() == .exited(69))
        #expect(second.process.errors.contains("--name gives another one"))
    }

    // MARK: What an adversary has found

    @Test func `A start that fails is not tried again without a pause, whatever the back-off says`() throws {
        let options = ["--restart", "on-failure", "--backoff", "0s", "--give-up-after", "3"]
        let run = try Supervised.run(options, ["no-such-program"])
        #expect(run.end == .exited(125))
        #expect(run.reports.count == 3)
        let times = run.reports.map { $0.timestamp.microsecondsSinceEpoch }
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 >= 100_000 }, "\(times)")
    }

    @Test func `What a program says just before its end counts`() throws {
        let script =
            Self.notifier + """
                print(os.environ.get('LISTEN_FDS'), flush=True)
                if 'LISTEN_FDS' in os.environ: sys.exit(0)
                for i in range(20): say('FDSTORE=1\\nFDNAME=f%d' % i, os.memfd_create('kept'))
                os._exit(1)
                """
        let supervised = try Supervised(["--restart", "on-failure", "--backoff", "1ms"], ["python3", "-c", script])
        #expect(try supervised.line() == "None")
        #expect(try supervised.line() == "20")
    }

    @Test func `A socket whose other end is gone is not kept`() throws {
        let script =
            Self.notifier + """
                print(os.environ.get('LISTEN_FDS'), flush=True)
                a, b = socket.socketpair()
                say('FDSTORE=1', a.fileno())
                r, w = os.pipe()
                say('BARRIER=1', w)
                os.close(w)
                os.read(r, 1)
                a.close()
                b.close()
                print('closed', flush=True)
                sys.stdin.read(0)
                while True: time.sleep(1000)
                """
        let supervised = try Supervised([], ["python3", "-c", script])
        #expect(try supervised.line() == "None")
        #expect(try supervised.line() == "closed")
        // The kernel has told of the end when the close returned, and orders are taken after that.
        #expect(try supervised.order("probe").end == .exited(0))
        #expect(try supervised.order("restart").end == .exited(0))
        #expect(try supervised.line() == "None")
    }

    @Test func `A program that is on its way out is not watched any more`() throws {
        let script =
            Self.notifier + """
                import signal
                def end(n, f):
                    say('WATCHDOG=1\\nREADY=1')
                    time.sleep(0.4)
                    os._exit(7)
                signal.signal(signal.SIGTERM, end)
                say('READY=1')
                print('up', os.getpid(), flush=True)
                while True:
                    say('WATCHDOG=1')
                    time.sleep(0.02)
                """
        let options = ["--ready", "notify", "--watchdog", "150ms", "--stop-timeout", "10s"]
        let supervised = try Supervised(options, ["python3", "-c", script])
        _ = try supervised.nextPid()
        supervised.process.kill(SIGTERM)
        #expect(try supervised.process.wait() == .exited(7))
        #expect(try supervised.reports().first?.death?.cause == "stopped")
    }

    @Test func `A daemon names its main process, also below process 1 where this user may make a namespace`() throws {
        let folder = try TemporaryFolder()
        let script =
            Self.notifier + """
                if os.fork():
                    os._exit(0)
                os.setsid()
                if os.fork():
                    os._exit(0)
                say('MAINPID=%d\\nREADY=1' % os.getpid())
                open('\(folder.path)/up', 'w').close()
                time.sleep(0.3)
                os._exit(6)
                """
        for namespace in [[]] + (ProcessNamespace.isAllowed ? [ProcessNamespace.command] : []) {
            let store = try StoreReader()
            // The first process waits until its daemon has said so: it is all that holds the daemon to us until then.
            let first =
                "import subprocess, sys, time, os; p = subprocess.Popen(['python3', '-c', sys.argv[1]]); p.wait()\n"
                + "while not os.path.exists('\(folder.path)/up'): time.sleep(0.01)\nsys.exit(0)"
            let command =
                namespace + [
                    try BuiltProduct.path(of: "holdfast"), "run", "--store", store.path, "--ready", "notify",
                    "--start-timeout",
                    "10s", "--", "python3", "-c", first, script,
                ]
            let run = try ProgramRun.run("/usr/bin/env", command)
            #expect(run.end == .exited(6), "\(namespace) \(run.errors)")
            try FileManager.default.removeItem(atPath: "\(folder.path)/up")
        }
    }

    @Test func `A signal that was passed on is known`() throws {
        let supervised = try Supervised(["--reload-signal", "HUP"], waiter)
        _ = try supervised.nextPid()
        _ = try supervised.order("reload")
        #expect(try supervised.process.wait() == .exited(129))
        let sentence = try #require(try supervised.reports().first?.death?.sentence)
        #expect(sentence.contains("SIGHUP, which the supervisor has passed on (holdfast reload by process"))
    }
}
