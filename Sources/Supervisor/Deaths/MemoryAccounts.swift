internal import LinuxSystem
internal import SystemPackage

/// What the control groups of a process have counted of its memory: of its own group, and of those above as far as they are visible.
struct MemoryAccounts: Sendable, Equatable {
    /// One group.
    struct Group: Sendable, Equatable {
        /// Its path, as /proc/PID/cgroup has it.
        let path: String
        /// How often it had no memory left: `oom` of memory.events.local (v2), memory.failcnt (v1).
        let shortages: UInt64
        /// How many processes of it the kernel has killed, whosever limit it was: `oom_kill`.
        let kills: UInt64
        /// How often all of it was killed: `oom_group_kill` (v2).
        let groupKills: UInt64
        /// The most that it has used, in bytes; nil where the kernel does not say.
        let peak: UInt64?
        /// How much it may use, in bytes; nil for as much as there is.
        let limit: UInt64?
    }

    /// 1 or 2.
    let version: Int
    /// Its own group first, then those above.
    let groups: [Group]
    /// Whether there may be groups above that are not visible from here, as in a container.
    let isCutOff: Bool

    private let mount: Mount
    private let root: String

    static func == (accounts: MemoryAccounts, other: MemoryAccounts) -> Bool {
        accounts.version == other.version && accounts.groups == other.groups && accounts.isCutOff == other.isCutOff
    }

    /// How much its own group waits for memory at this moment (v2); nil if it does not, or the kernel does not say.
    var pressure: MemoryPressure? {
        guard version == 2, let path = groups.first?.path else { return nil }
        let file = "\(root)\(mount.point)\(path == "/" ? "" : path)/memory.pressure"
        return SmallFile.text(file).flatMap { MemoryPressure($0, of: "control group \(path)") }
    }

    /// Reads them once more when the process has ended.
    ///
    /// - Parameter pid: The process, whose end was not taken yet.
    /// - Returns: nil if they cannot be read any more.
    func again(pid: CInt) -> MemoryAccounts? {
        // In v1 a process that has ended is in the topmost group for who asks (linux/kernel/cgroup/cgroup.c, proc_cgroup_show).
        version == 2
            ? MemoryAccounts(pid: pid, root: root)
            : MemoryAccounts(version: version, path: groups[0].path, mount, root)
    }

    /// Reads them; nil where memory is not accounted, or nothing can be read.
    ///
    /// - Parameters:
    ///   - pid: The process.
    ///   - root: A prefix of all paths: for tests.
    init?(pid: CInt, root: String = "") {
        guard let membership = SmallFile.text("\(root)/proc/\(pid)/cgroup"),
            let mounts = SmallFile.text("\(root)/proc/self/mountinfo")
        else { return nil }
        let lines = membership.split(separator: "\n").map { $0.split(separator: ":", maxSplits: 2) }
        // v1's controller counts where it is mounted; else memory is v2's, or nobody's (cgroups(7)).
        if let own = lines.first(where: { $0.count == 3 && $0[1].split(separator: ",").contains("memory") }),
            let mount = Mount(in: mounts, type: "cgroup", option: "memory")
        {
            self.init(version: 1, path: String(own[2]), mount, root)
        } else if let own = membership.split(separator: "\n").first(where: { $0.hasPrefix("0::") }),
            let mount = Mount(in: mounts, type: "cgroup2", option: nil)
        {
            self.init(version: 2, path: String(own.dropFirst(3)), mount, root)
        } else {
            return nil
        }
    }

    private init?(version: Int, path: String, _ mount: Mount, _ root: String) {
        guard let place = mount.place(of: path) else { return nil }
        self.mount = mount
        self.root = root
        var groups: [Group] = []
        var folder = place
        while true {
            let files = "\(root)\(mount.point)\(folder == "/" ? "" : folder)"
            if let group = version == 2 ? Self.v2(folder, files) : Self.v1(folder, files) { groups.append(group) }
            guard folder != "/", let slash = folder.lastIndex(of: "/") else { break }
            folder = slash == folder.startIndex ? "/" : String(folder[..<slash])
        }
        guard !groups.isEmpty else { return nil }
        self.version = version
        self.groups = groups
        // Files that only the topmost group has (v1), or all but it (v2): linux/kernel/cgroup/cgroup-v1.c, cgroup.c (CFTYPE_ONLY_ON_ROOT,
        // CFTYPE_NOT_ON_ROOT).
        let top = "\(root)\(mount.point)"
        isCutOff =
            version == 2
            ? SmallFile.text("\(top)/cgroup.type") != nil : SmallFile.text("\(top)/release_agent") == nil
    }

    private static func v2(_ path: String, _ files: String) -> Group? {
        guard let local = SmallFile.text("\(files)/memory.events.local") else { return nil }
        let counts = SmallFile.numbers(in: local)
        return Group(
            path: path,
            shortages: counts["oom"] ?? 0,
            kills: counts["oom_kill"] ?? 0,
            groupKills: counts["oom_group_kill"] ?? 0,
            peak: SmallFile.number("\(files)/memory.peak"),
            limit: SmallFile.number("\(files)/memory.max")
        )
    }

    private static func v1(_ path: String, _ files: String) -> Group? {
        guard let control = SmallFile.text("\(files)/memory.oom_control") else { return nil }
        let limit = SmallFile.number("\(files)/memory.limit_in_bytes")
        return Group(
            path: path,
            shortages: SmallFile.number("\(files)/memory.failcnt") ?? 0,
            kills: SmallFile.numbers(in: control)["oom_kill"] ?? 0,
            groupKills: 0,
            peak: SmallFile.number("\(files)/memory.max_usage_in_bytes"),
            // Without a limit it is the largest multiple of a page (PAGE_COUNTER_MAX).
            limit: limit.flatMap { $0 < 1 << 62 ? $0 : nil }
        )
    }

    /// Where a hierarchy of control groups is mounted.
    private struct Mount: Sendable {
        /// The group that is at the mount point.
        let root: String
        let point: String

        /// Finds one in /proc/PID/mountinfo, whose form is in proc(5).
        init?(in text: String, type: String, option: Substring?) {
            for line in text.split(separator: "\n") {
                let halves = line.split(separator: " - ", maxSplits: 1)
                guard halves.count == 2 else { continue }
                let first = halves[0].split(separator: " ")
                let second = halves[1].split(separator: " ")
                guard first.count >= 5, second.count >= 3, second[0] == type else { continue }
                if let option, !second[2].split(separator: ",").contains(option) { continue }
                root = String(first[3])
                point = String(first[4])
                return
            }
            return nil
        }

        /// Where a group is below the mount point; nil if it is not there.
        func place(of path: String) -> String? {
            // Outside of the namespace of control groups that we are in.
            guard path.hasPrefix("/"), !path.hasPrefix("/..") else { return nil }
            if root == "/" { return path }
            if path == root { return "/" }
            guard path.hasPrefix("\(root)/") else { return nil }
            return String(path.dropFirst(root.count))
        }
    }
}
