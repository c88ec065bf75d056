import ArgumentParser
import CrashReports
import FoundationEssentials
import Glibc
import LinuxSystem
import ReportText
import SystemPackage

/// Where the command writes to.
enum Output {
    /// Has a reader who went away, and a file that grew too large, reported as an error of the write, not by a signal.
    static func prepare() {
        _ = signal(SIGPIPE, SIG_IGN)
        _ = signal(SIGXFSZ, SIG_IGN)
    }

    /// Writes text that is safe for a terminal, through a pager if it is too long for the terminal.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - options: Whether a pager is wanted.
    /// - Throws: The exit status when it cannot be written.
    static func page(_ text: String, _ options: PagerOptions) throws {
        if options.isWanted, let pager = Pager.chosen, !pager.isNeedless(for: text), pager.show(text) { return }
        try write(text)
    }

    /// Writes text that is safe for a terminal to the standard output.
    static func write(_ text: String) throws { try write(bytes: Array(text.utf8)) }

    /// Writes bytes to the standard output.
    static func write(bytes: [UInt8]) throws {
        do {
            try FileDescriptor.standardOutput.writeAll(bytes)
        } catch Errno.brokenPipe {
            // Whoever reads has seen enough, as `head` does.
            throw ExitCode.success
        } catch {
            complain("cannot write the output: \(error)")
            throw ExitStatus.cannotWrite
        }
    }

    /// Writes one line to the standard error.
    static func complain(_ message: String) { say("crashreport: " + message) }

    /// Writes one line to the standard error, without saying who says it.
    static func say(_ message: String) {
        let line = Terminal.standardError.layout.visible(message)
        // There is nobody left to tell.
        _ = try? FileDescriptor.standardError.writeAll("\(line)\n".utf8)
    }
}

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

/// What the output goes to.
struct Terminal {
    /// What text may use there.
    let layout: TextLayout
    /// How many lines it has; nil when it is no terminal.
    let height: Int?

    /// What the standard output goes to, as wide as it is now.
    static var standardOutput: Terminal { Terminal(of: STDOUT_FILENO) }

    /// What text may use on the standard output, with times in a time zone.
    static func layout(in zone: DisplayZone) -> TextLayout {
        var layout = standardOutput.layout
        layout.zone = zone
        return layout
    }

    /// What errors go to.
    static var standardError: Terminal { Terminal(of: STDERR_FILENO) }

    private init(of descriptor: CInt) {
        guard isatty(descriptor) == 1 else {
            layout = .plain
            height = nil
            return
        }
        let environment = ProcessInfo.processInfo.environment
        let isRefused = environment["NO_COLOR"].map { !$0.isEmpty } ?? false
        var size = winsize()
        let isKnown = unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
        layout = TextLayout(
            width: isKnown ? Int(size.ws_col) : 80,
            usesColor: !isRefused && environment["TERM"] != "dumb",
            isUnicode: Self.isUnicode(environment)
        )
        height = isKnown && size.ws_row > 0 ? Int(size.ws_row) : 24
    }

    /// Whether the locale is one of UTF-8 (locale(7)): the first of the variables that is set counts.
    private static func isUnicode(_ environment: [String: String]) -> Bool {
        let value = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
        let name = (value ?? "C").lowercased()
        return name.contains("utf-8") || name.contains("utf8")
    }
}

/// Says on a terminal how far a long job has got, from its second second on.
final class Progress {
    private static let patience = Duration.seconds(1)
    private static let pause = Duration.milliseconds(100)

    private let title: String
    private let isTerminal = isatty(STDERR_FILENO) == 1
    private let start = ContinuousClock.now
    private var lastShown: ContinuousClock.Instant?

    /// Begins a job.
    private init(_ title: String) {
        self.title = title
    }

    /// Does some work, and shows how far it is.
    static func shown<Result>(_ title: String, _ work: (Progress) throws -> Result) rethrows -> Result {
        let progress = Progress(title)
        defer { progress.end() }
        return try work(progress)
    }

    /// Takes note of how much is done, and shows it now and then.
    ///
    /// - Parameters:
    ///   - done: How much.
    ///   - total: Of how much; nil where nobody knows.
    func update(done: Int, total: Int? = nil) {
        let now = ContinuousClock.now
        guard isTerminal, now - start >= Self.patience, now - (lastShown ?? start) >= Self.pause else { return }
        lastShown = now
        guard let total else { return show("\(title): \(done)") }
        let percent = total > 0 ? " (\(Int(100 * Double(done) / Double(total))) %)" : ""
        show("\(title): \(done) of \(total)\(percent)")
    }

    /// Removes what was shown: the job is done.
    private func end() {
        if lastShown != nil { show("") }
    }

    private func show(_ line: String) {
        // Back to the start of the line, and away with the rest of what stood there: ECMA-48 says EL.
        let bytes = Array("\r\(TerminalText.visible(line))\u{1b}[K".utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
