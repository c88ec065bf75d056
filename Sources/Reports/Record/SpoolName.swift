/// The name of a spool file: `PID-START.spool`, the start in nanoseconds of the epoch.
struct SpoolName {
    let text: String
    let pid: Int
    let start: UInt64

    init?(_ text: String) {
        guard text.hasSuffix(".spool") else { return nil }
        let parts = text.dropLast(6).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let pid = Int(parts[0]), let start = UInt64(parts[1]) else { return nil }
        self.text = text
        self.pid = pid
        self.start = start
    }
}
