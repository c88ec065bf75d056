internal import LinuxSystem

extension SpoolProcess {
    /// Whether the process still runs, as far as this machine's processes say: by its number, its name, and a start that is not later.
    var isRunning: Bool {
        guard let pid = CInt(exactly: pid), SmallFile.text("/proc/\(pid)/comm") == name.prefix(15) + "\n",
            let age = ProcessFields.secondsSinceStart(of: pid)
        else { return false }
        let began = Timestamp(microsecondsSinceEpoch: RealtimeClock.nanoseconds / 1000).adding(seconds: -age)
        // What ran when this one was noted; one that has got its number since began later.
        return began <= startTime.adding(seconds: 2)
    }
}
