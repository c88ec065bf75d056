import TestSupport
import Testing

@testable import LinuxSystem

@Suite("The memory that limits leave")
struct MemoryRoomTests {
    @Test("The closest of all groups above counts, and files that the kernel can drop do not")
    func unified() throws {
        let top = "/sys/fs/cgroup"
        let folder = try TemporaryFolder(files: [
            "/proc/self/cgroup": "0::/app/worker\n",
            top + "/app/worker/memory.max": "max\n",
            top + "/app/worker/memory.current": "9000000\n",
            top + "/app/memory.max": "64000000\n",
            top + "/app/memory.current": "50000000\n",
            top + "/app/memory.stat": "anon 30000000\ninactive_file 4000000\nactive_file 6000000\nfile 20000000\n",
        ])
        #expect(MemoryRoom.bytes(root: folder.path) == 64_000_000 - 40_000_000)
    }

    @Test("In version 1 the numbers of a group include those below it")
    func first() throws {
        let top = "/sys/fs/cgroup/memory"
        let folder = try TemporaryFolder(files: [
            "/proc/self/cgroup": "4:memory:/box\n0::/\n",
            top + "/box/memory.limit_in_bytes": "100\n",
            top + "/box/memory.usage_in_bytes": "90\n",
            top + "/box/memory.stat": "inactive_file 1\nactive_file 1\ntotal_inactive_file 20\ntotal_active_file 30\n",
            top + "/memory.limit_in_bytes": "9223372036854771712\n",
            top + "/memory.usage_in_bytes": "1000\n",
        ])
        #expect(MemoryRoom.bytes(root: folder.path) == 60)
    }

    @Test("A group that is over its limit leaves nothing; without files nothing limits")
    func extremes() throws {
        let top = "/sys/fs/cgroup"
        let full = try TemporaryFolder(files: [
            "/proc/self/cgroup": "0::/\n", top + "/memory.max": "10\n", top + "/memory.current": "11\n",
        ])
        #expect(MemoryRoom.bytes(root: full.path) == 0)
        let none = try TemporaryFolder(files: ["/proc/self/cgroup": "0::/\n"])
        #expect(MemoryRoom.bytes(root: none.path) == .max)
    }
}
