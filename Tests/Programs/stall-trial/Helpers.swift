import Glibc
import Synchronization

/// Other processes, which are this program once more.
enum Helpers {
    private static let continued = Atomic<Int>(0)

    /// How often this process was continued.
    static var stops: Int { continued.load(ordering: .relaxed) }

    /// Starts one.
    static func start(_ arguments: String...) throws -> pid_t {
        // SIGCONT tells of every stop; the counter is all that its handler touches.
        signal(SIGCONT) { _ in Helpers.continued.add(1, ordering: .relaxed) }
        return try spawn(["/proc/self/exe"] + arguments)
    }

    /// Lets a debugger hold this process for so many seconds; false if there is none.
    static func debug(for seconds: Int) throws -> Bool {
        guard access("/usr/bin/gdb", X_OK) == 0 else { return false }
        let commands = ["-ex", "shell sleep \(seconds)", "-ex", "detach"]
        let pid = try spawn(["/usr/bin/gdb", "-q", "-nx", "-batch", "-p", "\(getpid())"] + commands, isSilent: true)
        var status: CInt = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        return true
    }

    private static func spawn(_ command: [String], isSilent: Bool = false) throws -> pid_t {
        var pid = pid_t()
        var strings = command.map { strdup($0) } + [nil]
        defer { for string in strings { free(string) } }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if isSilent {
            for descriptor in [STDOUT_FILENO, STDERR_FILENO] {
                posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_WRONLY, 0)
            }
        }
        let error = posix_spawn(&pid, command[0], &actions, nil, &strings, environ)
        guard error == 0 else { throw SpawnError(code: error) }
        return pid
    }

    struct SpawnError: Error { let code: CInt }

    /// Ends one.
    static func end(_ pid: pid_t) {
        kill(pid, SIGKILL)
        waitpid(pid, nil, 0)
    }

    /// Keeps a processor busy until it is killed, or its parent is gone.
    static func spin() -> Never {
        let parent = getppid()
        while getppid() == parent {}
        exit(0)
    }

    /// Stops a process for up to a second, lets it run for up to a second, and so on.
    static func stopAgainAndAgain(_ pid: pid_t, seed: UInt64) -> Never {
        var dice = Dice(seed: seed)
        // Only the one who is stopped ends this process: never between the two signals.
        while true {
            usleep(.random(in: 100_000...1_000_000, using: &dice))
            kill(pid, SIGSTOP)
            usleep(.random(in: 100_000...1_000_000, using: &dice))
            guard kill(pid, SIGCONT) == 0 else { exit(0) }
        }
    }
}
