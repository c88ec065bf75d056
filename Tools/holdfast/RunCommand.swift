internal import CommandOptions
internal import Glibc
internal import LinuxSystem
internal import ProcessSupervisor
internal import SystemPackage

/// `holdfast run`.
@MainActor
enum RunCommand {
    static let usage = "holdfast run [options] -- PROGRAM [ARGUMENTS]"

    /// What the options say.
    private final class Wish {
        var program = Program(name: "", command: [""])
        var file: String?
        var name: String?
        var store: String?
        var control: String?
        var terminationLog: String?
        var probeInterval: Duration?
        var probeTimeout: Duration?
        var probeFailures: Int?
    }

    static func run(_ arguments: ArraySlice<String>) throws(UsageError) -> CInt {
        let wish = Wish()
        let options = options(of: wish)
        if arguments.first == "--help" || arguments.first == "-h" {
            print("Usage: \(usage)\n\nRuns a program, and starts it again when it ends.\n\n\(options.help)")
            return 0
        }
        let command = try options.read(arguments)
        let environment = ByteText.environment()
        if let file = wish.file {
            guard command.isEmpty else {
                throw UsageError(text: "--file says what is run; nothing may stand behind it")
            }
            let others = Set(options.given.names).subtracting(["--file", "--store", "--control", "--termination-log"])
                .sorted()
            guard others.isEmpty else {
                throw UsageError(
                    text: "\(others.joined(separator: ", ")) cannot go with --file, whose keys say the same"
                )
            }
            return try run(file, wish, environment)
        }
        guard !command.isEmpty else { throw UsageError(text: "no program is given: \(usage)") }
        if let time = wish.probeInterval { wish.program.probe?.interval = time }
        if let time = wish.probeTimeout { wish.program.probe?.timeout = time }
        if let count = wish.probeFailures { wish.program.probe?.failures = count }
        wish.program.command = Array(command)
        wish.program.name =
            wish.name
            ?? wish.program.command[0].split(separator: "/").last.map { String($0.map { $0 == ":" ? "_" : $0 }) }
            ?? "program"
        return run(Supervisor.Plan(programs: [wish.program], environment: environment), wish)
    }

    private static let longestFile = 1 << 20

    private static func run(_ file: String, _ wish: Wish, _ environment: [String: String]) throws(UsageError) -> CInt {
        let text: String
        do {
            let opened = try OwnedDescriptor(reading: FilePath(file), followingLinks: true)
            let bytes = try opened.readAll(limit: Self.longestFile + 1)
            guard bytes.count <= Self.longestFile else { throw UsageError(text: "\(file): longer than a megabyte") }
            guard !bytes.contains(0) else { throw UsageError(text: "\(file): has a byte 0, so it is no text") }
            // Windows' ends of lines, and its mark before the first.
            let mark: [UInt8] = [0xef, 0xbb, 0xbf]
            text = String(
                decoding: bytes.dropFirst(bytes.starts(with: mark) ? mark.count : 0).filter { $0 != 13 },
                as: UTF8.self
            )
        } catch let error as UsageError {
            throw error
        } catch {
            throw UsageError(text: "\(file): \(error)")
        }
        do {
            let units = try UnitFile(text)
            var plan = Supervisor.Plan(programs: units.programs, environment: environment)
            plan.strategy = units.strategy
            return run(plan, wish)
        } catch {
            throw UsageError(text: "\(file): \(error)")
        }
    }

    private static func run(_ plan: Supervisor.Plan, _ wish: Wish) -> CInt {
        var plan = plan
        let environment = plan.environment
        plan.store = (wish.store.map { FilePath($0) } ?? StoreLocation.path(environment: environment)).map(\.absolute)
        plan.control = wish.control.map { FilePath($0).absolute }
        if let path = wish.terminationLog { plan.terminationLog = path }
        do {
            return try Supervisor(plan).run()
        } catch {
            complain("\(error)")
            return ExitCode.unavailable
        }
    }

