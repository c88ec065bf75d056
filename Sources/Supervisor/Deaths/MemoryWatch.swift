internal import LinuxSystem

/// The counters of a process's control group in its life, so that what the kernel has killed there before is not taken for its end.
struct MemoryWatch {
    private var before: MemoryAccounts?
    private var recent: (accounts: MemoryAccounts, time: Int64)?

    /// How long a process that the kernel has killed may take to end, in nanoseconds.
    private static let dyingTime: Int64 = 2_000_000_000

    /// Reads them: the kills until now were of others.
    mutating func begin(_ pid: CInt) {
        before = MemoryAccounts(pid: pid) ?? before
        recent = nil
    }

    /// Reads them anew: the process lives, so the kills that were counted until now have not ended it.
    ///
    /// Those of the last second may have: the kernel counts first, and the process ends later.
    ///
    /// - Parameters:
    ///   - pid: The process.
    ///   - started: When it was started, in nanoseconds of CLOCK_MONOTONIC.
    mutating func noteLife(of pid: CInt, started: Int64) {
        let now = MonotonicClock.nanoseconds
        guard let before, now - (recent?.time ?? started) >= Self.dyingTime else { return }
        self.before = recent?.accounts ?? before
        recent = before.again(pid: pid).map { ($0, now) }
    }

    /// The counters before the kill that may have ended it.
    var beforeEnd: MemoryAccounts? {
        guard let recent, MonotonicClock.nanoseconds - recent.time >= Self.dyingTime else { return before }
        return recent.accounts
    }

    /// The counters now that it has ended.
    func afterEnd(of pid: CInt) -> MemoryAccounts? { before.map { $0.again(pid: pid) } ?? MemoryAccounts(pid: pid) }
}
