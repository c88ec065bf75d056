import Glibc
import TestSupport
import Testing

@testable import ProcessSupervisor

/// Control groups as trees of files: those that cannot be made on every machine.
@Suite struct MemoryAccountsTests {
    /// Accounts of a process in `/a/b` of v2, before and after.
    static func twice(
        _ before: String,
        _ after: String,
        parent: (String, String) = ("oom 0\n", "oom 0\n"),
        isCutOff: Bool = false
    ) throws -> (MemoryAccounts, MemoryAccounts) {
        let folder = try TemporaryFolder()
        var files = [
            "proc/7/cgroup": "0::/a/b\n",
            "proc/self/mountinfo": "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n",
            "sys/fs/cgroup/a/b/memory.max": "1048576\n",
            "sys/fs/cgroup/a/b/memory.peak": "1048000\n",
        ]
        if isCutOff { files["sys/fs/cgroup/cgroup.type"] = "domain\n" }
        func read(_ own: String, _ above: String) throws -> MemoryAccounts {
            files["sys/fs/cgroup/a/b/memory.events.local"] = own
            files["sys/fs/cgroup/a/memory.events.local"] = above
            for (name, text) in files { try write(text, "\(folder.path)/\(name)") }
            return try #require(MemoryAccounts(pid: 7, root: folder.path))
        }
        return (try read(before, parent.0), try read(after, parent.1))
    }

    private static func write(_ text: String, _ path: String) throws {
        var made = ""
        for part in path.split(separator: "/").dropLast() {
            made += "/\(part)"
            mkdir(made, 0o700)
        }
        let file = try #require(fopen(path, "w"))
        defer { fclose(file) }
        fputs(text, file)
    }

    @Test func `Groups of v2 are read from their own upwards`() throws {
        let (accounts, _) = try Self.twice("low 0\noom 3\noom_kill 2\noom_group_kill 1\n", "", parent: ("oom 5\n", ""))
        #expect(accounts.version == 2)
        #expect(accounts.groups.map(\.path) == ["/a/b", "/a"])
        let own = try #require(accounts.groups.first)
        #expect((own.shortages, own.kills, own.groupKills) == (3, 2, 1))
        #expect((own.limit, own.peak) == (1_048_576, 1_048_000))
        #expect(!accounts.isCutOff)
    }

    @Test func `Groups of v1 are those of the memory controller, also below another root`() throws {
        let folder = try TemporaryFolder()
        let files = [
            "proc/7/cgroup": "9:cpu:/x\n8:memory:/docker/1\n0::/x\n",
            "proc/self/mountinfo":
                "31 24 0:27 /docker/1 /mem rw - cgroup cgroup rw,memory\n30 24 0:26 / /u rw - cgroup2 cgroup2 rw\n",
            "mem/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n", "mem/memory.failcnt": "17\n",
            "mem/memory.limit_in_bytes": "9223372036854771712\n", "mem/memory.max_usage_in_bytes": "4096\n",
        ]
        for (name, text) in files { try Self.write(text, "\(folder.path)/\(name)") }
        let accounts = try #require(MemoryAccounts(pid: 7, root: folder.path))
        #expect(accounts.version == 1)
        #expect(accounts.groups.map(\.path) == ["/"])
        let own = try #require(accounts.groups.first)
        #expect((own.shortages, own.kills, own.limit, own.peak) == (17, 4, nil, 4096))
        #expect(accounts.isCutOff)
    }

    @Test func `The pressure is that of the own group, if somebody waits`() throws {
        let folder = try TemporaryFolder()
        let pressure =
            "some avg10=12.50 avg60=2.00 avg300=0.10 total=9\nfull avg10=3.25 avg60=1.00 avg300=0.05 total=4\n"
        let files = [
            "proc/7/cgroup": "0::/a\n", "proc/self/mountinfo": "30 24 0:26 / /c rw - cgroup2 cgroup2 rw\n",
            "c/a/memory.events.local": "oom 0\n", "c/a/memory.pressure": pressure,
        ]
        for (name, text) in files { try Self.write(text, "\(folder.path)/\(name)") }
        let found = try #require(MemoryAccounts(pid: 7, root: folder.path)?.pressure)
        #expect(found.line.hasPrefix("memory pressure of control group /a: "))
        #expect(found.line.hasSuffix("some tasks waited 12.50 %, and all of them 3.25 %"))
        let nobody = "some avg10=0.00 avg60=2.00 avg300=0.10 total=9\n"
        for text in [nobody, "", "some", "some avg10=\n", "some avg10=x\nfull avg10=1.00\n"] {
            #expect(MemoryPressure(text, of: "it") == nil)
        }
    }

    @Test func `Where nothing is accounted there are no accounts`() throws {
        let folder = try TemporaryFolder()
        #expect(MemoryAccounts(pid: 7, root: folder.path) == nil)
        try Self.write("0::/../../x\n", "\(folder.path)/proc/7/cgroup")
        try Self.write("30 24 0:26 / /c rw - cgroup2 cgroup2 rw\n", "\(folder.path)/proc/self/mountinfo")
        #expect(MemoryAccounts(pid: 7, root: folder.path) == nil)
    }
}
