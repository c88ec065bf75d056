import CrashReports
import Glibc
import LinuxSystem

/// Says on a terminal how far a long job has got, from its second second on.
final class Progress {
    private static let patience = 1.0
    private static let pause = 0.1

    private let title: String
    private let isTerminal = isatty(STDERR_FILENO) == 1
    private let start = Progress.seconds
    private var lastShown = 0.0

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
        let now = Self.seconds
        guard isTerminal, now - start >= Self.patience, now - lastShown >= Self.pause else { return }
        lastShown = now
        guard let total else { return show("\(title): \(done)") }
        let percent = total > 0 ? " (\(Int(100 * Double(done) / Double(total))) %)" : ""
        show("\(title): \(done) of \(total)\(percent)")
    }

    /// Removes what was shown: the job is done.
    private func end() {
        if lastShown > 0 { show("") }
    }

    private func show(_ line: String) {
        // Back to the start of the line, and away with the rest of what stood there: ECMA-48 says EL.
        let bytes = Array("\r\(TerminalText.visible(line))\u{1b}[K".utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    private static var seconds: Double {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }
}
