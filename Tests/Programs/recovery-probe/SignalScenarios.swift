import Glibc
import Holdfast

/// Asynchronous signals as events.
@MainActor
enum SignalScenarios {
    static var first: CInt { __libc_current_sigrtmin() + 1 }
    static var last: CInt { __libc_current_sigrtmax() }

    /// What a stream of numbered signals looks like from where it ends.
    struct Account {
        var delivered = 0
        var lost = 0
        var next: Int64 = 0
        var isInOrder = true

        mutating func add(_ event: SignalEvent, _ value: Int64) {
            lost += Int(event.lost)
            guard !event.isCountOnly else {
                next += Int64(event.lost)
                return
            }
            delivered += 1
            // Those that are missing are those that were counted.
            if value != next + Int64(event.lost) { isInOrder = false }
            next = value + 1
        }

    }

    /// Sends numbered signals to another process: `PID COUNT`.
    ///
    /// What the kernel refuses, because too many are pending (RLIMIT_SIGPENDING), is sent again: the sender knows of it.
    static func send(_ arguments: [String]) throws {
        guard arguments.count == 2, let pid = pid_t(arguments[0]), let count = Int(arguments[1]) else { exit(64) }
        var refused = 0
        for value in 0..<count {
            while sigqueue(pid, first, sigval(sival_ptr: UnsafeMutableRawPointer(bitPattern: value))) != 0 {
                guard errno == EAGAIN else { exit(1) }
                refused += 1
                sched_yield()
            }
            kill(pid, SIGUSR1)
        }
        while sigqueue(pid, last, sigval(sival_ptr: nil)) != 0 { sched_yield() }
        Probe.say("refused \(refused)")
    }

