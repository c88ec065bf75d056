/// A program that is kept running: what it is started with, and what follows its end.
package struct Program: Sendable {
    /// When it is started again.
    package enum Restarts: String, Sendable, CaseIterable {
        /// Its end is the end.
        case never
        /// Unless it ended with success.
        case onFailure = "on-failure"
        /// Whatever its end was, until it is told to stop.
        case always
    }

    /// When it counts as ready.
    package enum Readiness: String, Sendable, CaseIterable {
        /// When it has begun.
        case exec
        /// When it has said so: `READY=1` of sd_notify(3).
        case notify
    }

    /// What reports, the control socket and other programs call it.
    package var name: String
    /// The program, looked for in `PATH` if it has no slash, and its arguments.
    package var command: [String]
    /// Variables that it gets beside those of the supervisor.
    package var environment: [String: String] = [:]
    /// Where it works; nil for where the supervisor does.
    package var directory: String?
    /// What it listens at: held by the supervisor, so that it outlives the program.
    package var listens: [ListenAddress] = []
    /// The mode of the files of its Unix sockets.
    package var socketMode: UInt32 = 0o600
    /// When it is started again.
    package var restarts = Restarts.never
    /// How long a restart waits.
    package var backOff = BackOffSchedule()
    /// How many early ends one after the other end it all; nil for never.
    package var givesUpAfter: Int?
    /// When it counts as ready.
    package var readiness = Readiness.exec
    /// How long it may take to become ready.
    package var startTimeout = Duration.seconds(90)
    /// How long it may take to end when it is told to.
    package var stopTimeout = Duration.seconds(10)
    /// What tells it to end.
    package var stopSignal: CInt = 15
    /// What tells it to read its configuration again; nil if that is a restart.
    package var reloadSignal: CInt?
    /// How often it must say `WATCHDOG=1`; nil if nobody looks.
    package var watchdog: Duration?
    /// What is asked again and again whether it answers; nil for nothing.
    package var probe: Probe?
    /// The ends that are successes, beside exit status 0.
    package var successes: Set<ProcessEnd> = []
    /// Whether a process stands by, which serves when the one before it ends: for programs with Holdfast inside.
    package var hasStandby = false
    /// How long clients may wait for a program that does not run before they are turned away.
    package var backlogWait = Duration.seconds(30)

    /// Makes a program with the defaults.
    ///
    /// - Parameters:
    ///   - name: What it is called.
    ///   - command: The program and its arguments; not empty.
    package init(name: String, command: [String]) {
        self.name = name
        self.command = command
    }

    /// Reads a mode: three or four octal digits, such as `0660`.
    package static func mode(_ text: String) -> UInt32? {
        guard (3...4).contains(text.utf8.count), let mode = UInt32(text, radix: 8), mode <= 0o777 else { return nil }
        return mode
    }

    /// Whether an end is a success.
    func isSuccess(_ status: ProcessEnd) -> Bool { status == .exited(0) || successes.contains(status) }

    /// The same, of one that was seen: one that had to be ended because it hung was none, whatever its status.
    func isSuccess(_ facts: DeathFacts) -> Bool { isSuccess(facts.status) && !facts.hung }

    /// Whether it is started again after an end that nobody asked for.
    func isStarted(after facts: DeathFacts) -> Bool {
        switch restarts {
        case .never: false
        case .onFailure: !isSuccess(facts)
        case .always: true
        }
    }
}

/// How a process has ended.
package enum ProcessEnd: Sendable, Hashable {
    /// By itself, with an exit status.
    case exited(CInt)
    /// By a signal.
    case signalled(CInt)

    /// What a shell would make of it: the status, or 128 and the signal.
    package var shellStatus: CInt {
        switch self {
        case .exited(let status): status
        case .signalled(let signal): 128 + signal
        }
    }
}

extension ProcessEnd: CustomStringConvertible {
    /// `status 3`, or `signal 9 (SIGKILL)`.
    package var description: String {
        switch self {
        case .exited(let status): "status \(status)"
        case .signalled(let signal): "signal \(signal)" + (SignalName.of(signal).map { " (\($0))" } ?? "")
        }
    }
}
