/// What proc_pid_status(5) says of a process.
package enum ProcessStatus {
    /// Whether a process has a handler for a signal, by its `SigCgt`.
    ///
    /// - Parameters:
    ///   - signal: The signal.
    ///   - status: The text of the file.
    /// - Returns: False also where the text does not say it.
    package static func catches(_ signal: CInt, _ status: String) -> Bool {
        guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("SigCgt:") }),
            let mask = line.split(separator: "\t").last.flatMap({ UInt64($0, radix: 16) })
        else { return false }
        return mask & 1 << UInt64(signal - 1) != 0
    }

    /// Whether a seccomp filter is in force, also if the process has ended.
    ///
    /// - Parameter status: The text of the file.
    /// - Returns: Nil where the text does not say it.
    package static func hasFilter(_ status: String) -> Bool? {
        let line = status.split(separator: "\n").first { $0.hasPrefix("Seccomp:") }
        return line?.split(separator: "\t").last.map { $0 != "0" }
    }
}
