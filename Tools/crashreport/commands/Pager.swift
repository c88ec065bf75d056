import ArgumentParser
import CrashReports
import FoundationEssentials
import Glibc
import ReportText

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

    /// The pager of this terminal: `$PAGER`, else `less`; nil when the output is no terminal or none is wanted.
    static var chosen: Pager? {
        let terminal = Terminal.standardOutput
        let environment = ProcessInfo.processInfo.environment
        guard terminal.height != nil, environment["TERM"] != "dumb" else { return nil }
        let command = environment["PAGER"] ?? "less"
        guard !command.allSatisfy(\.isWhitespace), command != "cat" else { return nil }
        return Pager(command: command, terminal: terminal)
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
        // As git has it: leave at once when it fits a screen, pass on colours, do not clear the screen.
        unsafe setenv("LESS", "FRX", 0)
        unsafe setenv("LV", "-c", 0)
        // The pager inherits what is ignored.
        let pipeSignal = signal(SIGPIPE, SIG_DFL)
        let opened = unsafe popen(command, "we")
        _ = signal(SIGPIPE, pipeSignal)
        guard let pipe = unsafe opened else { return false }
        // Ctrl-C is the pager's.
        let interrupt = signal(SIGINT, SIG_IGN)
        let quit = signal(SIGQUIT, SIG_IGN)
        defer {
            _ = signal(SIGINT, interrupt)
            _ = signal(SIGQUIT, quit)
        }
        // Who quits before the end has seen enough.
        unsafe fputs(text, pipe)
        let status = unsafe pclose(pipe)
        // What a shell says of a program that it cannot find or start.
        let exit = status & 0x7f == 0 ? status >> 8 & 0xff : 0
        return exit != 126 && exit != 127
    }
}
