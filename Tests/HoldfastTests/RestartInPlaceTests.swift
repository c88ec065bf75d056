import Foundation
import Glibc
import TestSupport
import Testing

@testable import CrashCapture

/// What the process that takes another's place begins with.
@Suite(.timeLimit(.minutes(10))) struct RestartInPlaceTests {
    static let kinds = ["fault", "planned"]

    @Test(arguments: kinds)
    func `Arguments and environment are the same byte for byte, and so are pid, umask and folder`(kind: String) throws {
        let script = #"""
            umask 027; cd /usr
            export ODD="$(printf 'a\377=\001b')"; export EMPTY=
            exec "$@" "" "$(printf '\377\376')" "a b" ""
            """#
        let run = try HostRun("image", kind, shell: script, environment: ["NAME": "höher"])
        let lines = try run.lines().filter { $0 != "handing over" }
        #expect(try run.process.wait() == .exited(0))
        try #require(lines.count == 6)
        #expect(lines[..<3] == lines[3...])
        #expect(lines[0].hasSuffix("0 0 ff fe 0 61 20 62 0 0"))
        #expect(lines[1].contains("4f 44 44 3d 61 ff 3d 1 62"))
        #expect(lines[2] == "pid \(run.process.pid) umask 23 folder 2f 75 73 72")
    }

    @Test func `Handlers of planned restarts are called, by a fault they are not`() throws {
        #expect(try HostRun("image", "planned").lines().contains("handing over"))
        #expect(try !HostRun("image", "fault").lines().contains("handing over"))
    }

    private static let canUnmount: Bool = {
        let run = try? ProgramRun.run("/usr/bin/unshare", ["-m", "/bin/umount", "-l", "/proc"])
        return run?.end == .exited(0)
    }()

    @Test(.enabled(if: canUnmount, "needs the right to take /proc away in a namespace of its own"), arguments: kinds)
    func `Without proc, what is kept is handed over as ever`(kind: String) throws {
        let run = try HostRun(
            "without-proc",
            kind,
            "né",
            shell: #"export PROBE_ARGUMENTS="$*"; exec "$@""#,
            prefix: ["/usr/bin/unshare", "-m"]
        )
        let restarted = [#"kept ["listener"] [1, 2] true"#, "lost [] hidden true", "given [\"\(kind)\", \"né\"]"]
        #expect(try run.lines() == restarted + restarted)
        #expect(try run.process.wait() == .exited(0))
    }

    @Test(arguments: kinds)
    func `Without close_range, only open descriptors are looked at, however many there may be`(kind: String) throws {
        let run = try HostRun("old-kernel", kind)
        #expect(try run.lines() == [#"kept ["kept"] open true false"#])
        #expect(try run.process.wait() == .exited(0))
    }

    @Test(arguments: kinds)
    func `A listening socket loses none of the connections that wait`(kind: String) throws {
        let count = 200
        let run = try HostRun("listener", kind, "\(count)")
        let port = try #require(try run.line()?.split(separator: " ").last.flatMap { UInt16($0) })
        var clients = try (0..<count / 2).map { _ in try LineClient(port: port) }
        run.process.kill(SIGUSR1)
        // These come before the restart, while it goes on, or after it.
        clients += try (0..<count / 2).map { _ in try LineClient(port: port) }
        for (number, client) in clients.enumerated() { try client.send("request \(number)\n") }
        for (number, client) in clients.enumerated() { #expect(try client.line() == "request \(number)") }
        #expect(try run.lines() == ["served \(count)"])
        #expect(try run.process.wait() == .exited(0))
    }

    @Test(arguments: kinds)
    func `A thousand connections go on where they were, with the half requests that were read`(kind: String) throws {
        let count = 1000
        let run = try HostRun("connections", kind, "\(count)")
        let port = try #require(try run.line()?.split(separator: " ").last.flatMap { UInt16($0) })
        let clients = try (0..<count).map { number in
            let client = try LineClient(port: port)
            let text = "request \(number) ................"
            try client.send(String(text.prefix(16)))
            return client
        }
        // While the process is replaced, and after that.
        for (number, client) in clients.enumerated() { try client.send(" rest \(number)\n") }
        for (number, client) in clients.enumerated() {
            #expect(try client.line() == String("request \(number) ................".prefix(16)) + " rest \(number)")
            #expect(try client.line() == nil)
        }
        #expect(try run.lines() == ["left 0"])
        #expect(try run.process.wait() == .exited(0))
    }

    @Test(arguments: kinds)
    func `Names may be any text, and as many as there are descriptors for`(kind: String) throws {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let count = min(10_000, Int(clamping: limit.rlim_max) - 200)
        let run = try HostRun("names", kind, "\(count)")
        #expect(
            try run.lines() == [
                "refused true false", "refused false true", "same names true", "whole \(count + 5)", "left 0",
            ]
        )
        #expect(try run.process.wait() == .exited(0))
    }

    @Test(arguments: kinds)
    func `A descriptor that was closed or is another file's is not handed over, and told of`(kind: String) throws {
        let run = try HostRun("lost-descriptor", kind)
        #expect(
            try run.lines() == [
                #"lost ["closed\n<2>agent: all is well\0<3>", "replaced"] with [[1], [2]]"#,
                #"kept ["kept"] open false false true false"#,
            ]
        )
        #expect(try run.process.wait() == .exited(0))
        // What others chose to call it makes no line of the log.
        #expect(run.process.errors.contains(#"name=closed\u{a}<2>agent: all is well\u{0}<3>"#), "\(run.process.errors)")
    }

    @Test func `After a restart that the kernel refused, what is kept can be changed as before`() throws {
        let run = try HostRun("failed-restart")
        let refused = "refused, output flags 0, listener \(FD_CLOEXEC)"
        #expect(
            try run.lines() == [
                refused, refused, "changed [4] true", "new [2] true", "output [3] true", "standard output flags 0",
            ]
        )
        #expect(try run.process.wait() == .exited(0))
    }

    @Test(arguments: ["/dev/null", "/dev/zero", "table"])
    func `An environment that somebody made up makes nothing of a descriptor`(file: String) throws {
        let folder = try TemporaryFolder()
        try folder.write("HFKEPT", to: "table")
        let script = """
            cd '\(folder.path)'
            HOLDFAST_PID=$$ HOLDFAST_RESTARTS=1 HOLDFAST_KEPT_TABLE=7 HOLDFAST_KEPT_DESCRIPTORS=listener=7 \
            exec "$@" 7<>\(file)
            """
        let run = try HostRun("foreign-table", shell: script)
        #expect(try run.lines() == ["kept [] flags 0"])
        #expect(try run.process.wait() == .exited(0))
    }

    // MARK: Users

    @Test(.enabled(if: geteuid() == 0, "only root can become another user"), arguments: ["setuid", "seteuid"])
    func `A process that became another user hands over what it kept`(call: String) throws {
        let run = try HostRun("other-user", call)
        let port = try #require(try run.line()?.split(separator: " ").last)
        let restarted = "user 65534 port \(port) state [1, 2]"
        #expect(try run.lines() == [restarted, restarted])
        #expect(try run.process.wait() == .exited(0))
        #expect(!run.process.errors.contains("the table of kept descriptors"), "\(run.process.errors)")
    }

    @Test(.enabled(if: geteuid() == 0, "only root can make a set-user-ID program of another user"))
    func `A program with more rights than who executed it takes over nothing that they made up`() throws {
        let folder = try TemporaryFolder()
        #expect(chmod(folder.path, 0o755) == 0)
        let probe = folder.path + "/probe"
        // By another process: a child of another test that inherits the open copy would keep it from being executed (execve(2), ETXTBSY).
        let copied = try ProgramRun.run("/bin/cp", [BuiltProduct.path(of: "recovery-probe"), probe])
        #expect(copied.end == .exited(0), "\(copied.errors)")
        #expect(chmod(probe, 0o755) == 0)
        // Who has the same rights may hand over anything: this is what the table would do.
        let store = folder.path + "/store"
        #expect(mkdir(store, 0o700) == 0 && chown(store, 65_534, 0) == 0)
        var run = try HostRun("made-up-table", probe, "65534", store)
        var lines = try run.lines()
        #expect(lines == [#"kept ["listener"] records true store true user 65534 group 0"#])
        #expect(chown(probe, 1, 1) == 0)
        for (mode, user, group) in [(0o4755, 1, 0), (0o2755, 65_534, 1)] {
            #expect(chmod(probe, mode_t(mode)) == 0 && chown(store, uid_t(user), gid_t(group)) == 0)
            run = try HostRun("made-up-table", probe, "65534", store)
            lines = try run.lines()
            #expect(lines == ["kept [] records false store false user \(user) group \(group)"])
            #expect(run.process.errors.contains("the table of kept descriptors is damaged or another's"))
            #expect(run.process.errors.contains("name a directory in the program"), "\(run.process.errors)")
        }
    }

    // MARK: At any moment

    @Test(arguments: 0..<4)
    func `A fault while a state is changed never leaves half of it`(round: Int) throws {
        let run = try HostRun("torn")
        let lines = try run.lines()
        #expect(try run.process.wait() == .exited(0))
        let numbers = lines.compactMap { $0.split(separator: " ").last.flatMap { Int($0) } }
        #expect(lines.allSatisfy { $0.hasPrefix("number ") })
        #expect(numbers.count == 15)
        #expect(numbers == numbers.sorted())
    }

    /// The table outlives the process here because the test holds it open, too.
    @Test func `A process that is killed while a state is changed leaves none torn`() throws {
        var greatest = 0
        for _ in 0..<20 {
            let run = try HostRun("torn", "kill")
            #expect(try run.line() == "ready")
            let folder = "/proc/\(run.process.pid)/fd"
            let name = try #require(
                try FileManager.default.contentsOfDirectory(atPath: folder).first { name in
                    let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")
                    return target?.hasPrefix("/memfd:holdfast-kept") == true
                }
            )
            let table = try #require(FileHandle(forReadingAtPath: "\(folder)/\(name)"))
            usleep(UInt32.random(in: 0..<20_000))
            run.process.kill(SIGKILL)
            #expect(try run.process.wait() == .signalled(SIGKILL))
            let bytes = Array(try #require(try table.readToEnd()))
            let startTime = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 16, as: UInt64.self) }
            let records = KeptTable.records(in: .init(bytes), pid: run.process.pid, startTime: startTime)
            let state = try #require(records?["torn"]).state
            let number = state.withUnsafeBytes { $0.loadUnaligned(as: Int.self) }
            #expect(state.count == 8 + number * 7919 % 5000)
            #expect(state.dropFirst(8).allSatisfy { $0 == UInt8(number & 0xff) })
            greatest = max(greatest, number)
        }
        #expect(greatest > 0)
    }

    @Test(arguments: kinds)
    func `Signals that come at any moment of a restart neither stop the process nor end it`(kind: String) throws {
        let run = try HostRun("stormed-restarts", kind)
        #expect(try run.line() == "ready")
        let script = #"while kill -USR1 "$1"; do :; done"#
        let storm = try ChildProcess("/bin/sh", ["-c", script, "sh", "\(run.process.pid)"])
        // One of each process.
        let line = Result {
            var line = try run.line()
            while line == "again" { line = try run.line() }
            return line
        }
        storm.kill(SIGKILL)
        #expect(try storm.wait() == .signalled(SIGKILL))
        #expect(try line.get() == "done")
        run.process.kill(SIGTERM)
        #expect(try run.process.wait() == .exited(0))
    }

    // MARK: The executable

    /// Runs a script: a file that this process wrote may be open for writing in a child that another test starts just then, and
    /// nothing executes it meanwhile (execve(2), ETXTBSY).
    private func shell(_ script: String, _ arguments: String...) throws {
        let run = try ProgramRun.run("/bin/sh", ["-e", "-c", script, "sh"] + arguments)
        #expect(run.end == .exited(0), "\(run.errors)")
    }

    /// A copy of the probe that a test may change.
    private func copy(in folder: TemporaryFolder) throws -> String {
        try shell("cp \"$1\" \"$2\"", BuiltProduct.path(of: "recovery-probe"), folder.path + "/probe")
        return folder.path + "/probe"
    }

    @Test func `A program that was replaced is restarted as the new one`() throws {
        let folder = try TemporaryFolder()
        let program = try copy(in: folder)
        let run = try HostRun("image", "planned", "wait", program: program)
        while let line = try run.line(), line != "ready" {}
        let script = #"""
            printf '#!/bin/sh\necho replaced, pid $$\n' >"$1.new"
            chmod 755 "$1.new"
            mv "$1.new" "$1"
            """#
        try shell(script, program)
        run.process.kill(SIGUSR1)
        #expect(try run.lines() == ["handing over", "replaced, pid \(run.process.pid)"])
        #expect(try run.process.wait() == .exited(0))
    }

    @Test(arguments: [true, false])
    func `A program that is gone, or cannot be executed, is restarted from its image`(isDeleted: Bool) throws {
        let folder = try TemporaryFolder()
        let program = try copy(in: folder)
        let run = try HostRun("image", "fault", "wait", program: program)
        while let line = try run.line(), line != "ready" {}
        #expect(unlink(program) == 0)
        if !isDeleted { try folder.write("half a program", to: "probe") }
        run.process.kill(SIGUSR1)
        #expect(try run.lines().count == 3)
        #expect(try run.process.wait() == .exited(0))
    }

    /// As while it is installed by somebody who copies onto the file: execve(2) takes both, and the first thing they do is to die.
    @Test(arguments: ["head -c -100", "head -c 200000"])
    func `A program that is only half there is restarted from its image`(cut: String) throws {
        let folder = try TemporaryFolder()
        let program = try copy(in: folder)
        let run = try HostRun("image", "fault", "wait", program: program)
        while let line = try run.line(), line != "ready" {}
        try shell(#"\#(cut) "$1" >"$1.new"; chmod 755 "$1.new"; mv "$1.new" "$1""#, program)
        run.process.kill(SIGUSR1)
        #expect(try run.lines().count == 3)
        #expect(try run.process.wait() == .exited(0))
    }

    /// The process changes its directory, and another begins there.
    @Test func `A relative store stays where the first process made it`() throws {
        let folder = try TemporaryFolder()
        let script = #"cd "\#(folder.path)"; mkdir other; probe=$1; shift 3; exec "$probe" store reports chdir"#
        let run = try HostRun("store", shell: script)
        #expect(try run.lines().last == "restarted 1 usable")
        #expect(try run.process.wait() == .exited(0))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/other").isEmpty)
        // The record of the first process, or the report that the second has made of it.
        let names = FileManager.default.enumerator(atPath: folder.path + "/reports")?.allObjects as? [String] ?? []
        #expect(names.contains { $0.hasSuffix(".json") || $0.hasSuffix(".spool") })
    }
}
