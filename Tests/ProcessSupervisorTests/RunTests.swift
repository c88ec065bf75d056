import CLinuxShims
import CrashReports
import Foundation
import Glibc
import TestSupport
import Testing

/// `holdfast run` with real programs: starts, ends, exit statuses.
@Suite(.timeLimit(.minutes(5))) struct RunTests {
    @Test(arguments: [
        ("exit 3", ChildProcess.End.exited(3)), ("exit 0", .exited(0)), ("kill -9 $$", .exited(137)),
        ("kill -TERM $$", .exited(143)),
    ])
    func `It ends as the program did`(script: String, end: ChildProcess.End) throws {
        let run = try Supervised.run([], ["sh", "-c", script])
        #expect(run.end == end, "\(run.errors)")
        #expect(run.reports.count == 1)
        #expect(run.reports.first?.kind == .death)
    }

    @Test(arguments: [
        (["no-such-program"], CInt(127), "not found"), (["/no/such/program"], 127, "not found"),
        (["/etc/passwd"], 126, "not executable"), (["/etc"], 126, "not executable"),
    ])
    func `What cannot be started is told with its stage and a status of its own`(
        command: [String],
        status: CInt,
        scope: String
    ) throws {
        let run = try Supervised.run([], command)
        #expect(run.end == .exited(status))
        let death = try #require(run.reports.first?.death)
        #expect(death.cause == "exec")
        #expect(death.scope == scope)
    }

    @Test func `A script whose interpreter is missing says which`() throws {
        // Not made here: what was open for writing a moment ago may be busy still, in a child that another test is about to start.
        let script = BuiltProduct.file("Tests/ProcessSupervisorTests/Scripts/no-interpreter").path
        let run = try Supervised.run([], [script])
        #expect(run.end == .exited(126))
        let death = try #require(run.reports.first?.death)
        #expect(death.scope == "bad interpreter")
        #expect(death.sentence.contains("/no/such/shell -e"))
    }

    @Test
    func `A file in the place of the control socket, and a socket that is named twice, are told as what they are`()
        throws
    {
        let folder = try TemporaryFolder()
        let file = try folder.write("mine", to: "file")
        let taken = try Supervised(["--control", file], ["true"]).process
        #expect(try taken.wait() == .exited(69))
        #expect(taken.errors.contains("that is no socket"), "\(taken.errors)")
        let place = "unix:\(folder.path)/s"
        let twice = try Supervised(["--listen", place, "--listen", place], ["true"]).process
        #expect(try twice.wait() == .exited(69))
        #expect(twice.errors.contains("is to be opened twice"), "\(twice.errors)")
    }

    @Test func `A working directory that is not there is told`() throws {
        let run = try Supervised.run(["--directory", "/no/such"], ["true"])
        #expect(run.end == .exited(126))
        #expect(run.reports.first?.death?.scope == "working directory")
    }

    @Test func `Ends that count as successes end with 0`() throws {
        #expect(try Supervised.run(["--success-codes", "3,SIGTERM"], ["sh", "-c", "exit 3"]).end == .exited(0))
        #expect(try Supervised.run(["--success-codes", "3,SIGTERM"], ["sh", "-c", "kill -TERM $$"]).end == .exited(0))
        #expect(try Supervised.run(["--success-codes", "3"], ["sh", "-c", "exit 4"]).end == .exited(4))
    }

    @Test func `It is started again as often as it fails, until it is given up`() throws {
        let options = ["--restart", "on-failure", "--backoff", "1ms", "--give-up-after", "4"]
        let run = try Supervised.run(options, ["sh", "-c", "exit 5"])
        #expect(run.end == .exited(125))
        #expect(run.reports.count == 4)
        #expect(run.reports.allSatisfy { $0.death?.status == 5 })
        #expect(run.reports.last?.death?.action.contains("given up") == true)
    }

    @Test func `Ends that cannot be written down are kept until they can`() throws {
        let store = try StoreReader()
        let spool = store.path + "/spool"
        let script = """
            cd \(store.path)
            n=$(cat count 2>/dev/null || echo 0); echo $((n + 1)) > count
            echo "end $n" >&2
            [ $n != 0 ] || { mv \(spool) away; touch \(spool); }
            [ $n != 23 ] || { rm \(spool); mv away \(spool); }
            exit 1
            """
        let options = ["--restart", "on-failure", "--backoff", "1ms", "--backoff-cap", "1ms", "--give-up-after", "24"]
        let run = try Supervised.run(options, ["sh", "-c", script], store: store)
        #expect(run.end == .exited(125), "\(run.errors)")
        #expect(run.reports.count == 24)
        // What those before have written is given up first.
        let outputs = run.reports.compactMap(\.death?.lastOutput).sorted()
        #expect(outputs.count == 17 && outputs.contains("end 23\n") && !outputs.contains("end 3\n"), "\(outputs)")
    }

    @Test func `A success ends it, unless it is always started again`() throws {
        #expect(try Supervised.run(["--restart", "on-failure"], ["true"]).reports.count == 1)
        let supervised = try Supervised(["--restart", "always", "--backoff", "1ms"], ["sh", "-c", "echo up $$"])
        var seen: Set<CInt> = []
        for _ in 0..<5 { seen.insert(try supervised.nextPid()) }
        #expect(seen.count == 5)
        supervised.process.kill(SIGTERM)
        _ = try supervised.process.wait()
    }

    @Test func `The count of early ends outlives a supervisor that is killed`() throws {
        let store = try StoreReader()
        let options = ["--restart", "on-failure", "--backoff", "1ms", "--name", "a"]
        let script = ["sh", "-c", "echo up $$; read line < \"$0\"; exit 1"]
        let folder = try TemporaryFolder()
        let pipe = "\(folder.path)/pipe"
        mkfifo(pipe, 0o600)
        let first = try Supervised(options, script + [pipe], store: store)
        for _ in 0..<3 {
            _ = try first.nextPid()
            // The process reads the end of the line, and ends.
            let writer = open(pipe, O_WRONLY)
            _ = write(writer, "\n", 1)
            close(writer)
        }
        _ = try first.nextPid()
        #expect(try first.status()["earlyEnds"] as? Int == 3)
        first.process.kill(SIGKILL)
        _ = try first.process.wait()
        let second = try Supervised(options, script + [pipe], store: store)
        _ = try second.nextPid()
        #expect(try second.status()["earlyEnds"] as? Int == 3)
    }

    @Test func `The program dies with a supervisor that is killed`() throws {
        let supervised = try Supervised([], waiter)
        let pid = try supervised.nextPid()
        let descriptor = hf_pidfd_open(pid)
        #expect(descriptor >= 0)
        defer { close(descriptor) }
        supervised.process.kill(SIGKILL)
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        #expect(poll(&request, 1, 20_000) == 1)
    }

    @Test func `The program has its own group, no signal blocked or ignored, and only its own descriptors`() throws {
        let script =
            "import os, signal; print(os.getpgrp() == os.getpid(), sorted(os.listdir('/proc/self/fd')), "
            + "[l.split()[1] for l in open('/proc/self/status') if l[:6] in ('SigBlk', 'SigIgn')], flush=True)"
        let supervised = try Supervised([], ["python3", "-c", script])
        let line = try supervised.line()
        // 3 is the folder that is listed; Python itself ignores SIGPIPE and SIGXFSZ.
        #expect(line == "True ['0', '1', '2', '3'] ['0000000000000000', '0000000001001000']")
        #expect(try supervised.process.wait() == .exited(0))
    }

    @Test func `What is left of its group ends, at the latest by SIGKILL`() throws {
        let script =
            "(trap '' TERM; touch \"$0/deaf\"; exec sleep 1000) & sleep 1000 & echo up $$; "
            + "while [ ! -e \"$0/deaf\" ]; do sleep 0.01; done; exit 0"
        let folder = try TemporaryFolder()
        let supervised = try Supervised(["--stop-timeout", "100ms"], ["sh", "-c", script, folder.path])
        let group = try supervised.nextPid()
        #expect(try supervised.process.wait() == .exited(0))
        #expect(kill(-group, 0) != 0 && errno == ESRCH)
    }

    @Test func `Orphans that have left the group are taken and ended, too`() throws {
        let script = "setsid sh -c 'echo up $$; exec sleep 1000' & while [ ! -s \"$0\" ]; do sleep 0.01; done; exit 0"
        let folder = try TemporaryFolder()
        let supervised = try Supervised([], ["sh", "-c", script, "\(folder.path)/go"])
        let pid = try supervised.nextPid()
        try folder.write("go", to: "go")
        #expect(try supervised.process.wait() == .exited(0))
        #expect(kill(pid, 0) != 0 && errno == ESRCH)
    }

    @Test func `Orphans that an orphan leaves are asked to end, too`() throws {
        let script = "setsid sh -c 'trap : TERM; setsid sleep 1000 & echo up $!; wait; :' & sleep 0.3"
        let supervised = try Supervised(["--stop-timeout", "60s"], ["sh", "-c", script])
        let last = try supervised.nextPid()
        // Long before it would be killed.
        #expect(try supervised.process.wait() == .exited(0))
        #expect(kill(last, 0) != 0 && errno == ESRCH)
    }

    @Test func `Standard descriptors that are closed are nobody's`() throws {
        let holdfast = try BuiltProduct.path(of: "holdfast")
        let store = try StoreReader()
        let script =
            "exec \"$0\" run --store \"$1\" -- sh -c 'readlink /proc/self/fd/0; readlink /proc/self/fd/2 >&1' <&- 2>&-"
        let run = try ProgramRun.run("/bin/sh", ["-c", script, holdfast, store.path])
        #expect(run.end == .exited(0))
        let places = run.output.split(separator: "\n")
        #expect(places.count == 2 && places[0] == "/dev/null", "\(places)")
    }

    @Test func `Arguments and variables that are not UTF-8 reach the program as they are`() throws {
        let script = """
            A=$(printf 'a\\377\\364\\217\\270\\200') exec "$0" run --store "$1" --termination-log "" --env B="$(printf '\\303')" -- \\
                sh -c 'printf "%s|%s|%s" "$1" "$A" "$B" | od -An -tx1' sh "$(printf '\\303\\244\\344')"
            """
        let store = try StoreReader()
        let run = try ProgramRun.run("/bin/sh", ["-c", script, try BuiltProduct.path(of: "holdfast"), store.path])
        #expect(run.output == " c3 a4 e4 7c 61 ff f4 8f b8 80 7c c3\n", "\(run.errors)")
    }

    @Test func `The file of a Unix socket has the mode that was asked for`() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/socket"
        let options = ["--listen", "unix:\(path)", "--socket-mode", "0660"]
        let supervised = try Supervised(options, ["sh", "-c", "stat -c %a '\(path)'"])
        #expect(try supervised.line() == "660")
        #expect(try supervised.process.wait() == .exited(0))
    }

    @Test func `SIGHUP is ignored where it was before, as by nohup`() throws {
        let holdfast = try BuiltProduct.path(of: "holdfast")
        let store = try StoreReader()
        let script = "trap '' HUP; exec \"$0\" run --store \"$1\" -- sh -c 'kill -HUP $PPID $$; echo lives'"
        let run = try ProgramRun.run("/bin/sh", ["-c", script, holdfast, store.path])
        #expect(run.end == .exited(0) && run.output == "lives\n")
    }

    @Test func `Its standard error passes through, and the end of it is in the report`() throws {
        let script =
            "i=0; while [ $i -lt 3000 ]; do echo \"line $i of what goes wrong here\" >&2; i=$((i+1)); done; exit 1"
        let run = try Supervised.run([], ["sh", "-c", script])
        let lines = run.errors.split(separator: "\n").filter { $0.hasPrefix("line ") }
        #expect(lines.count == 3000)
        let last = try #require(run.reports.first?.death?.lastOutput)
        // It begins with a line, as a part of a secret could not be known as one.
        #expect((64 * 1024 - 100...64 * 1024).contains(last.utf8.count) && last.hasPrefix("line "))
        #expect(last.hasSuffix("line 2999 of what goes wrong here\n"))
    }

    @Test func `A program is told of the store, so that what it reports belongs to its end`() throws {
        let store = try StoreReader()
        let run = try Supervised.run([], ["sh", "-c", "echo \"store $HOLDFAST_STORE\" >&2"], store: store)
        let line = try #require(run.errors.split(separator: "\n").first { $0.hasPrefix("store ") })
        #expect(line == "store \(store.path)")
    }

    /// Python that has a socket to the supervisor.
    private static let notifying = """
        import os, signal, socket, time
        name = os.environ["NOTIFY_SOCKET"]
        notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        notify.connect("\\0" + name[1:] if name[0] == "@" else name)

        """

    @Test func `A main process that is the first one again is supervised, whoever was named meanwhile`() throws {
        let script = """
            helper = os.fork()
            if helper == 0: time.sleep(1000)
            notify.send(b"MAINPID=%d" % helper)
            notify.send(b"MAINPID=%d" % os.getpid())
            os.kill(os.getpid(), signal.SIGSEGV)
            """
        let run = try Supervised.run([], ["python3", "-c", Self.notifying + script])
        #expect(run.end == .exited(128 + SIGSEGV))
        #expect(run.reports.compactMap(\.death?.signal) == ["SIGSEGV"])
    }

    @Test func `The end of a main process that is another one's child is seen`() throws {
        let script = """
            worker = os.fork()
            if worker == 0: time.sleep(1000)
            notify.send(b"READY=1\\nMAINPID=%d" % worker)
            print("up %d" % worker, flush=True)
            os.waitpid(worker, 0)
            time.sleep(1000)
            """
        let supervised = try Supervised(["--ready", "notify"], ["python3", "-c", Self.notifying + script])
        let worker = try supervised.nextPid()
        _ = try supervised.status(once: "ready")
        kill(worker, SIGKILL)
        #expect(try supervised.process.wait() == .exited(1))
        let report = try #require(try supervised.reports().first)
        #expect(report.process.pid == worker && report.death?.cause == "unknown" && report.death?.signal == nil)
        #expect(report.death?.sentence.contains("told to its parent alone") == true)
    }

    @Test func `A soft limit of processor time is known, which the kernel raises when it is reached`() throws {
        let run = try Supervised.run([], ["sh", "-c", "ulimit -S -t 1; while :; do :; done"])
        let death = try #require(run.reports.first?.death)
        #expect(death.cause == "limit" && death.scope == "processor time")
        #expect(death.sentence.contains("its limit of 1 s"))
    }

    @Test func `Arguments of any length leave a report`() throws {
        let long = String(repeating: "\u{1}", count: 120_000)
        let run = try Supervised.run([], ["sh", "-c", "exit 3"] + Array(repeating: long, count: 10))
        #expect(run.end == .exited(3))
        #expect(run.reports.compactMap(\.death?.status) == [3])
    }

    @Test func `Secrets are taken out of reports`() throws {
        let run = try Supervised.run([], ["sh", "-c", "echo password=hunter22 >&2; exit 1", "--token", "hunter23"])
        let report = try #require(run.reports.first)
        #expect(run.errors.contains("hunter22"))
        #expect(report.death?.lastOutput?.contains("hunter22") == false)
        #expect(report.process.arguments.contains("hunter23") == false)
    }

    @Test func `Reports of deaths are as the schema wants them`() throws {
        let supervised = try Supervised([], ["sh", "-c", "echo bye >&2; kill -9 $$"])
        _ = try supervised.process.wait()
        #expect(try supervised.reports().count == 1)
        let (violations, count) = try supervised.store.violations()
        #expect(violations.isEmpty, "\(violations)")
        #expect(count == 1)
        #expect(try supervised.store.spoolNames().filter { $0.hasSuffix(".death") }.isEmpty)
    }

    @Test func `The message for Kubernetes is the newest diagnosis, and not too long`() throws {
        let folder = try TemporaryFolder()
        let log = try folder.write(String(repeating: "old", count: 5000), to: "log")
        let script = "i=0; while [ $i -lt 900 ]; do echo 'ä line' >&2; i=$((i+1)); done; exit 3"
        let run = try Supervised.run(["--termination-log", log], ["sh", "-c", script])
        #expect(run.end == .exited(3))
        let text = try String(contentsOfFile: log, encoding: .utf8)
        #expect(text.hasPrefix("sh: It ended itself with status 3.\n"))
        #expect((4000...4096).contains(text.utf8.count))
    }

    @Test(arguments: [
        (["run", "--restrat", "always", "--", "true"], "did you mean --restart?"),
        (["run", "--restart", "sometimes", "--", "true"], "never, on-failure or always"),
        (["run"], "no program"), (["rnu"], "did you mean 'run'?"), ([], "no command"),
        (["run", "--listen", "tcp:x", "--", "true"], "port from 1 to 65535"), (["run", "--store"], "needs a value"),
        (["run", "--store=", "--", "true"], "empty value"),
        (["foo", "--help"], "'holdfast --help' says more"),
        (["run", "--reload-signal", "KILL", "--", "true"], "a signal that a program can take"),
        (["run", "--backoff=fast", "--", "true"], "a time such as"), (["status", "a", "b"], "one program at most"),
    ])
    func `A command line that is not understood says what was meant`(arguments: [String], text: String) throws {
        let run = try ProgramRun.run(BuiltProduct.path(of: "holdfast"), arguments)
        #expect(run.end == .exited(64))
        #expect(run.errors.contains(text), "\(run.errors)")
    }
}
