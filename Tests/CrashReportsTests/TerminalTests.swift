import CrashReports
import Foundation
import SystemPackage
import Testing

/// The command with a terminal to write to.
@Suite(.timeLimit(.minutes(5))) struct TerminalTests {
    private let temporary: TemporaryStore

    init() throws {
        temporary = try TemporaryStore()
        let reason = String(repeating: "long ", count: 30)
        try temporary.store.write(SampleReport.minimal(message: "\u{1b}]0;owned\u{7}", reason: reason))
    }

    /// Runs a program in a terminal with a given width, and passes on its output and its status.
    private static let script = """
        import fcntl, os, pty, struct, sys, termios
        pid, terminal = pty.fork()
        if pid == 0:
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
            os.execv(sys.argv[2], sys.argv[2:])
        try:
            while data := os.read(terminal, 65536):
                os.write(1, data)
        except OSError:
            pass
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        """

    private func run(_ arguments: String..., width: Int = 100, environment: [String: String] = [:]) throws -> String {
        let command = try ChildProcess.path(of: "crashreport")
        let store = ["--store", temporary.store.path.string]
        let result = try ChildProcess(
            "/usr/bin/env",
            ["python3", "-c", Self.script, String(width), command] + arguments + store,
            environment: ["TERM": "xterm"].merging(environment) { $1 }
        )
        #expect(result.exitCode == 0, "\(result.errors)")
        return result.output.replacing("\r\n", with: "\n")
    }

    @Test func `Colours are used, and only colours`() throws {
        for output in [try run("list"), try run("show", "last")] {
            #expect(output.contains("\u{1b}["))
            let plain = output.replacing(/\u{1b}\[[0-9;]*m/, with: "")
            #expect(!plain.contains("\u{1b}"))
            #expect(!plain.contains("\u{7}"))
        }
    }

    @Test(arguments: [["NO_COLOR": "1"], ["TERM": "dumb"]])
    func `Colours can be refused`(environment: [String: String]) throws {
        #expect(!(try run("list", environment: environment).contains("\u{1b}")))
        #expect(!(try run("show", "last", environment: environment).contains("\u{1b}")))
    }

    @Test func `An empty NO_COLOR refuses nothing`() throws {
        #expect(try run("list", environment: ["NO_COLOR": ""]).contains("\u{1b}"))
    }

    @Test(arguments: [1, 40, 80, 100, 132])
    func `A list fits the terminal`(width: Int) throws {
        let output = try run("list", width: width, environment: ["NO_COLOR": "1"])
        let lines = output.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.allSatisfy { $0.count <= width })
        if width >= 80 { #expect(lines.last?.hasSuffix("terminate") == true) }
        #expect(output.contains("…"))
    }
}
