import Glibc

/// What went wrong with the agent.
struct AgentError: Error, CustomStringConvertible {
    let description: String
}

/// An agent in a process of its own, with a store of its own.
struct AgentProcess {
    /// The agent, or the shell that starts it again and again.
    let pid: pid_t
    let port: UInt16
    let store: String

    /// Starts an agent and waits until it listens.
    ///
    /// - Parameters:
    ///   - executable: The agent.
    ///   - arguments: What it is given beside its store.
    ///   - isInLoop: Whether a shell starts it anew whenever it ends; then the arguments must name a port.
    ///   - backtracer: What the Swift runtime is told of its backtracer (SWIFT_BACKTRACE, swift/docs/Backtracing.rst); it takes a
    ///     second or more before it lets a process end.
    /// - Throws: `AgentError` if it does not say that it listens.
    init(
        executable: String,
        arguments: [String] = [],
        isInLoop: Bool = false,
        backtracer: String = "enable=no"
    ) throws {
        store = "/tmp/holdfast-benchmark-agent-\(getpid())"
        var ends: [CInt] = [0, 0]
        guard unsafe pipe(&ends) == 0 else { throw AgentError(description: "no pipe") }
        // The pipe stays open: an agent that starts again writes its line, too.
        _ = fcntl(ends[0], F_SETFD, FD_CLOEXEC)
        defer { close(ends[1]) }
        var command = [executable, "--store", store] + arguments
        if isInLoop { command = ["/bin/sh", "-c", "while :; do \"$0\" \"$@\"; done"] + command }
        pid = try Self.spawn(command, output: ends[1], backtracer: backtracer)
        output = ends[0]
        var line = [UInt8](repeating: 0, count: 256)
        let count = unsafe read(output, &line, line.count)
        // "listening 127.0.0.1:PORT pid PID"
        let words = String(decoding: line.prefix(max(0, count)), as: UTF8.self).split(whereSeparator: {
            $0 == ":" || $0 == " "
        })
        guard words.count > 2, let port = UInt16(words[2]) else {
            throw AgentError(description: "the agent did not start")
        }
        self.port = port
    }

    private let output: CInt

    /// In a process group of its own, so that a shell goes together with what it started.
    ///
    /// Without core files, which are not what is measured.
    private static func spawn(_ command: [String], output: CInt, backtracer: String) throws -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        unsafe posix_spawn_file_actions_adddup2(&actions, output, 1)
        unsafe posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        unsafe posix_spawn_file_actions_addclose(&actions, output)
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
        var arguments = unsafe command.map { unsafe strdup($0) } + [nil]
        unsafe setenv("SWIFT_BACKTRACE", backtracer, 1)
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        var child: pid_t = 0
        let error = unsafe posix_spawn(&child, command[0], &actions, &attributes, &arguments, environ)
        unsafe posix_spawnattr_destroy(&attributes)
        unsafe posix_spawn_file_actions_destroy(&actions)
        for index in unsafe arguments.indices {
            unsafe free(arguments[index])
        }
        guard error == 0 else { throw AgentError(description: "cannot start \(command[0])") }
        return child
    }

    /// Asks on a connection of its own and waits for the answer.
    func ask(_ line: String) throws {
        let answer = exchange(line)
        guard answer == "PONG" else { throw AgentError(description: "the agent answered \(answer)") }
    }

    /// Sends on a connection of its own and waits for an answer, which is returned, or for the end.
    @discardableResult
    func exchange(_ line: String) -> String {
        var connection = LineConnection(port: port)
        defer { connection.close() }
        guard connection.open(), connection.send(line) else { return "" }
        return connection.receive() ?? ""
    }

    /// Ends the process, or the shell and the process, and removes the store.
    func end() {
        kill(-pid, SIGKILL)
        var status: CInt = 0
        unsafe waitpid(pid, &status, 0)
        close(output)
        FaultBenchmark.remove(store)
    }

    /// A port that nobody has now.
    static func freePort() throws -> UInt16 {
        guard let port = LineConnection.freePort() else { throw AgentError(description: "no port is free") }
        return port
    }
}
