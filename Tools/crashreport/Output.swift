import CrashReports
import SystemPackage

/// Where the command writes to.
enum Output {
    /// Writes text that is safe for a terminal to the standard output.
    static func write(_ text: String) throws {
        try write(bytes: Array(text.utf8))
    }

    /// Writes bytes to the standard output.
    static func write(bytes: [UInt8]) throws {
        do {
            try FileDescriptor.standardOutput.writeAll(bytes)
        } catch {
            complain("cannot write the output: \(error)")
            throw ExitStatus.cannotWrite
        }
    }

    /// Writes one line to the standard error.
    static func complain(_ message: String) {
        let line = "crashreport: \(TerminalText.visible(message))\n"
        // There is nobody left to tell.
        _ = try? FileDescriptor.standardError.writeAll(line.utf8)
    }
}
