import CLinuxShims
import Glibc

/// What the kernel says of a process in one line: `/proc/PID/stat` of proc(5).
package enum ProcessFields {
    /// The fields behind the name, from the state on.
    ///
    /// - Parameter pid: The process.
    /// - Returns: The fields, from the third of proc_pid_stat(5) on; nil if the process is gone.
    package static func of(_ pid: CInt) -> [Substring]? {
        // The name, which is in parentheses, may have anything in it.
        guard let text = SmallFile.text("/proc/\(pid)/stat"), let end = text.lastIndex(of: ")") else { return nil }
        return text[text.index(after: end)...].split(separator: " ")
    }

    /// How long ago a process was started, also if it has become another program since; nil if it is gone.
    package static func secondsSinceStart(of pid: CInt) -> Double? {
        // The 22nd of proc_pid_stat(5), in ticks since the machine has started.
        guard let fields = of(pid), fields.count > 19, let ticks = Double(fields[19]) else { return nil }
        var sinceBoot = timespec()
        _ = unsafe clock_gettime(CLOCK_BOOTTIME, &sinceBoot)
        return Double(sinceBoot.tv_sec) - ticks / Double(max(1, sysconf(CInt(_SC_CLK_TCK))))
    }

    /// The parent of a process; nil if the process is gone.
    package static func parent(of pid: CInt) -> CInt? {
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
    package static func isBelow(_ pid: CInt, _ top: CInt, others: Set<CInt>) -> Bool {
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
