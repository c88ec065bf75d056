package import CrashCapture
internal import CrashReports

extension ThreadLook {
    /// What the thread did, in words: `running`, or `sleeping in clock_nanosleep`; nil if that is not known.
    package var activity: String? {
        let state: String? =
            switch self.state {
            case "R": "running"
            case "S", "I": "sleeping"
            case "D": "waiting for a disk"
            case "T", "t": "stopped"
            default: nil
            }
        guard let state, let systemCall, self.state != "R" else { return state }
        let name = SystemCallNames.name(systemCall)
        return "\(state) in \(name ?? "system call \(systemCall)")"
    }
}
