internal import CLinuxShims

/// Looks whether a process that is ready lives: by its watchdog, and by the program's probe.
@MainActor
final class LifeWatch {
    private let program: Program
    private let environment: [String: String]
    private let failed: @MainActor (DeathFacts.Order) -> Void
    /// How often the process must say that it lives; nil if it need not.
    private var interval: Duration?
    private let silence = DelayedCall()
    private let pauseEnd = DelayedCall()
    /// What asks whether it answers; nil while nobody does.
    private(set) var prober: Prober?
    private var state = State.idle

    private enum State { case idle, watching, paused, over }

    /// - Parameters:
    ///   - program: The program.
    ///   - environment: The environment of the supervisor, without what it was told alone.
    ///   - failed: Called when the process does not live, with why it is to be ended.
    init(
        _ program: Program,
        environment: [String: String],
        failed: @escaping @MainActor (DeathFacts.Order) -> Void
    ) {
        self.program = program
        self.environment = environment
        self.failed = failed
        interval = program.watchdog
    }

    /// Begins to look, or goes on after a pause.
    func begin() {
        guard state != .over else { return }
        state = .watching
        pauseEnd.cancel()
        noteLife()
        guard let probe = program.probe else { return }
        prober?.end()
        prober = Prober(probe, for: program, environment: environment) { [weak self] what in
            self?.fail(.probe(what), "by its probe: \(what)")
        }
    }

    /// Looks no more while the process is busy with itself.
    ///
    /// - Parameter limit: For how long at most; nil until it goes on.
    func pause(within limit: Duration? = nil) {
        guard state != .over else { return }
        state = .paused
        silence.cancel()
        pauseEnd.cancel()
        prober?.end()
        guard let limit else { return }
        pauseEnd.make("\(program.name) is to have reloaded", after: limit) { [weak self] in self?.goOn() }
    }

    /// Ends a pause.
    func goOn() {
        if state == .paused { begin() }
    }

    /// Looks no more.
    func end() {
        state = .over
        silence.cancel()
        pauseEnd.cancel()
        prober?.end()
    }

    /// Asks it no more: another one answers in its place.
    func endProbe() { prober?.end() }

    /// The process has said that it lives.
    func noteLife() {
        silence.cancel()
        guard let interval, interval > .zero, state == .watching else { return }
        silence.make("\(program.name) is to say that it lives", after: interval) { [weak self] in
            // SIGABRT as systemd: a program with Holdfast inside writes a report of it, and others a core dump.
            self?.fail(.watchdog(interval), "by its watchdog: it said nothing for \(interval.inPlainWords)")
        }
    }

    /// The process has said how often it will say that it lives.
    func setInterval(_ interval: Duration) {
        self.interval = interval
        noteLife()
    }

    private func fail(_ order: DeathFacts.Order, _ words: String) {
        Log.write("\(program.name): ended \(words)")
        failed(order)
    }

    /// Takes the end of a process, if it is that of a question.
    ///
    /// - Parameter event: What waitid(2) says; its end was not taken yet.
    /// - Returns: Whether it was taken.
    func takeEnd(_ event: HFChildEvent) -> Bool { prober?.takeEnd(event) ?? false }
}
