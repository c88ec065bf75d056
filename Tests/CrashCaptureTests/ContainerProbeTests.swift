import Foundation
import TestSupport
import Testing

@testable import CrashCapture

/// Containers are recognised by the marks that their runtimes leave.
@Suite(.timeLimit(.minutes(10))) struct ContainerProbeTests {
    private static let id = String(repeating: "0123456789abcdef", count: 4)

    private func probe(_ files: [String: String], environment: [String: String] = [:]) throws -> ContainerDescription {
        let folder = try TemporaryFolder(files: files)
        return ContainerProbe(root: folder.path) { environment[$0] }.probe()
    }

    @Test func `Without a container there is nothing to tell`() throws {
        #expect(try probe([:]) == ContainerDescription())
        #expect(try probe(["/proc/self/cgroup": "0::/\n"]) == ContainerDescription())
    }

    @Test func `A service of systemd is told by its control group`() throws {
        let container = try probe([
            "/proc/self/cgroup": "0::/system.slice/mail.service\n",
            "/sys/fs/cgroup/system.slice/mail.service/memory.max": "max\n",
            "/sys/fs/cgroup/system.slice/memory.max": "1073741824\n",
            "/sys/fs/cgroup/system.slice/mail.service/cpu.max": "150000 100000\n",
            "/sys/fs/cgroup/system.slice/cpu.max": "max 100000\n",
        ])
        #expect(
            container
                == ContainerDescription(
                    controlGroup: "/system.slice/mail.service",
                    memoryLimit: 1 << 30,
                    processorLimit: 1500
                )
        )
    }

    @Test(arguments: [
        ("12:memory:/docker/ID\n1:name=systemd:/docker/ID\n", "docker"),
        ("0::/system.slice/docker-ID.scope\n", "docker"),
        ("0::/machine.slice/libpod-ID.scope\n", "podman"),
        ("0::/kubepods.slice/kubepods-burstable.slice/kubepods-pod1.slice/cri-containerd-ID.scope\n", "kubernetes"),
        ("0::/system.slice/crio-ID.scope\n", "cri-o"),
    ])
    func `Control groups name their container`(groups: String, runtime: String) throws {
        let container = try probe(["/proc/self/cgroup": groups.replacingOccurrences(of: "ID", with: Self.id)])
        #expect(container.runtime == runtime)
        #expect(container.id == Self.id)
    }

    @Test func `In a namespace of control groups other marks tell it`() throws {
        let docker = try probe([
            "/proc/self/cgroup": "0::/\n", "/.dockerenv": "",
            "/proc/self/mountinfo":
                "1 2 3:4 /var/lib/docker/containers/\(Self.id)/hostname /etc/hostname rw - ext4 /dev/x rw\n",
            "/sys/fs/cgroup/memory.max": "536870912\n",
        ])
        #expect(docker == ContainerDescription(runtime: "docker", id: Self.id, memoryLimit: 512 << 20))
        #expect(try probe(["/run/.containerenv": "", "/.dockerenv": ""]).runtime == "podman")
        #expect(try probe(["/run/systemd/container": "systemd-nspawn\n"]).runtime == "systemd-nspawn")
        #expect(try probe([:], environment: ["container": "lxc"]).runtime == "lxc")
        #expect(try probe(["/proc/1/environ": "PATH=/bin\0container=oci\0"]).runtime == "oci")
        #expect(try probe([:], environment: ["KUBERNETES_SERVICE_HOST": "10.0.0.1"]).runtime == "kubernetes")
        #expect(try probe(["/proc/self/cgroup": "0::/lxc.payload.web/app\n"]).runtime == "lxc")
    }

    @Test func `Limits of version 1 are read where their controllers are`() throws {
        let container = try probe([
            "/proc/self/cgroup": "4:cpu,cpuacct:/a\n3:memory:/a/b\n",
            "/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": "9223372036854771712\n",
            "/sys/fs/cgroup/memory/a/memory.limit_in_bytes": "268435456\n",
            "/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us": "50000\n",
            "/sys/fs/cgroup/cpu/a/cpu.cfs_period_us": "100000\n",
        ])
        #expect(container == ContainerDescription(controlGroup: "/a/b", memoryLimit: 256 << 20, processorLimit: 500))
    }
}
