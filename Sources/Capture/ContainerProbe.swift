internal import CCrashCapture
internal import Glibc
internal import LinuxSystem

/// What is known of the container that a process runs in, and of its control group.
struct ContainerDescription: Equatable {
    /// The program that made the container; "" if none was recognised.
    var runtime = ""
    /// Its identifier, "" for none.
    var id = ""
    /// The control group as in `/proc/self/cgroup`; "" for the topmost one.
    var controlGroup = ""
    /// Bytes, 0 for no limit.
    var memoryLimit: UInt64 = 0
    /// Thousandths of a processor, 0 for no limit.
    var processorLimit: UInt32 = 0
}

/// Recognises containers by the marks that their runtimes leave.
///
/// systemd's list (`detect_container` in src/basic/virt.c: `/run/systemd/container`, the variable `container` of process 1, `/.dockerenv`,
/// `/run/.containerenv`), and the names of control groups that Docker, Podman, CRI-O, containerd, Kubernetes and LXC choose.
struct ContainerProbe {
    /// A prefix of all paths: for tests.
    var root = ""
    /// The variables of this process.
    var environment: (String) -> String? = { name in
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
    }

    func probe() -> ContainerDescription {
        let groups = ControlGroups(read("/proc/self/cgroup") ?? "")
        var container = ContainerDescription()
        container.runtime = runtime(groups)
        container.id = identifier(groups)
        container.controlGroup = groups.path == "/" ? "" : groups.path
        container.memoryLimit = memoryLimit(groups)
        container.processorLimit = processorLimit(groups)
        return container
    }

    // MARK: Recognising

    /// Parts of control groups' names, and the runtimes that choose them.
    private static let marks = [
        ("kubepods", "kubernetes"), ("libpod", "podman"), ("docker", "docker"), ("crio-", "cri-o"),
        ("cri-containerd", "containerd"), ("lxc.payload", "lxc"), ("/lxc/", "lxc"),
        ("/machine.slice/systemd-nspawn", "systemd-nspawn"),
    ]

    private func runtime(_ groups: ControlGroups) -> String {
        if environment("KUBERNETES_SERVICE_HOST") != nil { return "kubernetes" }
        for (mark, name) in Self.marks where groups.paths.contains(where: { $0.contains(mark) }) { return name }
        if exists("/run/.containerenv") { return "podman" }
        if exists("/.dockerenv") { return "docker" }
        let said = [read("/run/systemd/container"), environment("container"), variableOfFirstProcess("container")]
        return said.compactMap { $0.map(Self.firstWord) }.first { !$0.isEmpty } ?? ""
    }

    /// A variable of process 1, which only its own user may read (proc(5), environ).
    private func variableOfFirstProcess(_ name: String) -> String? {
        let entries = read("/proc/1/environ")?.split(separator: "\0") ?? []
        return entries.first { $0.hasPrefix("\(name)=") }.map { String($0.dropFirst(name.count + 1)) }
    }

    private func identifier(_ groups: ControlGroups) -> String {
        for path in groups.paths {
            if let id = Self.longIdentifier(in: path) { return id }
        }
        if let path = groups.paths.first(where: { $0.hasPrefix("/lxc/") || $0.contains("lxc.payload.") }) {
            return String(path.split(separator: "/").last?.split(separator: ".").last ?? "")
        }
        // In a control group namespace the path is "/". Then the mounts over /etc/hostname and the like tell.
        let mounts = read("/proc/self/mountinfo") ?? ""
        for line in mounts.split(separator: "\n") where line.contains("/containers/") || line.contains("-containers/") {
            if let id = Self.longIdentifier(in: line) { return id }
        }
        return ""
    }

    /// The first run of exactly 64 hexadecimal digits.
    static func longIdentifier(in text: some StringProtocol) -> String? {
        text.split { !$0.isHexDigit }.first { $0.utf8.count == 64 }.map { String($0) }
    }

    private static func firstWord(_ text: String) -> String {
        String(text.split(whereSeparator: \.isWhitespace).first ?? "")
    }

    // MARK: Limits

    private func memoryLimit(_ groups: ControlGroups) -> UInt64 {
        var lowest: UInt64 = 0
        for folder in groups.folders(ofController: "memory") {
            for file in ["memory.max", "memory.limit_in_bytes"] {
                // "max" is no limit. Nor is, in version 1, a number near the greatest.
                guard let limit = read("\(folder)/\(file)").flatMap({ UInt64(Self.firstWord($0)) }), limit < 1 << 60
                else { continue }
                lowest = lowest == 0 ? limit : min(lowest, limit)
            }
        }
        return lowest
    }

    private func processorLimit(_ groups: ControlGroups) -> UInt32 {
        var lowest: UInt32 = 0
        for folder in groups.folders(ofController: "cpu") {
            let words = read("\(folder)/cpu.max")?.split(whereSeparator: \.isWhitespace).map(String.init) ?? []
            let quota = words.first ?? read("\(folder)/cpu.cfs_quota_us").map(Self.firstWord)
            let period = words.count > 1 ? words[1] : read("\(folder)/cpu.cfs_period_us").map(Self.firstWord)
            guard let quota = quota.flatMap({ Double($0) }), let period = period.flatMap({ Double($0) }),
                quota > 0, period > 0, quota / period < 1_000_000
            else { continue }
            let limit = max(1, UInt32(quota / period * 1000))
            lowest = lowest == 0 ? limit : min(lowest, limit)
        }
        return lowest
    }

    // MARK: Files

    private func read(_ path: String) -> String? {
        ProcessImage.file(root + path).map { String(decoding: $0.prefix(1 << 20), as: UTF8.self) }
    }

    private func exists(_ path: String) -> Bool {
        unsafe access(root + path, F_OK) == 0
    }
}

extension CrashCapture {
    /// Puts the control group of this process into records of faults from now on; the rest comes with `describeContainer()`.
    package static func describeControlGroup() {
        var container = ContainerDescription()
        container.controlGroup = controlGroup
        describe(container)
    }

    /// Looks for the container and the control group of this process, for records of faults from now on.
    ///
    /// Reads some files: call it once, where nobody waits.
    package static func describeContainer() {
        describe(ContainerProbe().probe())
    }

    private static func describe(_ container: ContainerDescription) {
        unsafe container.runtime.withCString { runtime in
            unsafe container.id.withCString { id in
                unsafe container.controlGroup.withCString { group in
                    var description = unsafe HFContainer(
                        runtime: runtime,
                        identifier: id,
                        control_group: group,
                        memory_limit: container.memoryLimit,
                        processor_limit: container.processorLimit
                    )
                    unsafe hf_context_describe_container(&description)
                }
            }
        }
    }
}
