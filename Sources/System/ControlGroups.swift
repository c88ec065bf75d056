/// The control groups of a process: one for each controller in version 1, one for all in version 2 (cgroups(7)).
package struct ControlGroups {
    private var byController: [String: String] = [:]
    private var unified: String?
    /// All paths, in the order of the file.
    package private(set) var paths: [String] = []

    /// Reads the text of `/proc/PID/cgroup`.
    package init(_ text: String) {
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3 else { continue }
            let path = String(parts[2])
            paths.append(path)
            if parts[1].isEmpty { unified = path }
            for controller in parts[1].split(separator: ",") { byController[String(controller)] = path }
        }
    }

    /// The most specific path.
    package var path: String {
        if let unified, unified != "/" { return unified }
        return byController["memory"] ?? byController["name=systemd"] ?? unified ?? ""
    }

    /// Where the limits of a controller are, from the group of the process upwards: each of them holds.
    package func folders(ofController name: String) -> [String] {
        let mount: String
        let path: String
        if let group = byController[name] {
            (mount, path) = ("/sys/fs/cgroup/\(name)", group)
        } else if let unified {
            (mount, path) = ("/sys/fs/cgroup", unified)
        } else {
            return []
        }
        var parts = path.split(separator: "/")
        // A path that leads out of the namespace cannot be seen from here.
        guard parts.count <= 64, !parts.contains("..") else { return [mount] }
        var folders: [String] = []
        while !parts.isEmpty {
            folders.append(mount + "/" + parts.joined(separator: "/"))
            parts.removeLast()
        }
        return folders + [mount]
    }
}
