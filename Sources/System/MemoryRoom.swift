import CLinuxShims
import Glibc

/// How much more memory this process may take before a limit ends it: of its control groups (cgroups(7)), or of its address space.
package enum MemoryRoom {
    /// The bytes that are left, under the closest limit; `UInt64.max` where there is none, or none can be read.
    ///
    /// Files that the kernel keeps in memory do not count: it drops them before it kills anybody. Reads some files.
    ///
    /// - Parameter root: A prefix of all paths: for tests.
    /// - Returns: The bytes.
    package static func bytes(root: String = "") -> UInt64 {
        let groups = ControlGroups(SmallFile.text("\(root)/proc/self/cgroup") ?? "")
        let inGroups = groups.folders(ofController: "memory").map { left(in: root + $0) }
        return min(inGroups.min() ?? .max, leftOfAddressSpace(root: root))
    }

    /// What a group has left.
    private static func left(in folder: String) -> UInt64 {
        // "max" is no number, and no limit.
        guard
            let limit = SmallFile.number("\(folder)/memory.max") ?? SmallFile.number("\(folder)/memory.limit_in_bytes"),
            let used = SmallFile.number("\(folder)/memory.current")
                ?? SmallFile.number("\(folder)/memory.usage_in_bytes")
        else { return .max }
        // In version 1, those with `total_` include the groups below, as the usage does.
        let counts = SmallFile.numbers(in: SmallFile.text("\(folder)/memory.stat") ?? "")
        let files = ["inactive_file", "active_file"].compactMap { counts["total_" + $0] ?? counts[$0] }.reduce(0, &+)
        let fixed = used > files ? used - files : 0
        return limit > fixed ? limit - fixed : 0
    }

    /// What RLIMIT_AS leaves (getrlimit(2)).
    private static func leftOfAddressSpace(root: String) -> UInt64 {
        var limits = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limits) == 0, limits.rlim_cur != .max,
            let pages = SmallFile.number("\(root)/proc/self/statm")
        else { return .max }
        let (used, overflow) = pages.multipliedReportingOverflow(by: UInt64(sysconf(CInt(_SC_PAGESIZE))))
        guard !overflow else { return 0 }
        return limits.rlim_cur > used ? UInt64(limits.rlim_cur) - used : 0
    }
}
