/// What the kernel says of a process in one line: `/proc/PID/stat` of proc(5).
enum ProcessFields {
    /// The fields behind the name, from the state on.
    ///
    /// - Parameter pid: The process.
    /// - Returns: The fields; nil if the process is gone.
    static func of(_ pid: CInt) -> [Substring]? {
        // The name, which is in parentheses, may have anything in it.
        guard let text = SmallFile.text("/proc/\(pid)/stat"), let end = text.lastIndex(of: ")") else { return nil }
        return text[text.index(after: end)...].split(separator: " ")
    }
}