    private static func options(of wish: Wish) -> Options {
        var options = Options()
        options.add("--file", "FILE", "several programs, in the syntax of systemd's units, instead of one") {
            wish.file = $0
        }
        options.add("--store", "DIR", "where reports of deaths go, as for crashreport") { wish.store = $0 }
        options.add("--name", "NAME", "what reports and 'holdfast status' call the program") {
            name throws(UsageError) in
            guard !name.isEmpty, !name.contains("\n"), !name.contains(":") else {
                throw UsageError(text: "--name takes a line of text without a colon")
            }
            wish.name = name
        }
        options.add(
            "--restart",
            "WHEN",
            "never (the default), on-failure or always",
            as: Program.Restarts.init(rawValue:),
            "never, on-failure or always"
        ) { wish.program.restarts = $0 }
        options.add(
            "--listen",
            "ADDRESS",
            "tcp:HOST:PORT, tcp:PORT or unix:PATH: a socket that is held here, and handed\ndown by LISTEN_FDS; may be given again"
        ) { text throws(UsageError) in
            do {
                wish.program.listens.append(try ListenAddress(text))
            } catch {
                throw UsageError(text: "--listen: \(error)")
            }
        }
        options.add(
            "--socket-mode",
            "MODE",
            "the mode of the file of a unix: socket, 0600",
            as: Program.mode(_:),
            "a mode such as 0660"
        ) { wish.program.socketMode = $0 }
        addWaits(&options, wish)
        addEnds(&options, wish)
        options.add(
            "--ready",
            "HOW",
            "exec (the default): ready when it has begun; notify: when it says READY=1",
            as: Program.Readiness.init(rawValue:),
            "exec or notify"
        ) { wish.program.readiness = $0 }
        options.add("--standby", nil, "a process stands by to serve when the one before it ends; needs Holdfast inside")
        { _ in
            wish.program.hasStandby = true
        }
        time("--start-timeout", "how long it may take to be ready, 90s", &options) { wish.program.startTimeout = $0 }
        addProbe(&options, wish)
        time("--watchdog", "how often it must say WATCHDOG=1", &options) { wish.program.watchdog = $0 }
        options.add("--directory", "DIR", "where it works") { wish.program.directory = $0 }
        options.add("--env", "NAME=VALUE", "a variable for it; may be given again") { text throws(UsageError) in
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty else {
                throw UsageError(text: "--env takes NAME=VALUE, not '\(text)'")
            }
            wish.program.environment[String(parts[0])] = String(parts[1])
        }
        options.add("--control", "PATH", "the socket for 'holdfast status' and others; in the store by default") {
            wish.control = $0
        }
        options.add("--termination-log", "FILE", "gets the newest diagnosis, if it is there; /dev/termination-log") {
            wish.terminationLog = $0
        }
        return options
    }

    private static func count(_ text: String) -> Int? {
        Int(text).flatMap { (1...1_000_000).contains($0) ? $0 : nil }
    }

    private static func addWaits(_ options: inout Options, _ wish: Wish) {
        time("--backoff", "the first wait after an early end, 100ms; it doubles", &options) {
            wish.program.backOff.base = $0
        }
        time("--backoff-cap", "the longest wait, 60s", &options) { wish.program.backOff.cap = $0 }
        time("--healthy-after", "an end after this time is not early, 10s", &options) {
            wish.program.backOff.healthyAfter = $0
        }
        options.add(
            "--give-up-after",
            "N",
            "ends with 125 after so many early ends; without it, never",
            as: count(_:),
            "a number from 1"
        ) { wish.program.givesUpAfter = $0 }
        time("--backlog-wait", "how long clients may wait while it does not run, 30s", &options) {
            wish.program.backlogWait = $0
        }
    }

    private static func addProbe(_ options: inout Options, _ wish: Wish) {
        options.add(
            "--probe",
            "QUESTION",
            "tcp:HOST:PORT, http://HOST:PORT/PATH or exec:COMMAND: what is asked again and again"
        ) { text throws(UsageError) in
            do {
                wish.program.probe = try Probe(text)
            } catch {
                throw UsageError(text: "--probe: \(error)")
            }
        }
        time("--probe-interval", "how long after an answer it is asked again, 10s", &options) {
            wish.probeInterval = $0
        }
        time("--probe-timeout", "how long an answer may take, 5s", &options) { wish.probeTimeout = $0 }
        options.add(
            "--probe-failures",
            "N",
            "how many questions without a good answer end the process, 3",
            as: count(_:),
            "a number from 1"
        ) { wish.probeFailures = $0 }
    }

    private static func addEnds(_ options: inout Options, _ wish: Wish) {
        time("--stop-timeout", "how long it may take to end before it is killed, 10s", &options) {
            wish.program.stopTimeout = $0
        }
        options.add(
            "--stop-signal",
            "SIGNAL",
            "what tells it to end, TERM",
            as: SignalName.number(of:),
            "a signal such as TERM, SIGHUP or 10"
        ) { wish.program.stopSignal = $0 }
        options.add(
            "--reload-signal",
            "SIGNAL",
            "what 'holdfast reload' sends; without it that is a restart",
            as: SignalName.takenNumber(of:),
            "a signal that a program can take, such as HUP"
        ) { wish.program.reloadSignal = $0 }
        options.add(
            "--success-codes",
            "LIST",
            "ends that are successes beside 0: statuses and signals, such as 2,5-7,SIGTERM",
            as: SuccessList.read(_:),
            "statuses and signals, such as 2,5-7,SIGTERM"
        ) { wish.program.successes = $0 }
    }

    private static func time(
        _ name: String,
        _ help: String,
        _ options: inout Options,
        _ take: @escaping (Duration) -> Void
    ) {
        options.add(name, "TIME", help, as: Duration.init(readingTime:), "a time such as 500ms, 10s or 2min", take)
    }
}
