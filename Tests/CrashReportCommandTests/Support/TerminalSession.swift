import TestSupport
import Testing

/// The command with a terminal to write to.
struct TerminalSession {
    /// What the terminal was sent, with the line ends of files.
    let output: String
    /// The exit code.
    let exitCode: Int32?

    /// Runs a program in a terminal of a given size, and passes on its output and its status.
    private static let script = """
        import fcntl, os, pty, struct, sys, termios
        pid, terminal = pty.fork()
        if pid == 0:
            size = struct.pack("HHHH", int(sys.argv[2]), int(sys.argv[1]), 0, 0)
            fcntl.ioctl(1, termios.TIOCSWINSZ, size)
            os.execv(sys.argv[3], sys.argv[3:])
        try:
            while data := os.read(terminal, 65536):
                os.write(1, data)
        except OSError:
            pass
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        """

    /// Runs the command to its end.
    ///
    /// Without another environment, the terminal has colours and UTF-8 and is never full, so there is no pager.
    init(_ arguments: [String], width: Int = 100, height: Int = 1000, environment: [String: String] = [:]) throws {
        let command = try BuiltProduct.path(of: "crashreport")
        let result = try Python.run(
            ["-c", Self.script, String(width), String(height), command] + arguments,
            environment: ["TERM": "xterm", "LC_ALL": "C.UTF-8"].merging(environment) { $1 }
        )
        output = result.output.replacing("\r\n", with: "\n")
        exitCode = result.exitCode
        #expect(result.errors == "")
    }
}
