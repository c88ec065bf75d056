import ArgumentParser
import CrashReports
import Glibc
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
    static func write(_ text: String) throws {
        try write(bytes: Array(text.utf8))
    }

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
    static func complain(_ message: String) {
        say("crashreport: " + message)
    }

    /// Writes one line to the standard error, without saying who says it.
    static func say(_ message: String) {
        let line = Terminal.standardError.layout.visible(message)
        // There is nobody left to tell.
        _ = try? FileDescriptor.standardError.writeAll("\(line)\n".utf8)
    }
}