    /// Leaves room for the signals of other tests: what waits is counted per user (RLIMIT_SIGPENDING in getrlimit(2)).
    private static func limitPending() {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(__RLIMIT_SIGPENDING.rawValue), &limit)
        limit.rlim_cur = min(limit.rlim_cur, 10_000)
        limit.rlim_max = limit.rlim_cur
        let error = setrlimit(__rlimit_resource_t(__RLIMIT_SIGPENDING.rawValue), &limit)
        precondition(error == 0, "no limit for a test")
    }

    /// Counts what another process sends, until all of it is accounted for: `COUNT`.
    static func storm(_ host: EventHost, _ arguments: [String]) throws {
        limitPending()
        let count = arguments.first.flatMap { Int($0) } ?? 0
        var numbered = Account()
        var standard = 0
        var isOver = false
        func stopWhenDone() {
            if isOver, numbered.delivered + numbered.lost >= count { host.stop() }
        }
        try host.onSignal(first) { event in
            numbered.add(event, event.value)
            stopWhenDone()
        }
        try host.onSignal(SIGUSR1) { standard += ($0.isCountOnly ? 0 : 1) + Int($0.lost) }
        try host.onSignal(last) { _ in
            isOver = true
            stopWhenDone()
        }
        Probe.say("ready")
        host.run()
        host.close()
        Probe.say("accounted \(numbered.delivered + numbered.lost) in order \(numbered.isInOrder)")
        Probe.say("standard \(standard)")
    }

    /// Two threads of this process send numbered signals to it.
    static func threads(_ host: EventHost) throws {
        limitPending()
        var accounts = [Account(), Account()]
        // Real-time signals of one number are queued in the order of their sending, whoever sends them: what is lost is not
        // any one thread's.
        var lost = 0
        try host.onSignal(first) { event in
            lost += Int(event.lost)
            defer { if accounts[0].delivered + accounts[1].delivered + lost >= 100_000 { host.stop() } }
            guard !event.isCountOnly else { return }
            let thread = Int(event.value >> 32)
            let value = event.value & 0xffff_ffff
            accounts[thread].delivered += 1
            if value < accounts[thread].next { accounts[thread].isInOrder = false }
            accounts[thread].next = value + 1
        }
        for number in 0..<2 { startSender(number) }
        host.run()
        host.close()
        let delivered = accounts[0].delivered + accounts[1].delivered
        Probe.say("accounted \(delivered + lost) in order \(accounts.allSatisfy(\.isInOrder))")
    }

    private nonisolated static func startSender(_ number: Int) {
        var set = sigset_t()
        sigfillset(&set)
        var before = sigset_t()
        // The sender does not take what it sends.
        pthread_sigmask(SIG_SETMASK, &set, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        var thread = pthread_t()
        let argument = UnsafeMutableRawPointer(bitPattern: number + 1)
        let error = pthread_create(
            &thread,
            nil,
            { argument in
                let number = Int(bitPattern: argument) - 1
                let signal = __libc_current_sigrtmin() + 1
                for value in 0..<50_000 {
                    let pointer = UnsafeMutableRawPointer(bitPattern: number << 32 | value)
                    while sigqueue(getpid(), signal, sigval(sival_ptr: pointer)) != 0 { sched_yield() }
                }
                return nil
            },
            argument
        )
        precondition(error == 0, "no thread for a test")
    }

    // MARK: What comes with a signal

    /// Functions with variable arguments, which Swift cannot call by their declarations.
    private typealias OpenQueue = @convention(c) (UnsafePointer<CChar>, CInt, mode_t, UnsafeRawPointer?) -> CInt
    private typealias Notify = @convention(c) (CInt, UnsafePointer<sigevent>) -> CInt
    private typealias Send = @convention(c) (CInt, UnsafePointer<CChar>, Int, UInt32) -> CInt

    private static func function<Function>(_ name: String, as type: Function.Type) -> Function {
        guard let symbol = dlsym(nil, name) else { preconditionFailure("no \(name)") }
        return unsafeBitCast(symbol, to: type)
    }

    private static func event(_ signal: CInt, _ value: Int) -> sigevent {
        var event = sigevent()
        event.sigev_notify = CInt(SIGEV_SIGNAL)
        event.sigev_signo = signal
        event.sigev_value = sigval(sival_ptr: UnsafeMutableRawPointer(bitPattern: value))
        return event
    }

    /// One signal of each origin, and what its event says.
    static func fields(_ host: EventHost) throws {
        func say(_ what: String, _ event: SignalEvent) {
            let sender = event.senderPid == getpid() ? "self" : "\(event.senderPid)"
            Probe.say(
                "\(what) code \(event.code) sender \(sender) value \(event.value) status \(event.status) "
                    + "descriptor \(event.descriptor.map { "\($0)" } ?? "none")"
            )
        }
        var steps: [() -> Void] = []
        func next() {
            if steps.isEmpty { host.stop() } else { steps.removeFirst()() }
        }
        func step(_ what: String, _ signal: CInt, _ cause: @escaping () -> Void) throws {
            let observation = try host.onSignal(signal) { event in
                say(what, event)
                next()
            }
            steps.append {
                // One observer a signal at a time: others of the same number are done.
                _ = observation
                cause()
            }
        }
        try step("kill", SIGUSR1) { kill(getpid(), SIGUSR1) }
        try step("raise", SIGUSR2) { raise(SIGUSR2) }
        let queued = SignalScenarios.first
        try step("sigqueue", queued) { sigqueue(getpid(), queued, sigval(sival_ptr: .init(bitPattern: 77))) }
        try step("timer", queued + 1) {
            var timer: timer_t?
            var event = SignalScenarios.event(queued + 1, 88)
            timer_create(CLOCK_MONOTONIC, &event, &timer)
            var setting = itimerspec()
            setting.it_value.tv_nsec = 1_000_000
            timer_settime(timer, 0, &setting, nil)
        }
        try step("mesgq", queued + 2) {
            let name = "/holdfast-probe-\(getpid())"
            let open = SignalScenarios.function("mq_open", as: OpenQueue.self)
            let queue = open(name, O_CREAT | O_RDWR | O_EXCL, 0o600, nil)
            var event = SignalScenarios.event(queued + 2, 99)
            _ = SignalScenarios.function("mq_notify", as: Notify.self)(queue, &event)
            _ = SignalScenarios.function("mq_send", as: Send.self)(queue, "x", 1, 0)
            _ = SignalScenarios.function("mq_unlink", as: (@convention(c) (UnsafePointer<CChar>) -> CInt).self)(name)
        }
        try step("alarm", SIGALRM) {
            var setting = itimerval()
            setting.it_value.tv_usec = 1000
            setitimer(__itimer_which_t(ITIMER_REAL.rawValue), &setting, nil)
        }
        var ends: [CInt] = [-1, -1]
        guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0 else { exit(1) }
        try step("io", queued + 3) {
            // F_SETSIG is 10, O_ASYNC is 020000.
            _ = fcntl(ends[0], 10, queued + 3)
            _ = fcntl(ends[0], F_SETOWN, getpid())
            _ = fcntl(ends[0], F_SETFL, 0o20000)
            _ = write(ends[1], "x", 1)
        }
        var child = pid_t()
        _ = try host.onSignal(SIGCHLD) { event in
            var status: CInt = 0
            let isItsPid = event.senderPid == child && waitpid(child, &status, WNOHANG) == child
            let isOurs = event.senderUid == getuid()
            Probe.say("child code \(event.code) pid \(isItsPid) uid \(isOurs) status \(event.status)")
            next()
        }
        steps.append { child = spawn("exit 7") }
        steps.append { child = spawn("kill -TERM $$") }
        host.perform { next() }
        Probe.say("descriptor \(ends[0])")
        host.run()
        host.close()
    }

    /// Starts a shell with our own signal mask and actions.
    static func spawn(_ script: String) -> pid_t {
        var pid = pid_t()
        let strings = ["/bin/sh", "-c", script]
        var arguments = strings.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        let error = posix_spawn(&pid, "/bin/sh", nil, nil, &arguments, environ)
        precondition(error == 0, "no shell")
        return pid
    }

    // MARK: What stood before

    private static func disposition(_ signal: CInt) -> String {
        var action = sigaction()
        sigaction(signal, nil, &action)
        var mask = sigset_t()
        pthread_sigmask(SIG_BLOCK, nil, &mask)
        let handler = unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
        let kind = handler == 0 ? "default" : handler == 1 ? "ignored" : "handled"
        return kind + (sigismember(&mask, signal) == 1 ? " blocked" : "")
    }

    private static func say(_ what: String) {
        let signals = [("HUP", SIGHUP), ("TERM", SIGTERM), ("USR1", SIGUSR1), ("USR2", SIGUSR2), ("PIPE", SIGPIPE)]
        let texts = signals.map { "\($0.0) \(disposition($0.1))" }
        Probe.say("\(what): " + texts.joined(separator: ", "))
    }

    /// Actions and masks before, while and after signals are observed.
    static func givenBack(_ store: String) throws {
        signal(SIGHUP, SIG_IGN)
        signal(SIGUSR1) { _ in Probe.say("the program's own handler") }
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGUSR2)
        pthread_sigmask(SIG_BLOCK, &set, nil)
        say("before")
        let host = try HostScenario.host(store)
        say("host")
        raise(SIGHUP)
        let first = try host.onSignal(SIGUSR1) { _ in Probe.say("first") }
        let second = try host.onSignal(SIGUSR1) { _ in
            Probe.say("second")
            host.stop()
        }
        let others = try [SIGHUP, SIGTERM, SIGUSR2, SIGPIPE].map { try host.onSignal($0) { _ in } }
        say("observed")
        raise(SIGUSR1)
        host.run()
        first.invalidate()
        say("one of two")
        second.invalidate()
        say("none of two")
        raise(SIGUSR1)
        others.last?.invalidate()
        say("no PIPE")
        host.close()
        say("closed")
        Probe.say("valid \(others.map(\.isValid))")
    }

    /// What children of the process begin with, and what a forked one does with a signal.
    static func children(_ host: EventHost) throws {
        for signal in [SIGTERM, SIGCHLD, first] { try host.onSignal(signal) { _ in } }
        host.perform {
            var status: CInt = 0
            waitpid(spawn("grep -E 'Sig(Blk|Ign)' /proc/self/status"), &status, 0)
            // The overlay hides fork(2).
            let fork = function("fork", as: (@convention(c) () -> pid_t).self)
            let child = fork()
            if child == 0 {
                kill(getpid(), SIGTERM)
                _exit(0)
            }
            waitpid(child, &status, 0)
            Probe.say("forked child ended by \(status & 0x7f)")
            // A write to a pipe without a reader is an error, and no more.
            var ends: [CInt] = [-1, -1]
            pipe(&ends)
            close(ends[0])
            let result = write(ends[1], "x", 1)
            Probe.say("write \(result) \(errno == EPIPE)")
            host.stop()
        }
        host.run()
        host.close()
    }
}
