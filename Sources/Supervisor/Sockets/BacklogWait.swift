internal import LinuxSystem
internal import RunLoops
internal import SystemPackage

/// Clients of a program that does not run: they wait in the backlog of its sockets, and after a while they are turned away.
@MainActor
final class BacklogWait {
    private let program: Program
    private let sockets: [ListeningSockets.Socket]
    private var timer: HostRunLoop.Timer?
    private var sources: [HostRunLoop.PortSource] = []

    init(_ program: Program, _ sockets: [ListeningSockets.Socket]) {
        self.program = program
        // Others may serve what is not its own.
        self.sockets = sockets.filter { $0.owner == program.name }
    }

    /// Nobody accepts connections from now on.
    func begin() {
        guard !sockets.isEmpty, timer == nil else { return }
        let timer = HostRunLoop.Timer(label: "clients of \(program.name) have waited", after: program.backlogWait) {
            [self] _ in
            turnAway()
        }
        self.timer = timer
        HostRunLoop.main.add(timer, to: .common)
    }

    /// Somebody does again.
    func end() {
        timer?.invalidate()
        timer = nil
        for source in sources { source.invalidate() }
        sources = []
    }

    private func turnAway() {
        let time = program.backlogWait.inPlainWords
        Log.write("\(program.name): clients have waited \(time); they are turned away until it runs")
        for socket in sockets {
            let source = HostRunLoop.PortSource(
                label: "\(socket.name) is not served",
                descriptor: FileDescriptor(rawValue: socket.descriptor)
            ) { source, _ in
                if !ListeningSockets.turnAway(from: socket) { source.invalidate() }
            }
            sources.append(source)
            _ = try? HostRunLoop.main.add(source, to: .common)
        }
    }
}
