import Glibc

/// An agent in a process of its own, with a store of its own.
struct AgentProcess {
    /// The agent, or the shell that starts it again and again: in a group, so that a shell goes together with what it started.
    private let process: ChildProcess
    let port: UInt16
    let store: String

    /// Starts an agent and waits until it listens.
    ///
    /// - Parameters:
    ///   - executable: The agent.
    ///   - arguments: What it is given beside its store.
    ///   - isInLoop: Whether a shell starts it anew whenever it ends; then the arguments must name a port.
    ///   - supervisor: `holdfast`, its command and options, if the agent is to run below it.
    ///   - backtracer: What the Swift runtime is told of its backtracer (SWIFT_BACKTRACE, swift/docs/Backtracing.rst); it takes a
    ///     second or more before it lets a process end.
    /// - Throws: `MeasurementError` if it does not say that it listens.
    init(
        executable: String,
        arguments: [String] = [],
        isInLoop: Bool = false,
        supervisor: [String] = [],
        backtracer: String = "enable=no"
    ) throws {
        store = "/tmp/holdfast-benchmark-agent-\(getpid())"
        var command = [executable, "--store", store] + arguments
        if !supervisor.isEmpty { command = supervisor + ["--store", store, "--termination-log", "", "--"] + command }
        if isInLoop { command = ["/bin/sh", "-c", "while :; do \"$0\" \"$@\"; done"] + command }
        unsafe setenv("SWIFT_BACKTRACE", backtracer, 1)
        // Core files are not what is measured.
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        process = try ChildProcess(command, isGroup: true)
        // "listening 127.0.0.1:PORT pid PID"
        let words = process.readLine().split(whereSeparator: { $0 == ":" || $0 == " " })
        guard words.count > 2, let port = UInt16(words[2]) else { throw MeasurementError("the agent did not start") }
        self.port = port
    }

    /// Asks on a connection of its own and waits for the answer.
    func ask(_ line: String) throws {
        let answer = exchange(line)
        guard answer == "PONG" else { throw MeasurementError("the agent answered \(answer)") }
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
        process.kill(isGroup: true)
        ProcFile.remove(store)
    }

    /// A port that nobody has now.
    static func freePort() throws -> UInt16 {
        guard let port = LineConnection.freePort() else { throw MeasurementError("no port is free") }
        return port
    }
}
