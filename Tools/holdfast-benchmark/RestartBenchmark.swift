import Glibc

/// How long the agent takes to be replaced, to its first answered request.
struct RestartBenchmark {
    struct Result {
        /// A process that is started anew: from posix_spawn to the first answer.
        var spawn: Sample
        /// A process that restarts in place: from the request that faults to the first answer of the next process.
        var inPlace: Sample
    }

    let agent: String
    let rounds: Int

    func measure() throws -> Result {
        var spawn: [Double] = []
        var inPlace: [Double] = []
        for _ in 0..<rounds {
            let start = now()
            let process = try AgentProcess(executable: agent)
            try process.ask("PING")
            spawn.append(now() - start)
            let fault = now()
            // Waits for the end of the connection: then the process is being replaced.
            process.send("FAULT raise-segv")
            try process.ask("PING")
            inPlace.append(now() - fault)
            process.end()
        }
        return Result(spawn: Sample(spawn), inPlace: Sample(inPlace))
    }
}

/// What went wrong with the agent.
struct AgentError: Error, CustomStringConvertible {
    let description: String
}

/// An agent in a process of its own, with a store of its own.
struct AgentProcess {
    private let pid: pid_t
    private let port: UInt16
    private let store: String

    init(executable: String) throws {
        store = "/tmp/holdfast-benchmark-agent-\(getpid())"
        var ends: [CInt] = [0, 0]
        guard unsafe pipe(&ends) == 0 else { throw AgentError(description: "no pipe") }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        unsafe posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        unsafe posix_spawn_file_actions_addclose(&actions, ends[0])
        unsafe posix_spawn_file_actions_addclose(&actions, ends[1])
        var arguments = unsafe [strdup(executable), strdup("--store"), strdup(store), nil]
        var child: pid_t = 0
        let error = unsafe posix_spawn(&child, executable, &actions, nil, &arguments, environ)
        unsafe posix_spawn_file_actions_destroy(&actions)
        for index in unsafe arguments.indices {
            unsafe free(arguments[index])
        }
        close(ends[1])
        guard error == 0 else { throw AgentError(description: "cannot start \(executable)") }
        pid = child
        var line = [UInt8](repeating: 0, count: 256)
        let count = unsafe read(ends[0], &line, line.count)
        close(ends[0])
        // "listening 127.0.0.1:PORT pid PID"
        let words = String(decoding: line.prefix(max(0, count)), as: UTF8.self).split(whereSeparator: {
            $0 == ":" || $0 == " "
        })
        guard words.count > 2, let port = UInt16(words[2]) else {
            throw AgentError(description: "the agent did not start")
        }
        self.port = port
    }

    /// Asks on a connection of its own and waits for the answer.
    func ask(_ line: String) throws {
        let answer = exchange(line)
        guard answer == "PONG\n" else { throw AgentError(description: "the agent answered \(answer)") }
    }

    /// Sends on a connection of its own and waits for its end.
    func send(_ line: String) {
        _ = exchange(line)
    }

    /// Ends the process and removes its store.
    func end() {
        kill(pid, SIGKILL)
        var status: CInt = 0
        unsafe waitpid(pid, &status, 0)
        FaultBenchmark.remove(store)
    }

    private func exchange(_ line: String) -> String {
        let socket = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let connected = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe connect(socket, pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { return "" }
        let request = Array((line + "\n").utf8)
        _ = unsafe Glibc.send(socket, request, request.count, CInt(MSG_NOSIGNAL))
        var answer = [UInt8](repeating: 0, count: 256)
        let count = unsafe recv(socket, &answer, answer.count, 0)
        return String(decoding: answer.prefix(max(0, count)), as: UTF8.self)
    }
}
