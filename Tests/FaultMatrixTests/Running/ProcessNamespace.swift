import TestSupport

/// Runs a program as process 1: in a process namespace with a /proc of its own, as a container has it.
enum ProcessNamespace {
    /// What goes before the program (unshare(1)), which ends with it, whatever happens.
    static let command = ["/usr/bin/unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]

    /// Whether this user may make one: pid_namespaces(7).
    static let isAvailable: Bool = {
        guard let process = try? ChildProcess(command[0], command.dropFirst() + ["/bin/true"]) else { return false }
        return (try? process.wait()) == .exited(0)
    }()
}
