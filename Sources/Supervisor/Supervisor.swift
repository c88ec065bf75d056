internal import CLinuxShims
internal import Glibc
internal import LinuxSystem
internal import RunLoops
package import SystemPackage

/// The process above: runs programs until they have ended for good, and ends as they did.
///
/// One in a process, on its main loop. As process 1 it is the parent of all orphans; else it asks to be (PR_SET_CHILD_SUBREAPER).
@MainActor
package final class Supervisor {
    /// What happens to the others when a program has ended that nobody stopped, as Erlang's supervisors have it.
    package enum Strategy: String, Sendable, CaseIterable {
        /// Nothing.
        case oneForOne = "one_for_one"
        /// Those that were started after it are started again, too.
        case restForOne = "rest_for_one"
        /// All are.
        case oneForAll = "one_for_all"
    }

    /// What it is to do.
    package struct Plan: Sendable {
        /// The programs, in the order in which they are started; not empty.
        package var programs: [Program]
        package var strategy = Strategy.oneForOne
        /// Where reports go; nil for nowhere.
        package var store: FilePath?
        /// Where it takes orders; nil for a socket in the store.
        package var control: FilePath?
        /// The file that gets the newest diagnosis.
        package var terminationLog = "/dev/termination-log"
        /// The environment that it began with.
        package var environment: [String: String]

        package init(programs: [Program], environment: [String: String]) {
            self.programs = programs
            self.environment = environment
        }
    }

    /// The status of one that cannot begin: EX_UNAVAILABLE of sysexits.h.
    package static let unavailableStatus: CInt = 69
    /// The status of a supervisor that has given up: the one that EventHost has for the same.
    package static let gaveUpStatus: CInt = 125

    private let plan: Plan
    /// What each program has given away.
    private let kept: [DescriptorStore]
    private let manager: ServiceManager
    private let sockets: ListeningSockets
    private let signals: CInt
    private var runners: [ProgramRunner] = []
    private var control: ControlServer?
    private var sources: [HostRunLoop.PortSource] = []
    /// The terminal whose foreground the program is; nil without one.
    private let terminal: CInt?
    private var isStopping = false
    private var isReadyTold = false
    private var status: CInt = 0
    private var killer: HostRunLoop.Timer?
    private let earlierChildren = Set(Orphans.all())
    private var toldOrphans: Set<CInt> = []
    private var areOrphansLate = false

    /// A supervisor that cannot begin, and what to do.
    package struct StartError: Error, CustomStringConvertible {
        package let description: String
    }

    /// Takes over signals, sockets and children.
    ///
    /// - Parameter plan: What to do.
    /// - Throws: `StartError`.
    package init(_ plan: Plan) throws(StartError) {
        self.plan = plan
        _ = hf_close_on_exec_from(3)
        sockets = ListeningSockets(environment: plan.environment)
        manager = ServiceManager(environment: plan.environment)
        if getpid() != 1 { _ = hf_become_subreaper() }
        signals = hf_signals_take()
        guard signals >= 0 else { throw StartError(description: "no signals can be taken: \(Errno(rawValue: errno))") }
        // With several programs nobody can say whose it is. And one that is started again would take every interrupt for itself.
        let isForeground = isatty(STDIN_FILENO) == 1 && tcgetpgrp(STDIN_FILENO) == getpgrp()
        let isCommand = plan.programs.count == 1 && plan.programs[0].restarts == .never
        terminal = isForeground && isCommand ? STDIN_FILENO : nil
        Self.endLeftovers(of: plan, unless: signals)
        var addresses: Set<ListenAddress> = []
        for program in plan.programs {
            for (index, address) in program.listens.enumerated() {
                guard addresses.insert(address).inserted else {
                    throw StartError(
                        description: "\(address) is to be opened twice; each socket belongs to one program"
                    )
                }
                let name = program.listens.count == 1 ? program.name : "\(program.name)-\(index + 1)"
                do {
                    try sockets.open(address, name: name, for: program)
                } catch {
                    throw StartError(description: Self.cannotListen(address, error))
                }
            }
        }
        kept = plan.programs.map { [manager, sockets] in DescriptorStore(of: $0.name, manager, sockets) }
        sockets.keepInherited()
        manager.store(sockets.sockets)
    }

    /// Ends what a supervisor that was killed has left, unless one runs.
    private static func endLeftovers(of plan: Plan, unless signals: CInt) {
        guard let state = plan.store.map({ StateFolder(store: $0) }) else { return }
        let control = plan.control ?? state.socket(of: plan.programs[0].name)
        if (try? PacketSocket.connect(to: .path(control), before: .min)) != nil { return }
        state.endLeftovers(of: plan.programs, unless: signals)
    }

    private static func cannotListen(_ address: ListenAddress, _ error: Errno) -> String {
        let advice =
            switch error {
            case .addressInUse:
                "; somebody listens there already (ss -lxtnp shows who), or a file that is no socket has the name"
            case .permissionDenied:
                "; a port below 1024 needs CAP_NET_BIND_SERVICE, a socket's folder the permission to write"
            case .addressNotAvailable: "; this machine has no such address"
            default: ""
            }
        return "cannot listen at \(address): \(error)\(advice)"
    }

    /// Runs the programs.
    ///
    /// - Returns: The exit status for the process: that of the one program, or of the first that has failed.
    package func run() -> CInt {
        let state = openState()
        // Before anything is told of processes of the supervisor before: it may still be there.
        guard openControl(state) else { return Self.unavailableStatus }
        let kernelLog = KernelLog()
        let environment = Self.passedOn(plan.environment, store: plan.store)
        for (program, kept) in zip(plan.programs, kept) {
            let connections = ProgramRunner.Connections(
                environment: environment,
                sockets: sockets.sockets(for: program.name),
                kept: kept,
                manager: manager,
                terminal: terminal,
                state: state,
                kernelLog: kernelLog,
                terminationLog: plan.terminationLog.isEmpty ? nil : plan.terminationLog,
                changed: { [weak self] runner in self?.note(runner) },
                died: { [weak self] runner in self?.holdOthers(runner) }
            )
            runners.append(ProgramRunner(program, connections))
        }
        guard serve(signals, "signals", { [self] in takeSignals() }) else {
            Log.write("no descriptor is left for the supervisor's own loop: raise the limit (ulimit -n, LimitNOFILE=)")
            return Self.unavailableStatus
        }
        // In the loop: a program that cannot be started ends it.
        let begin = HostRunLoop.Timer(label: "programs begin", after: .zero) { [self] _ in
            // One that was told to end while it waited for what was left starts nothing.
            takeSignals()
            if let signal = stopReason.signal { status = 128 + signal }
            startNext()
        }
        HostRunLoop.main.add(begin, to: .common)
        HostRunLoop.main.run()
        return status
    }

    /// Returns whether the loop can serve it.
    private func serve(_ descriptor: CInt, _ label: String, _ perform: @escaping @MainActor () -> Void) -> Bool {
        let source = HostRunLoop.PortSource(label: label, descriptor: .init(rawValue: descriptor)) { _, _ in perform() }
        sources.append(source)
        return (try? HostRunLoop.main.add(source, to: .common)) != nil
    }

    private func openState() -> StateFolder? {
        guard let store = plan.store else {
            Log.write("no store: deaths are told here only, and waits are forgotten; --store DIR names one")
            return nil
        }
        let state = StateFolder(store: store)
        do {
            try state.create()
            return state
        } catch {
            Log.write(
                "\(error): deaths are told here only, and waits are forgotten; --store DIR names another place"
            )
            return nil
        }
    }

    /// Begins to take orders; returns whether the programs may be started.
    private func openControl(_ state: StateFolder?) -> Bool {
        guard let path = plan.control ?? state?.socket(of: plan.programs[0].name) else {
            Log.write("no orders can be given, and 'holdfast probe' fails; --control PATH names a place for a socket")
            return true
        }
        do {
            control = try ControlServer(at: path) { [weak self] request, answer in self?.obey(request, answer) }
        } catch .addressInUse where (try? FileStatus(of: path))?.kind != .other {
            Log.write("\(path): a file has this name that is no socket; --control PATH names another place")
            return false
        } catch .addressInUse {
            Log.write(
                "\(path): another supervisor runs a program of this name with this store; --name gives another one"
            )
            return false
        } catch {
            Log.write("\(path): \(error): no orders can be given; --control PATH names another socket")
        }
        return true
    }

    /// The environment without what was said to this process alone, and with the store: what a program reports of itself belongs to its end.
    private static func passedOn(_ environment: [String: String], store: FilePath?) -> [String: String] {
        let own: Set = [
            "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES",
            "HOLDFAST_STANDBY", "HOLDFAST_STANDBY_PID", "HOLDFAST_PREDECESSOR",
        ]
        var environment = environment.filter { !own.contains($0.key) }
        if let store { environment["HOLDFAST_STORE"] = store.string }
        return environment
    }

    // MARK: Programs

    /// Starts the first program that is to run and does not, when those before it are ready.
    private func startNext() {
        guard !isStopping, renewals.isEmpty else { return }
        for runner in runners {
            if runner.isBeingEnded { return }
            switch runner.state {
            case .idle:
                runner.start()
                // It may be ready by now, and so has called this again.
                return
            case .ready, .ended: continue
            case .starting, .waiting, .clearing: return
            }
        }
    }

    private func note(_ runner: ProgramRunner) {
        if runner.state == .idle, renewals.last === runner { return renewNext() }
        if runner.state == .ready || runner.state == .idle { startNext() }
        tellManager()
        control?.noteChange()
        if runner.state == .ended { noteEnd(of: runner) }
    }

    /// Ends the programs that go with one that has ended: the latest first.
    ///
    /// They are started again in their order.
    private func holdOthers(_ runner: ProgramRunner) {
        guard plan.strategy != .oneForOne, !isStopping, let index = runners.firstIndex(where: { $0 === runner }) else {
            return
        }
        if plan.strategy == .oneForAll { runner.holdNext() }
        let others = plan.strategy == .oneForAll ? runners[...] : runners[(index + 1)...]
        for other in others.reversed() where other !== runner {
            other.hold(because: "\(runner.program.name) has ended, and the strategy is \(plan.strategy.rawValue)")
        }
    }

    private func noteEnd(of runner: ProgramRunner) {
        if runner.hasGivenUp {
            status = Self.gaveUpStatus
        } else if status == 0, let last = runner.lastStatus, !runner.wasSuccess {
            // One that hung, and took the signal for a polite one, did not end well.
            status = last.shellStatus == 0 ? ProcessEnd.signalled(SIGABRT).shellStatus : last.shellStatus
        }
        if runners.count > 1, !isStopping {
            // The others go on, unless it was given up.
            if runner.hasGivenUp { return stop(because: "\(runner.program.name) was given up") }
            startNext()
        }
        if isStopping { stopNext() }
        guard runners.allSatisfy({ $0.state == .ended }) else { return }
        endOrphans()
    }

    private func tellManager() {
        let states = runners.map { runner in
            let text = runner.current?.statusText.map { ": \($0)" } ?? ""
            return "\(runner.program.name) \(runner.state)\(text)"
        }
        var message = "STATUS=\(states.joined(separator: ", "))"
        if !isReadyTold, runners.allSatisfy(\.isDone) {
            isReadyTold = true
            // A wrapper may have started us, which the manager takes for its main process.
            message = "READY=1\nMAINPID=\(getpid())\n" + message
        }
        manager.tell(message)
    }

    // MARK: The end

    private func stop(because reason: String, signal: CInt? = nil) {
        stopReason = (reason, signal)
        if isStopping {
            for runner in runners where runner.isBeingEnded && isTold(runner) {
                if let signal { runner.forward(signal, because: reason) }
            }
            return
        }
        isStopping = true
        for runner in runners where runner.state != .ended { runner.noteStopping() }
        manager.tell("STOPPING=1\nSTATUS=stopping")
        stopNext()
    }

    private var stopReason: (text: String, signal: CInt?) = ("", nil)

    /// Whether a program was told to end: the later ones are first.
    private func isTold(_ runner: ProgramRunner) -> Bool {
        runners.last { $0.state != .ended } === runner
    }

    /// Stops the last program that runs: in the order opposite to that of the starts.
    private func stopNext() {
        guard let last = runners.last(where: { $0.state != .ended }) else { return endOrphans() }
        last.stop(because: stopReason.text, signal: stopReason.signal)
    }

    /// Ends what is left of everybody's children: they would lose their parent, and as process 1 their namespace.
    private func endOrphans() {
        guard killer == nil else { return }
        guard !orphans.isEmpty else { return finish() }
        tellOrphans()
        let limit = plan.programs.map(\.stopTimeout).max() ?? .seconds(10)
        let timer = HostRunLoop.Timer(label: "orphans are to have ended", after: limit, repeating: .milliseconds(100)) {
            [self] _ in
            areOrphansLate = true
            for pid in orphans { _ = kill(pid, SIGKILL) }
        }
        killer = timer
        HostRunLoop.main.add(timer, to: .common)
    }

    /// All children that are not those of who was this process before: a shell that has become us (exec) may have had its own.
    private var orphans: [CInt] { Orphans.all().filter { !earlierChildren.contains($0) } }

    /// Tells those to end who have not been told: an orphan that ends leaves others.
    ///
    /// After their time those that are new, which an order to end may have made, are killed at once.
    private func tellOrphans() {
        if areOrphansLate {
            for pid in orphans { _ = kill(pid, SIGKILL) }
            return
        }
        for pid in orphans where toldOrphans.insert(pid).inserted {
            _ = kill(pid, SIGTERM)
            _ = kill(pid, SIGCONT)
        }
    }

    private func finish() {
        killer?.invalidate()
        control?.close()
        if let terminal { _ = hf_terminal_take(terminal, getpgrp()) }
        HostRunLoop.main.stop()
    }

    // MARK: Signals

    private func takeSignals() {
        var signal = HFSignal()
        while unsafe hf_signalfd_next(signals, &signal) == 1 {
            switch signal.number {
            case SIGCHLD: reap()
            case SIGTERM, SIGINT, SIGQUIT:
                let name = SignalName.of(signal.number) ?? "signal \(signal.number)"
                stop(because: "the supervisor got \(name) \(Self.origin(of: signal))", signal: signal.number)
            case SIGCONT: goOnInTerminal(signal)
            default:
                // One of our own, such as SIGPIPE, is nobody else's.
                if signal.sender == getpid() { continue }
                for runner in runners { runner.forward(signal.number, because: Self.origin(of: signal)) }
                // The terminal has stopped all that it runs, which the program does not belong to.
                if signal.number == SIGTSTP, signal.code == CInt(SI_KERNEL), terminal == nil, !isOrphaned {
                    _ = kill(getpid(), SIGSTOP)
                }
            }
        }
    }

    /// Who has sent us a signal, in words.
    private static func origin(of signal: HFSignal) -> String {
        // 0 is a process of another namespace, such as the container's runtime.
        guard signal.sender > 0 else { return "from another namespace or the kernel" }
        // What kill(2) and tgkill(2) say is the kernel's word; what sigqueue(3) says is that of its caller.
        let isKernels = signal.code == CInt(SI_USER) || signal.code == CInt(SI_TKILL)
        return "from \(isKernels ? "" : "what says it is ")process \(signal.sender) of user \(signal.user)"
    }

    /// Takes the ends of all children that have ended, ours and orphans.
    private func reap() {
        var event = HFChildEvent()
        while unsafe hf_child_look(&event) == 1 {
            if event.code == CLD_STOPPED || event.code == CLD_CONTINUED {
                let isOurs = runners.contains { $0.pid == event.pid }
                let isStop = event.code == CLD_STOPPED
                _ = unsafe hf_child_take_stop(event.pid, &event)
                if isOurs, isStop { stopInTerminal(event.status) }
                continue
            }
            let isTaken = runners.contains { $0.takeEnd(event) }
            // What cannot be taken would be seen for ever.
            if !isTaken, unsafe hf_child_take(event.pid, &event) != 1 { break }
        }
        for runner in runners { runner.noteOrphan() }
        guard killer != nil else { return }
        if orphans.isEmpty { finish() } else { tellOrphans() }
    }

    // MARK: The terminal

    /// The program was stopped by its terminal: we stop, too, so that the shell goes on.
    private func stopInTerminal(_ signal: CInt) {
        guard let terminal, !isStopping else { return }
        // Nobody could continue us. Without us the kernel would not have stopped the program either (linux/kernel/signal.c, is_current_pgrp_orphaned).
        guard !isOrphaned else {
            if signal == SIGTSTP, let pid = runners.first?.pid { _ = kill(-pid, SIGCONT) }
            return
        }
        _ = hf_terminal_take(terminal, getpgrp())
        _ = kill(getpid(), SIGSTOP)
    }

    /// Whether no shell of our session is above us.
    private var isOrphaned: Bool { getpid() == 1 || getsid(getppid()) != getsid(0) }

    /// The shell has continued us: so does the program.
    private func goOnInTerminal(_ signal: HFSignal) {
        guard let terminal, let pid = runners.first?.pid else {
            for runner in runners { runner.forward(SIGCONT, because: Self.origin(of: signal)) }
            return
        }
        if tcgetpgrp(terminal) == getpgrp() { _ = hf_terminal_take(terminal, pid) }
        _ = kill(-pid, SIGCONT)
    }

    // MARK: Orders

    private func obey(_ request: ControlRequest, _ answer: ControlServer.Answer) {
        let wanted = runners.filter { request.program == nil || $0.program.name == request.program }
        guard !wanted.isEmpty else {
            let names = runners.map(\.program.name).joined(separator: ", ")
            return answer.fail("no program is called '\(request.program ?? "")'; there are: \(names)")
        }
        if isStopping, [.restart, .reload, .upgrade].contains(request.order) {
            return answer.fail("everything is being stopped")
        }
        switch request.order {
        case .status: answer.give(report(of: wanted).text)
        case .describe: answer.give(wanted.map(\.description).joined(separator: "\n"))
        case .probe:
            let notReady = wanted.filter {
                !$0.isDone || $0.current?.prober?.problem != nil || $0.current?.isLate == true
            }
            if notReady.isEmpty { return answer.give("ready") }
            answer.fail(notReady.map(\.description).joined(separator: "\n"))
        case .stop:
            guard request.program == nil else { return answer.fail("stop ends everything: name no program") }
            answer.wait(for: { false }, then: "stopped", isEndOfAll: true)
            stop(because: request.sender)
        case .restart:
            renew(wanted, because: request.sender, answer, "restarted")
        case .upgrade:
            if let runner = wanted.first(where: { $0.program.readiness != .notify }) {
                return answer.fail(
                    "\(runner.program.name) does not say when it is ready (--ready notify), so the one before would end too early; "
                        + "use restart"
                )
            }
            handOver(wanted, because: request.sender, answer)
        case .reload:
            for runner in wanted {
                if let signal = runner.program.reloadSignal { runner.reload(by: signal, because: request.sender) }
            }
            renew(wanted.filter { $0.program.reloadSignal == nil }, because: request.sender, answer, "reloaded")
        }
    }

    /// Has next processes take over, and answers when they have, or when one could not.
    private func handOver(_ wanted: [ProgramRunner], because reason: String, _ answer: ControlServer.Answer) {
        if let refusal = wanted.lazy.compactMap(\.handOverRefusal).first { return answer.fail(refusal) }
        let before = wanted.map { ($0, $0.handOvers, $0.pid) }
        for runner in wanted { runner.handOver(because: reason) }
        answer.wait(
            // One that does not run is started: there is nobody to take over from.
            for: {
                before.allSatisfy { runner, handOvers, pid in
                    runner.state == .ready && (runner.handOvers.done != handOvers.done || pid == nil)
                }
            },
            unless: {
                before.lazy.compactMap { runner, handOvers, pid -> String? in
                    if pid == nil { return runner.downReason }
                    guard runner.handOvers.ended != handOvers.ended, runner.handOvers.done == handOvers.done else {
                        return nil
                    }
                    let reason = runner.handOvers.lastFailure ?? ""
                    return "\(runner.program.name): the next process did not take over: \(reason)"
                }.first
            },
            then: "upgraded"
        )
    }

    /// Restarts programs, and answers when their next processes are ready.
    private func renew(
        _ wanted: [ProgramRunner],
        because reason: String,
        _ answer: ControlServer.Answer,
        _ word: String
    ) {
        let before = wanted.map { ($0, $0.pid) }
        // What an order before this one has yet to end, or has ended, is started anew by that one.
        let others = wanted.filter { runner in
            !renewals.contains { $0 === runner } && (renewals.isEmpty || runner.state != .idle)
        }
        if wanted.count > 1 {
            if renewals.isEmpty { renewalReason = reason }
            renewals = runners.filter { runner in (renewals + others).contains { $0 === runner } }
            renewNext()
        } else {
            for runner in others { runner.restart(because: reason) }
        }
        answer.wait(
            for: {
                before.allSatisfy { runner, pid in runner.isDone && (runner.pid != pid || runner.state == .ended) }
            },
            unless: {
                self.renewals.isEmpty ? before.lazy.compactMap { $0.0.downReason }.first : nil
            },
            then: word
        )
    }

    /// The programs of a restart of several that have not been ended yet, and who wanted it.
    private var renewals: [ProgramRunner] = []
    private var renewalReason = ""

    /// Ends the last of those that are to be restarted, when those behind it have ended; then all are started in their order.
    private func renewNext() {
        while let last = renewals.last, !isStopping {
            last.holdForRestart(because: renewalReason)
            guard last.state == .idle else { return }
            renewals.removeLast()
        }
        startNext()
    }

    /// What `holdfast status` shows.
    private func report(of runners: [ProgramRunner]) -> JSONObject {
        var object = JSONObject()
        object.add("supervisor", Int(getpid()))
        object.add("strategy", plan.strategy.rawValue)
        object.add("stopping", isStopping)
        object.add("programs", runners.map(\.report))
        object.add(
            "sockets",
            sockets.sockets.map { socket in
                var entry = JSONObject()
                entry.add("name", socket.name)
                entry.add("address", socket.address?.description ?? "given")
                return entry
            }
        )
        return object
    }
}
