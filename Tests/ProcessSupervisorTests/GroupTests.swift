import CrashReports
import Foundation
import Glibc
import LinuxSystem
import Synchronization
import SystemPackage
import TestSupport
import Testing

@testable import ProcessSupervisor

/// Several programs, hand-overs, probes, and programs with Holdfast inside.
@Suite(.timeLimit(.minutes(5))) struct GroupTests {
    /// Runs a file of programs, each of which says its name and its number when it starts and which signal has ended it.
    private static func start(_ strategy: String, _ names: [String]) throws -> (Supervised, TemporaryFolder) {
        let folder = try TemporaryFolder()
        // Ready when it has spoken: so they speak in their order.
        let script = try folder.write(
            """
            import os, signal, socket, sys
            # Waited for: a handler would not end a sleep that begins just after the signal has come.
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
            os.write(1, b'%s %d\\n' % (sys.argv[1].encode(), os.getpid()))
            n = os.environ['NOTIFY_SOCKET']
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'READY=1', '\\0' + n[1:])
            signal.sigwait([signal.SIGTERM])
            os.write(1, b'stop %s\\n' % sys.argv[1].encode())
            """,
            to: "program.py"
        )
        let programs = names.map { name in
            """
            [Program \(name)]
            Type=notify
            ExecStart=python3 \(script) \(name)
            Restart=always
            RestartSec=1ms

            """
        }
        let file = try folder.write("[Supervisor]\nStrategy=\(strategy)\n" + programs.joined(), to: "programs")
        return (try Supervised(file: file), folder)
    }

    /// The next lines, by their first words.
    private static func lines(_ supervised: Supervised, _ count: Int) throws -> [(words: String, pid: CInt?)] {
        try (0..<count).map { _ in
            let words = try supervised.line().split(separator: " ")
            guard let pid = words.last.flatMap({ CInt($0) }) else { return (words.joined(separator: " "), nil) }
            return (words.dropLast().joined(separator: " "), pid)
        }
    }

    @Test(arguments: [
        ("one_for_one", ["b"], [String]()), ("rest_for_one", ["b", "c"], ["stop c"]),
        ("one_for_all", ["a", "b", "c"], ["stop a", "stop c"]),
    ])
    func `The end of one is what the strategy makes of it`(
        strategy: String,
        started: [String],
        stopped: [String]
    ) throws {
        let (supervised, folder) = try Self.start(strategy, ["a", "b", "c"])
        let first = try Self.lines(supervised, 3)
        #expect(first.map(\.words) == ["a", "b", "c"])
        kill(try #require(first[1].pid), SIGKILL)
        let then = try Self.lines(supervised, started.count + stopped.count).map(\.words)
        // Those that are ended say so at the same time; those that are started, one after the other.
        #expect(then.filter { $0.hasPrefix("stop") }.sorted() == stopped)
        #expect(then.filter { !$0.hasPrefix("stop") } == started)
        // They end in the opposite order.
        supervised.process.kill(SIGTERM)
        #expect(try Self.lines(supervised, 3).map(\.words) == ["stop c", "stop b", "stop a"])
        #expect(try supervised.process.wait() == .exited(0))
        withExtendedLifetime(folder) {}
    }

    @Test func `A restart of all ends them in the opposite order, and starts them in theirs`() throws {
        let (supervised, folder) = try Self.start("one_for_one", ["a", "b", "c"])
        #expect(try Self.lines(supervised, 3).map(\.words) == ["a", "b", "c"])
        #expect(try supervised.order("restart").end == .exited(0))
        #expect(try Self.lines(supervised, 6).map(\.words) == ["stop c", "stop b", "stop a", "a", "b", "c"])
        withExtendedLifetime(folder) {}
    }

    @Test(arguments: ["c", "b", "a"])
    func `An order for one that a restart of all is just ending is carried out with it`(name: String) throws {
        let folder = try TemporaryFolder()
        let programs = ["a", "b", "c"].map { program in
            """
            [Program \(program)]
            Type=exec
            ExecStart=sh -c 'trap "echo ending \(program); until [ -e \(folder.path)/\(program) ]; do sleep 0.01; done; exit" TERM; \
            echo \(program) $$; while :; do sleep 0.01; done'
            Restart=always

            """
        }
        let supervised = try Supervised(file: try folder.write(programs.joined(), to: "programs"))
        let before = Set(try Self.lines(supervised, 3).map(\.pid))
        let orders = DispatchGroup()
        let answers = Mutex<[Bool]>([])
        let client = try ControlClient(control: nil, store: FilePath(supervised.store.path), program: nil)
        func order(_ program: String?) {
            orders.enter()
            // Not a queue's thread: there are few, and all may wait for answers.
            Thread.detachNewThread {
                let answer = try? client.ask(ControlRequest(.restart, program: program))
                answers.withLock { $0.append(answer == "restarted") }
                orders.leave()
            }
        }
        order(nil)
        for program in ["c", "b", "a"] {
            #expect(try supervised.line() == "ending \(program)")
            if program == name {
                order(program)
                // So that the order is there.
                for _ in 0..<3 { _ = try supervised.status() }
            }
            _ = try folder.write("", to: program)
        }
        let after = try Self.lines(supervised, 3)
        #expect(Set(after.map(\.words)) == ["a", "b", "c"])
        #expect(before.isDisjoint(with: after.map(\.pid)))
        orders.wait()
        #expect(answers.withLock { $0 } == [true, true])
    }

    @Test func `One that has done its work takes nobody with it, and a restart of all waits for it`() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write(
            """
            [Supervisor]
            Strategy=one_for_all
            [Program once]
            ExecStart=sh -c 'echo once $$'
            [Program long]
            ExecStart=sh -c 'echo long $$; exec sleep 1000'
            """,
            to: "group"
        )
        let supervised = try Supervised(file: file)
        #expect(try Set([supervised.line(), supervised.line()].map { $0.prefix(4) }) == ["once", "long"])
        #expect(try supervised.order("restart").end == .exited(0))
        #expect(try Set([supervised.line(), supervised.line()].map { $0.prefix(4) }) == ["once", "long"])
        #expect(try supervised.order("stop").end == .exited(0))
        // Nothing was started meanwhile.
        #expect(try supervised.process.output.next() == nil)
    }

    @Test func `One that waits for its next start is not started while the others are being stopped`() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write(
            """
            [Program failing]
            ExecStart=sh -c 'echo failing; exit 1'
            Restart=always
            RestartSec=200ms
            [Program slow]
            ExecStart=sh -c 'trap "sleep 1; exit 0" TERM; echo slow; while :; do sleep 0.1; done'
            """,
            to: "group"
        )
        let supervised = try Supervised(file: file)
        var lines: [String] = []
        while !lines.contains("slow") || !lines.contains("failing") { lines.append(try supervised.line()) }
        supervised.process.kill(SIGTERM)
        // One that had begun before.
        _ = try supervised.process.output.next()
        #expect(try supervised.process.output.next() == nil)
    }

    @Test func `One that is given up ends all`() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write(
            """
            [Program good]
            ExecStart=sleep 1000
            [Program bad]
            ExecStart=sh -c 'exit 1'
            Restart=always
            RestartSec=1ms
            GiveUpAfter=3
            """,
            to: "programs"
        )
        let supervised = try Supervised(file: file)
        #expect(try supervised.process.wait() == .exited(125))
        let ends = try supervised.reports().compactMap { report in report.death.map { "\($0.program) \($0.cause)" } }
        #expect(ends.sorted() == ["bad exit", "bad exit", "bad exit", "good stopped"])
    }

    @Test func `A second order to end does not hurry those whose turn has not come`() throws {
        let (supervised, folder) = try Self.start("one_for_one", ["a", "b"])
        let pids = try Self.lines(supervised, 2).compactMap(\.pid)
        // It takes its time: it is stopped, and its signals wait.
        kill(pids[1], SIGSTOP)
        for _ in 0..<3 { supervised.process.kill(SIGTERM) }
        #expect(try Self.lines(supervised, 2).map(\.words) == ["stop b", "stop a"])
        #expect(try supervised.process.wait() == .exited(0))
        #expect(try supervised.reports().compactMap(\.death).allSatisfy { $0.cause == "stopped" })
        withExtendedLifetime(folder) {}
    }

    @Test func `A program that has ended well is not missed`() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write(
            "[Program once]\nExecStart=true\n[Program web]\nExecStart=sh -c 'echo up $$; exec sleep 1000'\n",
            to: "programs"
        )
        let supervised = try Supervised(file: file)
        _ = try supervised.nextPid()
        #expect(try supervised.order("probe").end == .exited(0))
        let stop = try supervised.order("stop", ["web"])
        #expect(stop.end == .exited(1))
        #expect(stop.errors.contains("name no program"))
    }

    @Test func `An upgrade that cannot start changes nothing but a report`() throws {
        let folder = try TemporaryFolder()
        let program = "\(folder.path)/program"
        try FileManager.default.createSymbolicLink(atPath: program, withDestinationPath: "/usr/bin/python3")
        let options = ["--restart", "always", "--give-up-after", "1", "--name", "p", "--ready", "notify"]
        let script = """
            import os, socket, time
            os.write(1, b'up %d\\n' % os.getpid())
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'READY=1', '\\0' + os.environ['NOTIFY_SOCKET'][1:])
            while True: time.sleep(1000)
            """
        let supervised = try Supervised(options, [program, "-c", script])
        let pid = try supervised.nextPid()
        let deadline = Deadline()
        while try supervised.order("probe").end != .exited(0), !deadline.hasPassed {}
        try FileManager.default.removeItem(atPath: program)
        let upgrade = try supervised.order("upgrade")
        #expect(upgrade.end == .exited(1))
        #expect(upgrade.errors.contains("did not take over: ") && upgrade.errors.contains(program), "\(upgrade.errors)")
        let status = try supervised.status()
        #expect(status["pid"] as? Int == Int(pid))
        #expect(status["earlyEnds"] as? Int == 0)
        supervised.process.kill(SIGTERM)
        #expect(try supervised.process.wait() == .exited(143))
    }

    @Test func `A file that is wrong says where`() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("[Program a]\nExecStat=x\n", to: "programs")
        let run = try ProgramRun.run(BuiltProduct.path(of: "holdfast"), ["run", "--file", file])
        #expect(run.end == .exited(64))
        #expect(run.errors.contains("line 2: no such key"))
    }

    // MARK: Hand-over

    /// A server that accepts one connection after the other, and says who it is.
    private static let server = """
        import os, select, signal, socket, sys
        s = socket.socket(fileno=3)
        # A handler would not end an accept that begins just after the signal has come.
        told, tells = os.pipe()
        os.set_blocking(tells, False)
        signal.set_wakeup_fd(tells)
        signal.signal(signal.SIGTERM, lambda n, f: None)
        if os.path.exists(sys.argv[1]): sys.exit(6)
        n = os.environ['NOTIFY_SOCKET']
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'READY=1', '\\0' + n[1:])
        print('up', os.getpid(), flush=True)
        s.setblocking(False)
        while told not in select.select([s, told], [], [])[0]:
            try: c, _ = s.accept()
            except BlockingIOError: continue  # The other process has taken it.
            c.sendall(b'%d\\n' % os.getpid())
            c.close()
        print('end', os.getpid(), flush=True)
        """

    @Test func `An upgrade lets the next process take over, and refuses nobody`() throws {
        let port = try Loopback.freePort()
        let folder = try TemporaryFolder()
        let options = ["--ready", "notify", "--listen", "tcp:127.0.0.1:\(port)", "--name", "web"]
        let supervised = try Supervised(options, ["python3", "-c", Self.server, "\(folder.path)/broken"])
        var pid = try supervised.nextPid()
        for _ in 0..<5 {
            let upgrade = try supervised.order("upgrade")
            #expect(upgrade.output == "upgraded\n", "\(upgrade.errors)")
            let lines = [try supervised.line(), try supervised.line()]
            #expect(lines.contains("end \(pid)"), "\(lines)")
            pid = try #require(lines.first { $0.hasPrefix("up ") }?.split(separator: " ").last.flatMap { CInt($0) })
            #expect(try LineClient(port: port).line() == "\(pid)")
        }
        // One that does not become ready leaves the one before serving.
        try folder.write("", to: "broken")
        let upgrade = try supervised.order("upgrade")
        #expect(upgrade.end == .exited(1))
        #expect(upgrade.errors.contains("did not take over: It ended itself with status 6."), "\(upgrade.errors)")
        #expect(try LineClient(port: port).line() == "\(pid)")
        #expect(try supervised.status()["pid"] as? Int == Int(pid))
        #expect((try supervised.status()["lastUpgradeFailure"] as? String)?.contains("status 6") == true)
    }

    @Test func `An upgrade of a program that does not say when it is ready is refused`() throws {
        let supervised = try Supervised(["--name", "w"], waiter)
        let pid = try supervised.nextPid()
        let upgrade = try supervised.order("upgrade")
        #expect(upgrade.end == .exited(1))
        #expect(upgrade.errors.contains("--ready notify"))
        #expect(try supervised.status()["pid"] as? Int == Int(pid))
    }

    // MARK: Probes

    @Test func `One that does not answer its probe is ended, and the report has its threads`() throws {
        let port = try Loopback.freePort()
        let options = [
            "--probe", "tcp:127.0.0.1:\(port)", "--probe-interval", "1ms", "--probe-failures", "2",
        ]
        let run = try Supervised.run(options, ["sleep", "1000"])
        #expect(run.end == .exited(134))
        let death = try #require(run.reports.first?.death)
        #expect(death.cause == "probe")
        let thread = try #require(death.evidence.firstIndex { $0.hasPrefix("thread ") && $0.contains("nanosleep") })
        // Its stack, innermost first.
        #expect(death.evidence[thread + 1].hasPrefix("  0 ") && death.evidence[thread + 1].contains("nanosleep"))
        #expect(death.evidence.contains { $0.contains("__libc_start_main in libc.so.6+0x") })
    }

    @Test func `Answers of HTTP and of a command are judged`() throws {
        let server = """
            import http.server, os, socket, sys
            class H(http.server.BaseHTTPRequestHandler):
                count = 0
                def do_GET(self):
                    H.count += 1
                    print(self.path, H.count, flush=True)
                    self.wfile.write(b'HTTP/1.1 103 Early Hints\\r\\nLink: </a>\\r\\n\\r\\n')
                    self.send_response(200 if H.count < 4 else 503)
                    self.end_headers()
                def log_message(self, *a): pass
            s = http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), H)
            n = os.environ['NOTIFY_SOCKET']
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'READY=1', '\\0' + n[1:])
            s.serve_forever()
            """
        let port = try Loopback.freePort()
        let options = [
            "--ready", "notify", "--probe", "http://127.0.0.1:\(port)/health", "--probe-interval", "1ms",
            "--probe-failures", "2",
        ]
        let supervised = try Supervised(options, ["python3", "-c", server, "\(port)"])
        for count in 1...5 { #expect(try supervised.line() == "/health \(count)") }
        #expect(try supervised.process.wait() == .exited(134))
        #expect(try supervised.reports().first?.death?.sentence.contains("status 503, 2 times in a row") == true)
        let command = ["--probe", "exec:exit 3", "--probe-interval", "1ms", "--probe-failures", "1"]
        let run = try Supervised.run(command, ["sleep", "1000"])
        #expect(run.reports.first?.death?.sentence.contains("the probe ended by status 3") == true)
    }

    @Test func `How a probe goes is told by status, and probe fails while it does`() throws {
        let folder = try TemporaryFolder()
        let options = [
            "--name", "w", "--probe", "exec:test -e $SIGN -a -z \"$NOTIFY_SOCKET\"", "--directory", folder.path,
            "--env", "SIGN=sign", "--probe-interval", "1ms", "--probe-failures", "1000000",
        ]
        let supervised = try Supervised(options, waiter)
        _ = try supervised.nextPid()
        func wait(for state: String) throws -> [String: Any] {
            let deadline = Deadline()
            while true {
                let probe = try #require(try supervised.status()["probe"] as? [String: Any])
                if probe["state"] as? String == state { return probe }
                try #require(!deadline.hasPassed, "\(probe)")
            }
        }
        let failing = try wait(for: "failing")
        #expect(
            failing["problem"] as? String == "the probe ended by status 1" && failing["allowed"] as? Int == 1_000_000
        )
        #expect(failing["failures"] as? Int ?? 0 > 0)
        let refused = try supervised.order("probe")
        #expect(refused.end == .exited(1) && refused.errors.contains("its probe fails (the probe ended by status 1, "))
        try folder.write("", to: "sign")
        #expect(try wait(for: "good")["failures"] as? Int == 0)
        #expect(try supervised.order("probe").end == .exited(0))
        #expect(try supervised.order("stop").end == .exited(0))
    }

    // MARK: Holdfast inside

    @Test func `A server with Holdfast inside takes its socket, is ready, and keeps both across a restart in place`()
        throws
    {
        let port = try Loopback.freePort()
        let options = ["--ready", "notify", "--listen", "tcp:127.0.0.1:\(port)", "--watchdog", "10s", "--name", "echo"]
        let store = try StoreReader()
        let supervised = try Supervised(
            options + ["--env", "HOLDFAST_STORE=\(store.path)"],
            [BuiltProduct.path(of: "echo-server"), "\(port)"],
            store: store
        )
        #expect(try supervised.line().hasSuffix("127.0.0.1:\(port)"))
        let client = try LineClient(port: port)
        #expect(try client.ask("hello") == "hello")
        #expect(try supervised.order("probe").end == .exited(0))
        // SIGTERM is an order to end: the report says that it was one.
        #expect(try supervised.order("stop").end == .exited(0))
        #expect(try supervised.process.wait() == .exited(0))
        #expect(try supervised.reports().compactMap(\.death).map(\.cause) == ["stopped"])
    }

    @Test func `A probe that ends a process with Holdfast inside is what its report begins with`() throws {
        let store = try StoreReader()
        let port = try Loopback.freePort()
        let run = try Supervised.run(
            ["--probe", "tcp:127.0.0.1:\(port)", "--probe-interval", "1ms", "--probe-failures", "2"],
            [BuiltProduct.path(of: "holdfast-agent"), "--store", store.path],
            store: store
        )
        #expect(run.end == .exited(134))
        let report = try #require(run.reports.first)
        #expect(report.death?.cause == "probe")
        #expect(
            report.diagnosis?.summary.hasPrefix("A probe failed (") == true,
            "\(String(describing: report.diagnosis))"
        )
    }

    /// The agent, which listens, in the store of its supervisor.
    private static func agent() throws -> Supervised {
        let store = try StoreReader()
        let command = [try BuiltProduct.path(of: "holdfast-agent"), "--store", store.path]
        let supervised = try Supervised(["--name", "agent"], command, store: store)
        _ = try supervised.line()
        return supervised
    }

    @Test func `Of a process with Holdfast inside whose end has a report nobody says that it ended without a word`()
        throws
    {
        let supervised = try Self.agent()
        kill(CInt(try #require(try supervised.status()["pid"] as? Int)), SIGKILL)
        #expect(try supervised.process.wait() == .exited(137))
        let list = try supervised.store.crashreport(["list"])
        #expect(list.end == .exited(0))
        #expect(list.errors == "")
    }

    @Test func `The fault that ended a process and its end are one report`() throws {
        let supervised = try Self.agent()
        let pid = try #require(try supervised.status()["pid"] as? Int)
        // A signal that somebody sends ends a process with Holdfast inside, too, which captures it.
        kill(CInt(pid), SIGSEGV)
        #expect(try supervised.process.wait() == .exited(139))
        let reports = try supervised.reports()
        #expect(reports.count == 1, "\(reports.map(\.reason)) \(supervised.process.errors)")
        let report = try #require(reports.first)
        #expect(report.kind == .fault)
        #expect(report.verdict.decision == .terminate)
        #expect(report.death?.program == "agent")
    }

    @Test func `They are one report also if the fault's is made before the supervisor has seen the end`() throws {
        let store = try StoreReader()
        let agent = [try BuiltProduct.path(of: "holdfast-agent"), "--store", store.path]
        let supervised = try Supervised(["--name", "agent"], agent, store: store)
        _ = try supervised.line()
        let number = try #require(try supervised.status()["pid"] as? Int)
        let pid = CInt(number)
        kill(supervised.process.pid, SIGSTOP)
        kill(pid, SIGSEGV)
        let deadline = Deadline()
        while ProcessFields.of(pid)?.first != "Z" { try #require(!deadline.hasPassed) }
        let first = try supervised.reports()
        #expect(first.count == 1 && first.first?.kind == .fault && first.first?.death == nil)
        kill(supervised.process.pid, SIGCONT)
        #expect(try supervised.process.wait() == .exited(139))
        let reports = try supervised.reports()
        #expect(reports.map(\.id) == first.map(\.id), "\(reports.map(\.reason))")
        #expect(reports.first?.death?.signal == "SIGSEGV" && reports.first?.death?.program == "agent")
    }

    @Test func `The end of a process that has restarted in place is another report than its fault's`() throws {
        let store = try StoreReader()
        let agent = [try BuiltProduct.path(of: "holdfast-agent"), "--store", store.path, "--after-fault", "restart"]
        let supervised = try Supervised(["--name", "agent"], agent, store: store)
        let line = try supervised.line()
        let port = try #require(
            line.split(separator: ":").last.flatMap { UInt16($0.prefix { $0.isNumber }) },
            "\(line)"
        )
        let number = try #require(try supervised.status()["pid"] as? Int)
        try LineClient(port: port).send("FAULT null-read\n")
        // The next process.
        _ = try supervised.line()
        kill(CInt(number), SIGKILL)
        #expect(try supervised.process.wait() == .exited(137))
        let reports = try supervised.reports()
        #expect(reports.filter { $0.kind == .fault }.map(\.death) == [nil])
        #expect(reports.compactMap(\.death?.signal) == ["SIGKILL"])
    }
}
