internal import Glibc
internal import LinuxSystem

/// The processor time that a process has used itself, which is what its limit counts.
///
/// That of waitid(2) has its children, too.
enum ProcessorTime {
    /// What a process has used.
    ///
    /// - Parameter pid: The process, whose end was not taken yet.
    /// - Returns: Seconds of processor time; nil if the process is gone.
    static func seconds(of pid: CInt) -> Double? {
        guard let fields = ProcessFields.of(pid), fields.count > 12, let user = Double(fields[11]),
            let system = Double(fields[12])
        else { return nil }
        return (user + system) / Double(max(1, sysconf(CInt(_SC_CLK_TCK))))
    }
}
