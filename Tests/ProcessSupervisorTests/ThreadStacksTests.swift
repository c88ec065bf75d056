import CLinuxShims
import Foundation
import Glibc
import LinuxSystem
import RecoveryTestSupport
import SystemPackage
import TestSupport
import Testing

@testable import ProcessSupervisor

/// The stacks of programs without Holdfast, read from outside.
@Suite(.timeLimit(.minutes(5))) struct ThreadStacksTests {
    private static let threads = """
        import threading, time
        for name in "abc": threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
        threading.Event().wait()
        """

    @Test(
        arguments: [
            ("/bin/sleep", ["1000"], ["clock_nanosleep"]),
            ("/usr/bin/env", ["python3", "-c", threads], ["clock_nanosleep", "futex"]),
            // A Swift program, which waits in its loop.
            (
                nil, ["run", "--restart", "never", "--", "/bin/sleep", "1000"],
                ["epoll_wait", "epoll_pwait", "epoll_pwait2"]
            ),
        ] as [(String?, [String], [String])]
    )
    func `Frames are those of gdb`(program: String?, arguments: [String], calls: [String]) throws {
        let child = try Untouched(try program ?? BuiltProduct.path(of: "holdfast"), arguments)
        try compare(child.pid) {
            try waitUntilAsleep(child.pid, threads: arguments.first == "python3" ? 4 : 1, calls)
        }
    }

    @Test func `Frames beyond the handler of a signal, on another stack, are those of gdb`() throws {
        let child = hf_test_fork()
        if child == 0 { hf_test_wait_in_handler() }
        try #require(child > 0)
        defer {
            kill(child, SIGKILL)
            _ = hf_test_wait(child)
        }
        let addresses = try compare(child) { try waitUntil { Self.call(child, child) == "pause" } }
        #expect(addresses.count > 8)
        let names = ThreadStacks([child], of: child).lines()[child] ?? []
        #expect(names.filter { $0.contains(" raise_deep in ") }.count == 6, "\(names)")
        #expect(names.contains { $0.contains(" wait_for_ever in ") })
    }

    /// Compares with gdb; returns the addresses of the first thread.
    ///
    /// A program that starts also sleeps between its steps: what counts is a stack that is the same before and after gdb's.
    @discardableResult
    private func compare(_ pid: CInt, whenAsleep wait: () throws -> Void) throws -> [UInt64] {
        let deadline = Deadline()
        while true {
            try wait()
            let threads = try Self.threads(of: pid)
            let ours = ThreadStacks(threads, of: pid)
            let gdb = try ProgramRun.run(
                "/usr/bin/env",
                [
                    "gdb", "-batch", "-nx", "-p", "\(pid)", "-x",
                    BuiltProduct.package + "/Tests/ProcessSupervisorTests/Scripts/gdb_stacks.py",
                ]
            )
            try wait()
            let again = ThreadStacks(try Self.threads(of: pid), of: pid)
            if again.stacks.map(\.addresses) == ours.stacks.map(\.addresses) {
                return try judge(ours, of: threads, by: gdb)
            }
            try #require(!deadline.hasPassed)
        }
    }

    private func judge(_ ours: ThreadStacks, of threads: [CInt], by gdb: ProgramRun) throws -> [UInt64] {
        var judged: [CInt: [UInt64]] = [:]
        for line in gdb.output.split(separator: "\n") where line.hasPrefix("stack ") {
            let words = line.split(separator: " ")
            judged[try #require(CInt(words[1]))] = words.dropFirst(2).compactMap { UInt64($0, radix: 16) }
        }
        try #require(judged.count == threads.count, "\(gdb.errors.suffix(500))")
        #expect(ours.stacks.map(\.thread) == threads)
        for stack in ours.stacks {
            let expected = try #require(judged[stack.thread])
            // Ours are within the instruction: before the next one of a caller.
            let agrees =
                expected.count == stack.addresses.count
                && zip(expected, stack.addresses).allSatisfy { $0 == $1 || $0 == $1 + 1 }
            let lines = ours.lines()[stack.thread] ?? []
            #expect(agrees, "\(lines.joined(separator: "\n"))\ngdb: \(expected.map { String($0, radix: 16) })")
        }
        return ours.stacks.first?.addresses ?? []
    }

    private static func threads(of pid: CInt) throws -> [CInt] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task").compactMap { CInt($0) }.sorted()
    }

    /// The system call in which a thread waits.
    private static func call(_ pid: CInt, _ thread: CInt) -> String? {
        SmallFile.text("/proc/\(pid)/task/\(thread)/syscall")?.split(separator: " ").first.flatMap { Int($0) }
            .flatMap(SystemCallNames.name)
    }

    private func waitUntil(_ condition: () throws -> Bool) throws {
        let deadline = Deadline()
        while try !condition() { try #require(!deadline.hasPassed) }
    }

    private func waitUntilAsleep(_ pid: CInt, threads count: Int, _ calls: [String]) throws {
        try waitUntil {
            let threads = try Self.threads(of: pid)
            return threads.count == count
                && threads.allSatisfy { thread in
                    // A debugger that stops a sleep has the kernel begin it again so.
                    Self.call(pid, thread).map { calls.contains($0) || $0 == "restart_syscall" } == true
                }
        }
    }

    @Test func `Memory that makes no sense ends the walk`() throws {
        let child = try Untouched("/bin/sleep", ["1000"])
        try waitUntilAsleep(child.pid, threads: 1, ["clock_nanosleep"])
        var registers = [UInt64](repeating: 0, count: Int(HF_TRACED_REGISTERS))
        let result = unsafe hf_trace_stop(child.pid, 10_000, &registers)
        try #require(result == 0, "\(Errno(rawValue: errno))")
        defer { hf_trace_detach(child.pid) }
        let maps = try #require(SmallFile.text("/proc/\(child.pid)/maps"))
        var generator = SplitMix(state: 26)
        var lengths: Set<Int> = []
        for round in 0..<3000 {
            let memory = RemoteMemory { address in
                var bytes = [UInt8](repeating: 0, count: 4096)
                guard unsafe hf_process_read(child.pid, address, &bytes, 4096) == 4096 else { return nil }
                // A byte of a page now and then, or all of it.
                let count = round % 3 == 0 ? 4096 : Int.random(in: 0...64, using: &generator)
                for _ in 0..<count {
                    bytes[Int.random(in: 0..<4096, using: &generator)] = .random(in: 0...255, using: &generator)
                }
                return bytes
            }
            var images = LoadedImages(maps: maps, memory)
            lengths.insert(RemoteStack.walk(registers, &images, memory).count)
        }
        #expect(
            lengths.contains(1) && lengths.contains { $0 > 3 } && lengths.allSatisfy { $0 <= RemoteStack.mostFrames }
        )
    }

    @Test func `Maps, registers and symbol tables that make no sense say nothing`() throws {
        let folder = try TemporaryFolder()
        var generator = SplitMix(state: 27)
        let memory = RemoteMemory { _ in (0..<4096).map { _ in .random(in: 0...255, using: &generator) } }
        for maps in ["", "\n\n", "1-0 r 0 0 0 /a", "0-ffffffffffffffff r-xp 00000000 0 0 /a", "x-y r 0 0 0 /a", "0-1"] {
            var images = LoadedImages(maps: maps, memory)
            for counter in [0, 1, 4096, UInt64.max - 4096, .max] {
                let registers = [UInt64](repeating: counter, count: Int(HF_TRACED_REGISTERS))
                #expect(RemoteStack.walk(registers, &images, memory).count <= RemoteStack.mostFrames)
            }
            #expect(RemoteStack.walk([], &images, memory) == [])
        }
        let program = [UInt8](try Data(contentsOf: URL(fileURLWithPath: "/bin/sleep")))
        for _ in 0..<300 {
            var bytes = program
            for _ in 0..<200 {
                // The header, the section headers, and anywhere.
                let range = [0..<64, bytes.count - 2048..<bytes.count, 0..<bytes.count][
                    Int.random(in: 0..<3, using: &generator)
                ]
                bytes[Int.random(in: range, using: &generator)] = .random(in: 0...255, using: &generator)
            }
            let path = folder.path + "/program"
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            let found = SymbolNames.find([0, 0x1000, 0x2345, .max], in: path)
            #expect(found.values.allSatisfy { $0.text.utf8.count < 2048 })
        }
    }

    @Test func `A process that may not be traced says so, and one that is gone says nothing`() {
        // Its own threads.
        let own = ThreadStacks([ThreadIdentity.id], of: getpid()).lines()[ThreadIdentity.id] ?? []
        #expect(own.count == 1 && own.first?.contains("stack not read: ") == true, "\(own)")
        #expect(ThreadStacks([.max], of: .max).stacks.isEmpty)
    }
}

/// A program for which nobody waits meanwhile: a thread that waits for the end of a child also takes that it was stopped, if it is traced
/// (Linux, kernel/exit.c, wait_task_stopped).
private final class Untouched {
    let pid: CInt

    init(_ path: String, _ arguments: [String]) throws {
        var words = unsafe ([path] + arguments).map { unsafe strdup($0) } + [nil]
        defer { for word in unsafe words { unsafe free(word) } }
        let child = hf_test_fork()
        if child == 0 {
            if let program = unsafe words[0] { _ = unsafe execv(program, &words) }
            _exit(127)
        }
        guard child > 0 else { throw HarnessError("fork: \(Errno(rawValue: errno))") }
        pid = child
    }

    deinit {
        kill(pid, SIGKILL)
        _ = hf_test_wait(pid)
    }
}
