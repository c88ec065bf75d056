import CrashReports
import Foundation
import Glibc
import TestSupport
import Testing

/// Orders and ends that come while another order is being carried out.
@Suite(.timeLimit(.minutes(5))) struct CrossingOrderTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// A program that does each step when it is told to.
    ///
    /// It is ready at once, or at SIGUSR1 if there is a file "slow". SIGTERM has it drain, and SIGUSR1 end that; SIGUSR2 has it fail. Until it
    /// is ready, SIGHUP would end it.
    private static let program = """
        import os, signal, socket, sys
        T, U, V, H = signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP
        signal.pthread_sigmask(signal.SIG_BLOCK, [T, U, V])
        print('up', os.getpid(), flush=True)
        if os.path.exists(sys.argv[1] + '/slow'): signal.sigwait([U])
        signal.pthread_sigmask(signal.SIG_BLOCK, [H])
        n = os.environ['NOTIFY_SOCKET']
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'READY=1', '\\0' + n[1:])
        drains = False
        while True:
            s = signal.sigwait([T, U, V, H])
            if s == V: os._exit(7)
            if s == U and drains: os._exit(0)
            if s == T: drains = True
            if s != U: print('drains' if s == T else 'reloads', os.getpid(), flush=True)
        """

    private func start(_ options: String...) throws -> (supervised: Supervised, pid: CInt) {
        let command = ["python3", "-c", Self.program, folder.path]
        let supervised = try Supervised(["--ready", "notify", "--stop-timeout", "1h"] + options, command)
        return (supervised, try supervised.nextPid())
    }

    /// Begins an order that is not carried out yet.
    private func begin(_ order: String, _ supervised: Supervised) throws -> ChildProcess {
        try ChildProcess(BuiltProduct.path(of: "holdfast"), [order, "--store", supervised.store.path])
    }

    /// Begins an upgrade whose next process is not ready.
    private func beginUpgrade(_ supervised: Supervised) throws -> (order: ChildProcess, next: CInt) {
        _ = try supervised.status(once: "ready")
        try folder.write("", to: "slow")
        let order = try begin("upgrade", supervised)
        return (order, try supervised.nextPid())
    }

    @Test func `An upgrade is refused while another one is under way, or an end`() throws {
        let (supervised, pid) = try start()
        let (upgrade, next) = try beginUpgrade(supervised)
        let second = try supervised.order("upgrade")
        #expect(second.end == .exited(1) && second.errors.contains("an upgrade of python3 is under way"))
        kill(next, SIGUSR1)
        #expect(try upgrade.wait() == .exited(0), "\(upgrade.errors)")
        #expect(try supervised.line() == "drains \(pid)")
        let restart = try begin("restart", supervised)
        #expect(try supervised.line() == "drains \(next)")
        let third = try supervised.order("upgrade")
        #expect(third.end == .exited(1) && third.errors.contains("python3 is being ended"))
        for pid in [pid, next] { kill(pid, SIGUSR1) }
        kill(try supervised.nextPid(), SIGUSR1)
        #expect(try restart.wait() == .exited(0), "\(restart.errors)")
        // Nothing of these orders is left: the policy is never.
        kill(try #require(try supervised.status()["pid"] as? Int).asPid, SIGUSR2)
        #expect(try supervised.process.wait() == .exited(7))
    }

    @Test func `An upgrade is done also if the process before ends too early`() throws {
        let (supervised, pid) = try start()
        let (upgrade, next) = try beginUpgrade(supervised)
        kill(pid, SIGKILL)
        _ = try supervised.status(once: "starting")
        kill(next, SIGUSR1)
        #expect(try upgrade.wait() == .exited(0), "\(upgrade.errors)")
        #expect(try supervised.status()["pid"] as? Int == Int(next))
    }

    @Test func `An upgrade whose process before and next one end has failed`() throws {
        let (supervised, pid) = try start("--restart", "always", "--backoff", "1h", "--backoff-cap", "1h")
        let (upgrade, next) = try beginUpgrade(supervised)
        kill(pid, SIGKILL)
        _ = try supervised.status(once: "starting")
        kill(next, SIGKILL)
        #expect(try upgrade.wait() == .exited(1))
        #expect(try supervised.status(once: "waiting")["lastUpgradeFailure"] != nil)
    }

    @Test func `A reload reaches those that start as soon as they are ready`() throws {
        let (supervised, pid) = try start("--reload-signal", "HUP")
        let (upgrade, next) = try beginUpgrade(supervised)
        #expect(try supervised.order("reload").end == .exited(0))
        #expect(try supervised.line() == "reloads \(pid)")
        kill(next, SIGUSR1)
        #expect(try upgrade.wait() == .exited(0), "\(upgrade.errors)")
        let lines = [try supervised.line(), try supervised.line()]
        #expect(lines.sorted() == ["drains \(pid)", "reloads \(next)"])
        // One that leaves is not concerned any more.
        #expect(try supervised.order("reload").end == .exited(0))
        #expect(try supervised.line() == "reloads \(next)")
    }

    /// A program whose last process has failed while the one before drains.
    private func startEnding() throws -> (supervised: Supervised, draining: CInt) {
        let (supervised, pid) = try start()
        let (upgrade, next) = try beginUpgrade(supervised)
        kill(next, SIGUSR1)
        #expect(try upgrade.wait() == .exited(0), "\(upgrade.errors)")
        #expect(try supervised.line() == "drains \(pid)")
        kill(next, SIGUSR2)
        _ = try supervised.status(once: "clearing")
        return (supervised, pid)
    }

    @Test func `A program that has ended is not ready while processes before it drain`() throws {
        let (supervised, pid) = try startEnding()
        let status = try supervised.status()
        #expect(((status["leaving"] as? [[String: Any]])?.first?["pid"] as? Int) == Int(pid))
        #expect(try supervised.order("probe").end == .exited(1))
        kill(pid, SIGUSR1)
        #expect(try supervised.process.wait() == .exited(7))
    }

    @Test func `A program that has ended is started again while processes before it drain`() throws {
        let (supervised, _) = try startEnding()
        let restart = try begin("restart", supervised)
        let third = try supervised.nextPid()
        kill(third, SIGUSR1)
        #expect(try restart.wait() == .exited(0), "\(restart.errors)")
        #expect(try supervised.status()["pid"] as? Int == Int(third))
    }

    // MARK: With a process that stands by

    /// A server of which a process stands by, and of which the next one hangs if there is a file "slow".
    private func startServer() throws -> (supervised: Supervised, port: UInt16) {
        let port = try Loopback.freePort()
        let store = try StoreReader()
        let script = "test -e '\(folder.path)/slow' && echo slow $$ && exec sleep 1000; exec \"$0\" \"$@\""
        let server = ["sh", "-c", script, try BuiltProduct.path(of: "standby-server"), "\(port)", store.path]
        let supervised = try Supervised(Supervised.standingBy(port), server, store: store)
        _ = try supervised.nextPid()
        try supervised.waitForStandby()
        // Of the one that stands by.
        _ = try supervised.nextPid()
        return (supervised, port)
    }

    @Test func `One that stands by serves also if the process that serves ends during an upgrade`() throws {
        let (supervised, port) = try startServer()
        let before = try supervised.status()
        let (upgrade, next) = try beginUpgrade(supervised)
        kill(try #require(before["pid"] as? Int).asPid, SIGKILL)
        #expect(try LineClient(port: port).ask("a") == "\(try #require(before["standbyPid"] as? Int))")
        kill(next, SIGKILL)
        #expect(try upgrade.wait() == .exited(1), "\(supervised.process.errors)")
        let words = upgrade.errors
        #expect(words.contains("did not take over: ") && words.contains("SIGKILL"), "\(words)")
    }

    /// The file by which a process and the one that stands by for it know each other.
    private func place(of pid: Int) throws -> UInt {
        let variables = try String(contentsOfFile: "/proc/\(pid)/environ", encoding: .utf8).split(separator: "\0")
        let name = "HOLDFAST_STANDBY="
        let value = try #require(variables.first { $0.hasPrefix(name) })
        let number = value.dropFirst(name.count).prefix { $0 != " " }
        var status = stat()
        #expect(unsafe stat("/proc/\(pid)/fd/\(number)", &status) == 0)
        return status.st_ino
    }

    @Test func `What faults in a process that was replaced reaches nobody who stands by for the next one`() throws {
        let (supervised, _) = try startServer()
        let before = try supervised.status()
        let pid = try #require(before["pid"] as? Int)
        let place = try place(of: pid)
        #expect(try self.place(of: try #require(before["standbyPid"] as? Int)) == place)
        // So that it does not end before it is looked at.
        kill(pid.asPid, SIGSTOP)
        #expect(try supervised.order("upgrade").output == "upgraded\n")
        try supervised.waitForStandby()
        let after = try supervised.status()
        #expect(try self.place(of: try #require(after["pid"] as? Int)) != place)
        #expect(try self.place(of: try #require(after["standbyPid"] as? Int)) != place)
        kill(pid.asPid, SIGCONT)
    }
}

extension Int {
    fileprivate var asPid: CInt { CInt(self) }
}
