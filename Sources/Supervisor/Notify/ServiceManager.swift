internal import LinuxSystem
internal import RunLoops

/// The manager above us, such as systemd, if there is one: it is told how we are.
@MainActor
final class ServiceManager {
    private let socket: ServiceManagerSocket?
    private var ping: HostRunLoop.Timer?

    /// Finds it.
    ///
    /// - Parameter environment: The environment that we began with.
    init(environment: [String: String]) {
        socket = ServiceManagerSocket(environment: environment)
        guard let watchdog = socket?.watchdog else { return }
        // Half of it, as sd_watchdog_enabled(3) recommends.
        let half = watchdog / 2
        let timer = HostRunLoop.Timer(label: "tell the service manager that we live", after: half, repeating: half) {
            [self] _ in
            tell("WATCHDOG=1")
        }
        ping = timer
        HostRunLoop.main.add(timer, to: .common)
    }

    /// Tells it something; lost if there is none.
    ///
    /// - Parameters:
    ///   - message: Assignments, a line each.
    ///   - descriptors: What it is to keep for us.
    func tell(_ message: String, descriptors: [CInt] = []) { socket?.tell(message, descriptors: descriptors) }

    /// Has it keep sockets, so that they outlive us, too: FDSTORE of sd_pid_notify_with_fds(3).
    func store(_ sockets: [ListeningSockets.Socket]) {
        for socket in sockets { tell("FDSTORE=1\nFDNAME=\(socket.name)", descriptors: [socket.descriptor]) }
    }
}
