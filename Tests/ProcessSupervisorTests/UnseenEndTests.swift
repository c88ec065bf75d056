import CrashReports
import Foundation
import Glibc
import SystemPackage
import TestSupport
import Testing

@testable import ProcessSupervisor

/// Programs whose supervisor ends before them.
@Suite(.timeLimit(.minutes(2))) struct UnseenEndTests {
    private static let program = ["/bin/sh", "-c", "echo up $$; exec sleep 1000"]

    @Test func `The end of a program whose supervisor was killed is told of by the next one, once`() throws {
        let store = try StoreReader()
        let options = ["--name", "w", "--restart", "always"]
        let first = try Supervised(options, Self.program, store: store)
        let pid = try first.nextPid()
        // What is noted is that it is ready.
        _ = try first.status(once: "ready")
        let supervisor = first.process.pid
        kill(supervisor, SIGKILL)
        #expect(try first.process.wait() == .signalled(SIGKILL))
        let deadline = Deadline()
        while kill(pid, 0) == 0 { try #require(!deadline.hasPassed) }

        for _ in 0..<2 {
            let next = try Supervised(options, Self.program, store: store)
            _ = try next.nextPid()
            #expect(try next.order("stop").end == .exited(0))
        }
        let deaths = try first.reports().compactMap(\.death)
        #expect(deaths.map(\.cause.rawValue).sorted() == ["stopped", "stopped", "supervisor"])
        let death = try #require(deaths.first { $0.cause == "supervisor" })
        #expect(death.supervisor == Int(supervisor) && death.status == nil && death.signal == nil && death.wasReady)
        #expect(death.sentence.contains("(pid \(supervisor)) ended without ending it"))
        #expect(try first.reports().contains { $0.process.pid == pid && $0.death?.cause == "supervisor" })
    }

    /// Kills a supervisor whose program has a child of its own.
    private static func leaveWorker(_ options: [String], isStubborn: Bool, in store: StoreReader) throws -> CInt {
        let ignores = isStubborn ? "trap '' TERM; " : ""
        let script = "\(ignores)sleep 1000 & echo worker $!; echo up $$; wait"
        let supervised = try Supervised(options, ["sh", "-c", script], store: store)
        let worker = try supervised.nextPid()
        _ = try supervised.nextPid()
        _ = try supervised.status(once: "ready")
        supervised.process.kill(SIGKILL)
        #expect(try supervised.process.wait() == .signalled(SIGKILL))
        return worker
    }

    @Test(arguments: [false, true])
    func `What a program has left whose supervisor was killed is ended by the next one, with the port`(
        isStubborn: Bool
    ) throws {
        let store = try StoreReader()
        let port = try Loopback.freePort()
        let options = ["--name", "w", "--listen", "tcp:127.0.0.1:\(port)", "--stop-timeout", "200ms"]
        let worker = try Self.leaveWorker(options, isStubborn: isStubborn, in: store)
        let next = try Supervised(options, ["sh", "-c", "echo up $$; exec sleep 1000"], store: store)
        _ = try next.nextPid()
        // It may wait for somebody to take its end, as one that nobody waits for does.
        #expect(LifeNote.Life(of: worker)?.isAlive != true)
        #expect(next.process.errors.contains("ends what the supervisor before has left, which was killed: process"))
        _ = try LineClient(port: port)
        #expect(try next.order("stop").end == .exited(0))
    }

    @Test func `One that is told to end while it waits for what was left kills that, and starts nothing`() throws {
        let store = try StoreReader()
        let options = ["--name", "w", "--stop-timeout", "1000s"]
        let worker = try Self.leaveWorker(options, isStubborn: true, in: store)
        let next = try Supervised(options, ["sh", "-c", "echo up $$; exec sleep 1000"], store: store)
        let deadline = Deadline()
        while !next.process.errors.contains("ends what the supervisor before has left") {
            try #require(!deadline.hasPassed)
        }
        next.process.kill(SIGTERM)
        #expect(try next.process.wait() == .exited(143))
        #expect(try next.process.output.next() == nil)
        #expect(LifeNote.Life(of: worker)?.isAlive != true)
    }

    @Test(arguments: [0o600, 0o666])
    func `A note that others may have written has nobody ended`(mode: Int) throws {
        let store = try StoreReader()
        let state = StateFolder(store: .init(store.path))
        try state.create()
        // The leader of a group and a session of its own.
        let other = try ChildProcess("/bin/setsid", ["-w", "sh", "-c", "echo up $$; exec sleep 1000"])
        let pid = try #require(try other.output.next()?.split(separator: " ").last.flatMap { CInt($0) })
        let life = try #require(LifeNote.Life(of: pid))
        let note = try #require(LifeNote(of: getpid(), startedAs: life, began: 0, isReady: false))
        let ended = "supervisor=\(note.supervisor.pid)@1"
        let text = note.text.replacing("supervisor=\(note.supervisor.pid)@\(note.supervisor.start)", with: ended)
            .replacing("session=\(note.session)", with: "session=\(getsid(pid))")
        let path = store.path + "/run/w.life"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        chmod(path, mode_t(mode))
        _ = try Supervised.run(["--name", "w"], ["/bin/true"], store: store)
        #expect(life.isAlive == (mode != 0o600))
        kill(pid, SIGKILL)
        _ = try other.wait()
    }

    @Test func `One that ran in another boot has ended with the machine`() throws {
        let store = try StoreReader()
        let folder = store.path + "/run"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let note = "process=77@5 leader=77@5 supervisor=76@4 session=1 began=1700000000000000000 ready=0 boot=another\n"
        try note.write(toFile: folder + "/w.life", atomically: true, encoding: .utf8)
        let run = try Supervised.run(["--name", "w", "--restart", "never"], ["/bin/true"], store: store)
        #expect(run.end == .exited(0))
        #expect(run.reports.compactMap(\.death?.cause.rawValue).sorted() == ["exit", "machine"])
        #expect(!FileManager.default.fileExists(atPath: folder + "/w.life"))
    }

    @Test func `Programs of different names have different files, whatever is in the names`() {
        let state = StateFolder(store: "/store")
        let names = [
            "a b", "a_b", "a/b", "", "_", ".", "..", String(repeating: "x", count: 64),
            String(repeating: "x", count: 65),
        ]
        let files = names.map { state.socket(of: $0).string }
        #expect(Set(files).count == names.count, "\(files)")
        #expect(files.allSatisfy { $0.hasPrefix("/store/run/") && $0.utf8.count < 90 })
        #expect(state.socket(of: "web").string == "/store/run/web.sock")
    }

    @Test func `A supervisor of the same name that runs keeps its program`() throws {
        let store = try StoreReader()
        let first = try Supervised(["--name", "w"], Self.program, store: store)
        _ = try first.nextPid()
        _ = try first.status(once: "ready")
        let note = try String(contentsOfFile: store.path + "/run/w.life", encoding: .utf8)
        let state = StateFolder(store: .init(store.path))
        let read = try #require(state.life(of: "w"))
        #expect(read.text == note && read.isOfThisBoot && read.process.isAlive && read.supervisor.isAlive)
        #expect(read.supervisor.pid == first.process.pid)
        #expect(try first.order("stop").end == .exited(0))
        #expect(state.life(of: "w") == nil && !read.process.isAlive)
    }

    @Test(arguments: [
        "", "\n", "process=1@1", "process=0@1 supervisor=1@1 began=1 boot=x", "process=1 supervisor=1@1 began=1 boot=x",
        "process=1@1 supervisor=1@1 began=-1 boot=x", "process=1@1 supervisor=1@99999999999999999999999 began=1 boot=x",
        "process=1@1@1 supervisor=1@1 began=1 boot=x", "process=1@1 supervisor=1@1 began=1",
    ])
    func `What is no note says nothing`(text: String) {
        let rest = " leader=1@1 session=1"
        #expect(LifeNote(text: "process=1@1 supervisor=1@1 began=1 boot=x" + rest) != nil)
        #expect(LifeNote(text: text + rest) == nil)
    }
}
