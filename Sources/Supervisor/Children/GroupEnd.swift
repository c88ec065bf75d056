internal import Glibc
internal import LinuxSystem
internal import RunLoops

/// Ends what is left of a process group: SIGTERM, and SIGKILL when that takes too long.
@MainActor
final class GroupEnd {
    private let child: Child
    private let done: @MainActor () -> Void
    private var timer: HostRunLoop.Timer?
    private var isOver = false

    /// Begins to end it.
    ///
    /// - Parameters:
    ///   - child: Whose group it is.
    ///   - name: What the program is called.
    ///   - signal: What the group gets first.
    ///   - time: How long it may take.
    ///   - done: Called once, when nothing of it is left, or something that cannot be ended.
    init(of child: Child, _ name: String, by signal: CInt, within time: Duration, done: @escaping @MainActor () -> Void)
    {
        self.child = child
        self.done = done
        child.signalGroup(signal)
        child.signalGroup(SIGCONT)
        let kills = MonotonicClock.nanoseconds + time.nanosecondCount
        let (gives, overflows) = kills.addingReportingOverflow(2_000_000_000)
        // Again and again: not everything in the group is a child of ours, whose end the kernel tells.
        let timer = HostRunLoop.Timer(
            label: "\(name) leaves processes",
            after: .milliseconds(100),
            repeating: .milliseconds(100)
        ) { [self] _ in
            let now = MonotonicClock.nanoseconds
            if now >= kills { child.signalGroup(SIGKILL) }
            look()
            guard !isOver, now >= gives, !overflows else { return }
            Log.write(
                "\(name): something of it cannot be ended (ps -o pid,stat,cmd -g \(child.pid)); it goes on without"
            )
            end()
        }
        self.timer = timer
        HostRunLoop.main.add(timer, to: .common)
    }

    /// Looks whether everything has ended.
    func look() {
        if !isOver, !child.hasGroup { end() }
    }

    private func end() {
        isOver = true
        timer?.invalidate()
        timer = nil
        done()
    }
}
