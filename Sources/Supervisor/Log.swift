internal import Glibc
internal import LinuxSystem

/// What the supervisor says itself: lines on standard error.
enum Log {
    /// Writes a line, unless standard error has no room: a supervisor does not wait for a reader.
    static func write(_ text: String) {
        guard Readiness.now(of: STDERR_FILENO, for: .writable).contains(.writable) else { return }
        let line = "holdfast: \(text)\n"
        _ = unsafe Array(line.utf8.prefix(4096)).withUnsafeBytes {
            unsafe Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count)
        }
    }
}
