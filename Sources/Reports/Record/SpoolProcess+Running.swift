internal import Glibc
internal import LinuxSystem
internal import SystemPackage

extension SpoolProcess {
    /// Whether the process still runs, as far as this machine's processes say: by its number, its name, and a start that is not later.
    var isRunning: Bool {
        guard let status = Self.text("stat", of: pid), let start = status.firstIndex(of: "("),
            let end = status.lastIndex(of: ")"), status[status.index(after: start)..<end] == name.prefix(15)
        else { return false }
        let fields = status[end...].split(separator: " ")
        // The 22nd of proc_pid_stat(5), in ticks since the machine has started.
        guard fields.count > 20, let ticks = Double(fields[20]) else { return false }
        var sinceStart = timespec()
        _ = unsafe clock_gettime(CLOCK_BOOTTIME, &sinceStart)
        let age = Double(sinceStart.tv_sec) - ticks / Double(max(1, sysconf(CInt(_SC_CLK_TCK))))
        let began = Timestamp(microsecondsSinceEpoch: RealtimeClock.nanoseconds / 1000).adding(seconds: -age)
        // What ran when this one was noted; one that has got its number since began later.
        return began <= startTime.adding(seconds: 2)
    }

    private static func text(_ name: String, of pid: Int) -> String? {
        guard let file = try? OwnedDescriptor(reading: FilePath("/proc/\(pid)/\(name)"), followingLinks: false),
            let bytes = try? file.readAll(limit: 4096)
        else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}
