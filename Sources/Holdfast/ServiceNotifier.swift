internal import Glibc
internal import LinuxSystem
internal import RunLoops
internal import Synchronization

/// Tells the service manager above how the process is: sd_notify(3), to systemd or `holdfast run`.
///
/// `READY=1` when it serves, `WATCHDOG=1` as long as the main loop does, `RELOADING=1` before a restart in place, after which the next process
/// is ready again, and `STOPPING=1`.
@MainActor
final class ServiceNotifier {
    private let socket: ServiceManagerSocket?
    private var ping: HostRunLoop.Timer?
    private var isReady = false
    private var hasStoodBy = false
    private var keepsSomething = false
    /// By it the process hears of the one that takes over from it.
    let link = SuccessorLink()

    /// Finds the manager.
    ///
    /// - Parameter environment: The environment that the process began with.
    init(environment: [String: String]) {
        socket = ServiceManagerSocket(environment: environment)
    }

    /// The process serves from now on; told once.
    func noteReady(on loop: HostRunLoop) {
        guard !isReady else { return }
        isReady = true
        StandbyRole.anotherServes.store(false, ordering: .relaxed)
        // What it said while it stood by is over.
        let status = hasStoodBy ? "\nSTATUS=serving" : ""
        tell("READY=1\n\(StandbyRole.presence)=1\n\(keeping)" + status, openingLinkOn: loop)
        guard let watchdog = socket?.watchdog, ping == nil else { return }
        // Half of it, as sd_watchdog_enabled(3) recommends.
        let half = watchdog / 2
        let timer = HostRunLoop.Timer(
            ofHost: "tell the service manager that the loop lives",
            fireAt: .now,
            repeating: half
        ) {
            [weak self] _ in
            MainActor.assumeIsolated { self?.socket?.tell("WATCHDOG=1") }
        }
        ping = timer
        loop.add(timer, to: .common)
    }

    private func tell(_ message: String, openingLinkOn loop: HostRunLoop) {
        guard let socket else { return }
        guard let end = link.open(on: loop) else { return socket.tell(message) }
        // Another manager closes it (sd_notify(3), FDSTORE).
        socket.tell(message + "\n\(SuccessorLink.message)=1", descriptors: [end.rawValue])
    }

    private var keeping: String { "X_HOLDFAST_KEEPS=\(keepsSomething ? 1 : 0)" }

    /// Whether the process keeps something that it would hand over: the one after it waits for its end then.
    func noteKeeping(_ keepsSomething: Bool) {
        guard keepsSomething != self.keepsSomething else { return }
        self.keepsSomething = keepsSomething
        if isReady { socket?.tell(keeping) }
    }

    /// The process accepts no more connections.
    func noteRest() { socket?.tell("X_HOLDFAST_RESTS=1") }

    /// The process hands over what it keeps to the one that has taken over, and ends.
    func noteHandOver() { socket?.tell("STOPPING=1\n\(SuccessorLink.answer)=1") }

    /// The process has started, and waits to serve in the place of another.
    ///
    /// - Parameters:
    ///   - loop: The loop that waits.
    ///   - takes: Whether the program takes what the other one keeps.
    func noteStandby(on loop: HostRunLoop, takes: Bool) {
        hasStoodBy = true
        let message = "\(StandbyRole.message)=1\nSTATUS=standing by"
        if takes { tell(message, openingLinkOn: loop) } else { socket?.tell(message) }
    }

    /// The process restarts in place: the next one is ready later.
    func noteRestart() {
        guard isReady else { return }
        socket?.tell("RELOADING=1\nMONOTONIC_USEC=\(MonotonicClock.nanoseconds / 1000)")
    }

    /// The process is on its way to the end.
    func noteStop() {
        guard isReady else { return }
        socket?.tell("STOPPING=1")
    }

    /// Ends the pings, and the link.
    func close() {
        ping?.invalidate()
        link.close()
    }
}
