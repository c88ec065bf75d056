import Glibc

/// A program in a process of its own, whose output and complaints come through one pipe.
struct ChildProcess {
    let pid: pid_t
    private let output: CInt

    /// Starts a program that is looked for on the PATH.
    ///
    /// - Parameters:
    ///   - command: The program and its arguments.
    ///   - isGroup: Whether it has a process group of its own, and nobody reads its complaints.
    /// - Throws: `MeasurementError` if it cannot be started.
    init(_ command: [String], isGroup: Bool = false) throws(MeasurementError) {
        var ends: [CInt] = [0, 0]
        guard unsafe pipe(&ends) == 0 else { throw MeasurementError("no pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[1]) }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        if isGroup {
            unsafe posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        } else {
            unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], 2)
        }
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        if isGroup { unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP)) }
        var arguments = unsafe command.map { unsafe strdup($0) } + [nil]
        defer { for index in unsafe arguments.indices { unsafe free(arguments[index]) } }
        var child: pid_t = 0
        guard unsafe posix_spawnp(&child, command[0], &actions, &attributes, &arguments, environ) == 0 else {
            close(ends[0])
            throw MeasurementError("cannot start \(command[0])")
        }
        pid = child
        output = ends[0]
    }

    /// Reads until the output ends in a line, or altogether.
    func readLine() -> String { read { $0.last == UInt8(ascii: "\n") } }

    /// Reads all output and waits for the end.
    ///
    /// - Throws: What the program complained about, if it did not end with status 0.
    func finish() throws(MeasurementError) -> String {
        let text = read { _ in false }
        let status = end()
        guard status != 0 else { return text }
        let signal = status & 0x7F
        let reason = text.split(separator: "\n").joined(separator: "; ")
        if signal == SIGALRM { throw MeasurementError("took too long") }
        throw MeasurementError(reason.isEmpty ? (signal == 0 ? "failed" : "ended by signal \(signal)") : reason)
    }

    /// Ends the program, or its whole group, at once.
    func kill(isGroup: Bool = false) {
        _ = Glibc.kill(isGroup ? -pid : pid, SIGKILL)
        _ = end()
    }

    private func end() -> CInt {
        close(output)
        var status: CInt = 0
        while unsafe waitpid(pid, &status, 0) == -1 && errno == EINTR {}
        return status
    }

    private func read(until isEnough: ([UInt8]) -> Bool) -> String {
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while !isEnough(text) {
            let count = unsafe Glibc.read(output, &buffer, buffer.count)
            if count == -1 && errno == EINTR { continue }
            guard count > 0 else { break }
            text += buffer.prefix(count)
        }
        return String(decoding: text, as: UTF8.self)
    }
}

/// Why something was not measured.
struct MeasurementError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// The CPUs of the main thread, and of what it starts.
enum Affinity {
    /// Runs something on some CPUs, and goes on on those from before.
    ///
    /// - Parameters:
    ///   - cpus: Their numbers, separated by commas.
    ///   - before: Those from before.
    ///   - body: What is run.
    /// - Returns: What that returns.
    /// - Throws: What that throws, or `MeasurementError`.
    static func run<T>(on cpus: String, before: String, _ body: () throws -> T) throws -> T {
        try set(cpus)
        let result = Result { try body() }
        try set(before)
        return try result.get()
    }

    /// Asks taskset(1), for the overlay has no sched_setaffinity(2).
    ///
    /// The id of the main thread is that of the process.
    private static func set(_ cpus: String) throws {
        _ = try ChildProcess(["taskset", "-cp", cpus, String(getpid())]).finish()
    }
}
