import ArgumentParser
import CrashReports
import FoundationEssentials
import Glibc
import ReportText
import SystemPackage

/// Whether long text goes through a pager.
struct PagerOptions: ParsableArguments {
    @Flag(name: .customLong("no-pager"), help: "Do not show long output page by page.")
    var isRefused = false

    var isWanted: Bool { !isRefused }
}

/// The program that shows long text page by page.
struct Pager {
    private let command: String
    private let terminal: Terminal
    private let environment: [String: String]

    /// The pager of this terminal: `$PAGER`, else `less`; nil when the output is no terminal or none is wanted.
    static var chosen: Pager? {
        let terminal = Terminal.standardOutput
        let environment = ProcessInfo.processInfo.environment
        guard terminal.height != nil, environment["TERM"] != "dumb" else { return nil }
        let command = environment["PAGER"] ?? "less"
        guard !command.allSatisfy(\.isWhitespace), command != "cat" else { return nil }
        return Pager(command: command, terminal: terminal, environment: environment)
    }

    /// Whether the terminal shows all of the text at once.
    func isNeedless(for text: String) -> Bool {
        guard let height = terminal.height, let width = terminal.layout.width else { return true }
        var lines = 0
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            // Escapes for colours count here though they take no room: then it is `less -F` that finds out.
            lines += 1 + max(0, DisplayWidth.of(line) - 1) / max(1, width)
            if lines > height { return false }
        }
        return true
    }

    /// Shows text until the user has seen enough.
    ///
    /// - Returns: False when the program could not be started: nothing was shown.
    func show(_ text: String) -> Bool {
        guard let pipe = try? FileDescriptor.pipe() else { return false }
        defer { try? pipe.writeEnd.close() }
        // The pager must see the end when this process closes its half.
        _ = fcntl(pipe.writeEnd.rawValue, F_SETFD, FD_CLOEXEC)
        let child = start(reading: pipe.readEnd.rawValue)
        try? pipe.readEnd.close()
        guard let child else { return false }
        // Ctrl-C is the pager's.
        let interrupt = signal(SIGINT, SIG_IGN)
        let quit = signal(SIGQUIT, SIG_IGN)
        defer {
            _ = signal(SIGINT, interrupt)
            _ = signal(SIGQUIT, quit)
        }
        // Who quits before the end has seen enough.
        _ = try? pipe.writeEnd.writeAll(text.utf8)
        try? pipe.writeEnd.close()
        var status: CInt = 0
        while unsafe waitpid(child, &status, 0) < 0 { guard errno == EINTR else { return true } }
        // What a shell says of a program that it cannot find or start.
        let exit = status & 0x7f == 0 ? status >> 8 & 0xff : 0
        return exit != 126 && exit != 127
    }

    private func start(reading input: CInt) -> pid_t? {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe _ = posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        if input != STDIN_FILENO { unsafe posix_spawn_file_actions_addclose(&actions, input) }
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe _ = posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGPIPE)
        unsafe sigaddset(&signals, SIGXFSZ)
        unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
        // As git has it: leave at once when it fits a screen, pass on colours, do not clear the screen.
        let defaults = ["LESS": "FRX", "LV": "-c"]
        let variables = environment.merging(defaults) { own, _ in own }.map { "\($0.key)=\($0.value)" }
        var child: pid_t = 0
        let error = unsafe Self.withCStrings(["sh", "-c", command]) { arguments in
            unsafe Self.withCStrings(variables) { variables in
                unsafe posix_spawn(&child, "/bin/sh", &actions, &attributes, arguments, variables)
            }
        }
        return error == 0 ? child : nil
    }

    /// Gives strings as an array of C, for the length of a call.
    private static func withCStrings<Result>(
        _ strings: [String],
        _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        var pointers = unsafe strings.map { unsafe strdup($0) } + [nil]
        defer {
            for index in unsafe pointers.indices { unsafe free(pointers[index]) }
        }
        return unsafe pointers.withUnsafeMutableBufferPointer { buffer in
            // The array is never empty.
            guard let start = buffer.baseAddress else { preconditionFailure("an array of arguments without a start") }
            return unsafe body(start)
        }
    }
}
