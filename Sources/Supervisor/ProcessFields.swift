internal import Glibc

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

    /// The parent of a process; nil if the process is gone.
    static func parent(of pid: CInt) -> CInt? {
        guard let fields = of(pid), fields.count > 1 else { return nil }
        return CInt(fields[1])
    }

    /// Whether a process descends from another one, as far as its ancestors live, or is an orphan that may have.
    ///
    /// - Parameters:
    ///   - pid: The process.
    ///   - top: The other one.
    ///   - others: Children of ours from which it must not descend.
    /// - Returns: Whether it does.
    static func isBelow(_ pid: CInt, _ top: CInt, others: Set<CInt>) -> Bool {
        var pid = pid
        for _ in 0..<64 {
            if pid == top || getpgid(pid) == top { return true }
            guard let parent = parent(of: pid) else { return false }
            // A daemon of its, which is a child of ours now.
            if parent == getpid() { return !others.contains(pid) }
            guard parent > 1 else { return false }
            pid = parent
        }
        return false
    }
}
