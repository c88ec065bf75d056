import CLinuxShims
import Dispatch
import Foundation
public import Glibc
import Synchronization

/// A program that runs beside the tests: always reaped, and killed by its pid when the test is over.
public final class ChildProcess: Sendable {
    /// How a process ended.
    public enum End: Sendable, Equatable {
        /// With this status.
        case exited(CInt)
        /// By this signal.
        case signalled(CInt)
    }

    /// Knows whether the process was reaped, so that no signal goes to another process with its number.
    private final class State: Sendable {
        let end = Mutex<End?>(nil)
        let ended = DispatchSemaphore(value: 0)

        /// Waits for the end and reaps.
        func reap(_ pid: pid_t) {
            var information = siginfo_t()
            while waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
            end.withLock { end in
                var status: CInt = 0
                waitpid(pid, &status, 0)
                // wait(2): the low seven bits are the signal, the next byte is the exit status.
                end = status & 0x7f == 0 ? .exited(status >> 8 & 0xff) : .signalled(status & 0x7f)
            }
            ended.signal()
        }
    }

    /// The process.
    public let pid: pid_t
    /// Where its standard error goes.
    public let errorPath: String
    /// What it writes to its standard output, unless that goes to a file.
    public let output: LineReader
    private let state = State()
    private let folder: TemporaryFolder

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - path: The program.
    ///   - arguments: Its arguments, without its name.
    ///   - environment: What is added to the little that is handed on; its backtracer is off unless this says otherwise.
    ///   - outputPath: A file, which exists, for its standard output; nil for `output` to read it. Whoever need not wait for a reader
    ///     writes there.
    /// - Throws: `HarnessError`.
    public init(
        _ path: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        outputPath: String? = nil
    ) throws {
        _ = Self.noCoreFiles
        folder = try TemporaryFolder()
        errorPath = try folder.write("", to: "errors")
        var ends: [CInt] = [-1, -1]
        // Closed on exec from the first: another test may start a child before a second call marks the ends.
        guard hf_pipe(&ends) == 0 else { throw HarnessError(call: "pipe2", code: errno) }
        output = LineReader(takingOver: ends[0])
        defer { close(ends[1]) }

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        if let outputPath {
            posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, outputPath, O_WRONLY | O_APPEND, 0)
        } else {
            posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        }
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errorPath, O_WRONLY | O_APPEND, 0)

        // A test runs on a thread that blocks signals, which a child would inherit.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        let kept = ProcessInfo.processInfo.environment.filter { ["LD_LIBRARY_PATH", "PATH"].contains($0.key) }
        let whole = kept.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }.merging(environment) { $1 }
        let strings = [path] + arguments
        var argv = strings.map { strdup($0) } + [nil]
        var envp = whole.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for string in argv + envp { free(string) } }
        var pid = pid_t()
        let error = posix_spawn(&pid, path, &actions, &attributes, &argv, &envp)
        guard error == 0 else { throw HarnessError(call: "posix_spawn \(path)", code: error) }
        self.pid = pid
        Thread.detachNewThread { [state, pid] in state.reap(pid) }
    }

    deinit {
        kill(SIGKILL)
        _ = try? wait()
    }

    /// Children that crash on purpose leave no core files.
    private static let noCoreFiles: Void = {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
        limit.rlim_cur = 0
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
    }()

    /// How it ended; nil while it runs.
    public var end: End? { state.end.withLock { $0 } }

    /// What it wrote to its standard error so far.
    public var errors: String {
        (try? String(decoding: Data(contentsOf: URL(fileURLWithPath: errorPath)), as: UTF8.self)) ?? ""
    }

    /// Sends it a signal, unless it has ended.
    public func kill(_ signal: CInt) {
        state.end.withLock { end in
            if end == nil { Glibc.kill(pid, signal) }
        }
    }

    /// Waits until a signal has stopped it, or it has ended.
    public func waitUntilStopped() {
        var information = siginfo_t()
        while waitid(P_PID, id_t(pid), &information, WSTOPPED | WEXITED | WNOWAIT) != 0, errno == EINTR {}
    }

    /// Waits for its end.
    ///
    /// - Throws: `HarnessError` when the time has passed.
    public func wait(within limit: Duration = Deadline.patience) throws -> End {
        let milliseconds = Int(limit / .milliseconds(1))
        guard state.ended.wait(timeout: .now() + .milliseconds(milliseconds)) == .success else {
            throw HarnessError("process \(pid) has not ended within \(limit); its errors: \(errors.suffix(2000))")
        }
        // For whoever waits next.
        state.ended.signal()
        guard let end else { throw HarnessError("process \(pid) ended without a status") }
        return end
    }

    /// Bytes of memory that are resident: VmRSS of proc(5).
    public func residentBytes() throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmRSS:") }),
            let kilobytes = line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Int($0) })
        else { throw HarnessError("process \(pid) has no VmRSS") }
        return kilobytes * 1024
    }
}
