internal import CLinuxShims
internal import Glibc
internal import LinuxSystem
internal import RunLoops

/// One process of a program, from its start until everything of its process group has ended.
///
/// ```
/// starting ──▶ (standingBy) ──▶ ready ──end──▶ clearing ──▶ over
///     └──────────────end──────────────────────────▲
/// ```
/// It knows what its process says and what the supervisor did to it, and nothing of what follows.
@MainActor
final class Generation {
    /// Where it is.
    enum State: Equatable {
        /// The process runs, and has not said that it is ready.
        case starting
        /// The process has started, and waits to serve in the place of another.
        case standingBy
        /// The process runs and is ready.
        case ready
        /// The process has ended, and others of its process group are being ended.
        case clearing
        /// Nothing is left.
        case over
    }

    /// What happened to it.
    enum Event {
        case ready
        case standsBy
        /// The process has ended; what is known of that.
        case ended(DeathFacts, DeathRecord.Usage)
        /// Nothing of it is left.
        case over
        /// Something can be handed over to it; again, if that has come to nothing before.
        case linked
        /// It has said something of itself.
        case said
        /// Descriptors that it wants to be kept, with a name.
        case stores([CInt], name: String?, isPolled: Bool)
        case removes(name: String)
        /// It is to have more time for its start or its end.
        case extends(Duration)
    }

    let program: Program
    let child: Child
    private(set) var state = State.starting
    /// Whether Holdfast is inside.
    private(set) var hasHoldfast = false
    private let link = GenerationLink()
    /// The one that has taken over from it.
    private(set) weak var successor: Generation?
    /// Whether it has handed over to the one that stood by, from its fault handler or when it was quiet.
    private var hasHandedOver = false
    /// Whether it was ready once.
    private(set) var wasReady = false
    /// Whether it stood by once.
    private(set) var wasStandingBy = false
    /// What it says of itself: `STATUS=`.
    private(set) var statusText: String?
    /// The process that counts, if the program has named another one than its first: `MAINPID=`.
    private var named: NamedProcess?
    /// Whether it was started to stand by.
    private var isStandby = false
    private var order: DeathFacts.Order?
    private var wasKilled = false
    private var keepsSomething = false
    /// When it was told that another one has taken over.
    private var retiredAt: HostRunLoop.Instant?
    /// Whether it is to accept no more connections.
    private var isToRest = false
    private var threads: [String] = []
    /// The signal by which it was told to end.
    private var orderSignal: CInt?
    /// The signals that were passed on, with who wanted that.
    private var passedOn: [CInt: (reason: String, time: Int64)] = [:]
    /// The signals that wait until it is ready.
    private var waitingSignals: [CInt: String] = [:]
    private var memory = MemoryWatch()
    private var limits: ResourceLimits?
    private var notify: NotifySocket?
    private var startTimer: HostRunLoop.Timer?
    private var stopTimer: HostRunLoop.Timer?
    private var restTimer: HostRunLoop.Timer?
    /// What ends the rest of its process group.
    private var groupEnd: GroupEnd?
    private let life: LifeWatch
    private let kernelLog: KernelLog
    /// Where that ended before the process was started.
    private let logMark: KernelLog.Mark
    private let tell: @MainActor (Generation, Event) -> Void

    /// Starts a process.
    ///
    /// - Parameters:
    ///   - program: What to start.
    ///   - environment: The environment of the supervisor.
    ///   - provisions: What the process gets; the socket and the watchdog are filled in here.
    ///   - kernelLog: The log in which the kernel says why it killed.
    ///   - tell: Called for each event.
    /// - Throws: `StartFailure`.
    init(
        _ program: Program,
        environment: [String: String],
        _ provisions: Child.Provisions,
        kernelLog: KernelLog,
        tell: @escaping @MainActor (Generation, Event) -> Void
    ) throws(StartFailure) {
        self.program = program
        self.kernelLog = kernelLog
        logMark = kernelLog.mark()
        self.tell = tell
        // Its own socket for each process: a message of one that is on its way out is not taken for one of the next.
        let inbox = Inbox()
        life = LifeWatch(program, environment: environment) { inbox.end($0) }
        notify = try? NotifySocket(for: program.name) { message, sender, descriptors in
            inbox.receive(message, sender, descriptors)
        }
        var provisions = provisions
        provisions.notifySocket = notify?.name
        provisions.watchdog = program.watchdog
        do {
            child = try Child(program, environment: environment, provisions) { child in inbox.begun(child) }
        } catch {
            notify?.close()
            throw error
        }
        MainProcesses.add(child.pid)
        inbox.generation = self
        isStandby = provisions.standby?.waits ?? false
        if program.readiness == .notify || isStandby, program.startTimeout > .zero {
            startTimer = timer("is to be ready", after: program.startTimeout) {
                $0.noteLateStart("not ready", $0.program.startTimeout)
            }
        }
    }

    /// Passes on to the generation what its parts hear, which are made before it.
    @MainActor
    private final class Inbox {
        weak var generation: Generation?

        func receive(_ message: NotifyMessage, _ sender: NotifySocket.Sender, _ descriptors: [CInt]) {
            guard let generation else {
                for descriptor in descriptors { _ = close(descriptor) }
                return
            }
            generation.take(message, from: sender, descriptors)
        }

        func begun(_ child: Child) { generation?.noteOutcome() }

        func end(_ order: DeathFacts.Order) { generation?.end(because: order, SIGABRT) }
    }

    /// The process that counts.
    var pid: CInt { named?.pid ?? child.pid }

    /// What EventHost says of itself.
    private static let presence = "X_HOLDFAST"
    /// What goes with its end of a link, and what it says when it hands over by it.
    private static let linkMessage = "X_HOLDFAST_LINK"
    private static let handOverMessage = "X_HOLDFAST_HANDOVER"
    /// What it says when it accepts no more connections.
    private static let restMessage = "X_HOLDFAST_RESTS"
    /// What EventHost says when it stands by.
    private static let standbyMessage = "X_HOLDFAST_STANDBY"
    /// Whether it keeps something that it would hand over: 0 or 1.
    private static let keepingMessage = "X_HOLDFAST_KEEPS"

    /// When it was told to serve.
    private var released: Int64?

    /// Notes that it was told to serve: it is to be ready at once, as everything else was done before.
    func noteReleased() {
        released = MonotonicClock.nanoseconds
        let limit = program.startTimeout > .zero ? min(program.startTimeout, .seconds(10)) : .seconds(10)
        startTimer = timer("is to serve", after: limit) { $0.noteLateStart("has not begun to serve", limit) }
    }

    /// Whether it was told to serve a while ago, and has not said that it does.
    var isLate: Bool {
        guard let released, state == .standingBy else { return false }
        return MonotonicClock.nanoseconds - released > 1_000_000_000
    }

    /// What asks whether it answers; nil while nobody does.
    var prober: Prober? { life.prober }

    /// Whether its process runs.
    var isRunning: Bool { state == .starting || state == .standingBy || state == .ready }

    // MARK: Beginning

    private func noteOutcome() {
        guard child.failure == nil, isRunning else { return }
        memory.begin(child.pid)
        limits = ResourceLimits(pid: child.pid)
        if program.readiness == .exec, !isStandby { becomeReady() }
    }

    private func becomeReady() {
        guard state == .starting || state == .standingBy, order == nil else { return }
        startTimer?.invalidate()
        wasReady = true
        // It may have gone into another group meanwhile.
        if wasStandingBy {
            readMemoryLater()
        } else if program.readiness == .notify {
            memory.begin(pid)
        }
        state = .ready
        life.begin()
        // Another one has taken over already from this one, which stood by until now.
        if let successor, retiredAt == nil { retire(for: successor) }
        tell(self, .ready)
        sendWaiting()
    }

    /// Reads the counters of its control group when those are answered who have waited for it.
    ///
    /// The kills until then were of others.
    private func readMemoryLater() {
        _ = timer("serves", after: .milliseconds(20)) { generation in
            generation.memory.begin(generation.pid)
        }
    }

    /// It reloads, and says READY when it has; one that does not within its time is watched again all the same.
    private func noteReload() {
        life.pause(within: program.startTimeout > .zero ? program.startTimeout : .seconds(90))
    }

    /// It ends by itself, within the time that it would have if it were told to.
    private func noteStopping() {
        life.pause()
        killLater(as: .stop(by: "it had said that it would end"))
    }

    private func noteLateStart(_ words: String, _ limit: Duration) {
        Log.write("\(program.name): \(words) within \(limit.inPlainWords)")
        end(because: .startTimeout(limit), SIGABRT)
    }

    // MARK: What it says

    private func take(_ message: NotifyMessage, from sender: NotifySocket.Sender, _ descriptors: [CInt]) {
        var left = descriptors
        defer { for descriptor in left { _ = close(descriptor) } }
        guard isRunning, MainProcesses.isFrom(sender, child.pid, named: named?.pid) else { return }
        if state != .standingBy { memory.noteLife(of: pid, started: child.started) }
        // Alone in its message (sd_notify_barrier(3)): closing its descriptor is the answer.
        if message.says("BARRIER") { return }
        if message.says("FDSTORE") {
            tell(self, .stores(left, name: message["FDNAME"], isPolled: message["FDPOLL"] != "0"))
            left = []
        }
        if message.says("FDSTOREREMOVE"), let name = message["FDNAME"] { tell(self, .removes(name: name)) }
        if let text = message.line("STATUS") { statusText = text }
        if let pid = message["MAINPID"].flatMap({ CInt($0) }),
            MainProcesses.isBelow(pid, child.pid, named: named?.pid)
        {
            if let named {
                named.close()
                MainProcesses.remove(named.pid)
            }
            named = pid == child.pid ? nil : NamedProcess(pid) { [weak self] in self?.noteEndOfNamed() }
            MainProcesses.add(pid)
        }
        if let time = message.microseconds("EXTEND_TIMEOUT_USEC") { extend(by: time) }
        if let interval = message.microseconds("WATCHDOG_USEC") { life.setInterval(interval) }
        switch message["WATCHDOG"] {
        case "1": life.noteLife()
        case "trigger":
            Log.write("\(program.name): asks to be ended (WATCHDOG=trigger)")
            end(because: .watchdog(nil), SIGABRT)
        default: break
        }
        if let keeps = message[Self.keepingMessage], keepsSomething != (keeps == "1") {
            keepsSomething = keeps == "1"
            stopRested()
        }
        if message.says(Self.linkMessage), sender.pid == pid, left.count == 1 {
            link.open(left.removeFirst())
            // It has restarted in place, and knows nothing any more.
            stopRested()
            if isToRest { restLater() }
            tell(self, .linked)
        }
        if message.says(Self.standbyMessage), isStandby, state == .starting {
            startTimer?.invalidate()
            memory.begin(pid)
            state = .standingBy
            wasStandingBy = true
            hasHoldfast = true
            tell(self, .standsBy)
            sendWaiting()
        }
        if message.says("RELOADING") { noteReload() }
        if message.says("STOPPING") { noteStopping() }
        if message.says(Self.presence) { hasHoldfast = true }
        if message.says(Self.restMessage), !mayHandOverItself { stopRested(at: .now.advanced(by: .milliseconds(100))) }
        // It ends by itself.
        if message.says(Self.handOverMessage), let successor {
            end(because: .stop(by: Self.reason(successor)), nil)
        }
        if message.says("READY") {
            becomeReady()
            life.goOn()
        }
        tell(self, .said)
    }

    private func extend(by time: Duration) {
        let date = HostRunLoop.Instant.now.advanced(by: time)
        for timer in [startTimer, stopTimer] {
            if let timer, timer.isValid, timer.nextFireDate < date { timer.nextFireDate = date }
        }
        tell(self, .extends(time))
    }

    // MARK: Ending

    /// Asks the process to end, and kills it when it does not within the program's time.
    func stop(because reason: String, signal: CInt? = nil) {
        end(because: .stop(by: reason), signal ?? program.stopSignal)
    }

    /// Ends a process from which another has taken over.
    ///
    /// With Holdfast inside it first accepts no more connections, and answers those that it has: a server that is told to end closes
    /// connections on which it has read nothing yet. What it keeps it sends to its successor, and ends by itself.
    func retire(for successor: Generation) {
        self.successor = successor
        link.setSuccessor(successor.link)
        life.endProbe()
        // It has been told to serve, and has not taken yet what was handed over to it: it rests when it serves.
        guard state != .standingBy else { return }
        guard isRunning, hasHoldfast else { return stop(because: Self.reason(successor)) }
        retiredAt = .now
        stopRested()
        isToRest = true
        restLater()
    }

    /// Asks it to rest, again and again while it restarts in place: what it keeps is handed over by the process that it becomes.
    private func restLater() {
        guard order == nil, isRunning, !child.askToRest() else { return }
        _ = timer("is to rest", after: .milliseconds(10)) { $0.restLater() }
    }

    /// Tells it to end if it does not say that it rests, or hands over: one whose main loop is busy does not.
    private func stopRested() {
        guard let retiredAt else { return }
        let patience = mayHandOverItself ? min(program.stopTimeout / 2, .seconds(30)) : .seconds(1)
        stopRested(at: max(retiredAt.advanced(by: patience), .now.advanced(by: .milliseconds(100))))
    }

    /// Whether it hands over, and ends by itself.
    ///
    /// It may just be restarting in place, and would end by a signal with all that it keeps.
    private var mayHandOverItself: Bool { mayHandOver && successor?.link.isOpen == true }

    private func stopRested(at date: HostRunLoop.Instant) {
        guard let successor, order == nil else { return }
        restTimer?.invalidate()
        let wait = HostRunLoop.Instant.now.duration(to: date)
        restTimer = timer("has had time for its last requests", after: max(.zero, wait)) { generation in
            if generation.order == nil { generation.stop(because: Self.reason(successor)) }
        }
    }

    /// Has it accept no more connections, if Holdfast is inside.
    func rest() {
        // Another one answers in its place.
        life.endProbe()
        if isRunning, hasHoldfast {
            isToRest = true
            restLater()
        }
    }

    /// Another process has taken the place of its successor, and with it the link to which this one sends.
    func noteHeir(_ heir: Generation, of successor: Generation) {
        guard self.successor === successor else { return }
        self.successor = heir
        link.noteHeir(heir.link)
    }

    /// Whether it is ready, and is not being ended.
    var mayTakeOver: Bool { state == .ready && order == nil }

    /// Whether it may send something to its successor.
    var mayHandOver: Bool { isRunning && link.isOpen && keepsSomething }

    private static func reason(_ successor: Generation) -> String { "process \(successor.pid) has taken over" }

    /// Tells it of a process that stands by.
    ///
    /// - Parameters:
    ///   - standby: The process.
    ///   - serial: Which one it is.
    func offer(_ standby: Generation, serial: UInt32) { link.setStandby(standby.link, serial: serial) }

    /// Notes that it has had the one that stood by serve, and is about to end by itself: it gets the program's time for its last requests.
    func noteHandOver(to successor: Generation) {
        guard isRunning else { return }
        hasHandedOver = order == nil
        // What looks whether it serves would find that it does not.
        life.pause()
        killLater(as: .stop(by: Self.reason(successor)))
    }

    /// Passes a signal on.
    ///
    /// - Parameters:
    ///   - signal: The signal.
    ///   - reason: Who wants that, in words; nil if that is in the order to end.
    func forward(_ signal: CInt, because reason: String? = nil) {
        guard isRunning else { return }
        if let reason { passedOn[signal] = (reason, MonotonicClock.nanoseconds) }
        if let named { named.signal(signal) } else { child.signal(signal) }
    }

    /// Passes a signal on as soon as it can have said what it does about it: that would end one that has just begun.
    func forwardWhenReady(_ signal: CInt, because reason: String) {
        guard isRunning, order == nil else { return }
        if state == .starting { waitingSignals[signal] = reason } else { forward(signal, because: reason) }
    }

    private func sendWaiting() {
        for (signal, reason) in waitingSignals { forward(signal, because: reason) }
        waitingSignals = [:]
    }

    /// Has it ended: by a signal, or by itself where that is nil; after the program's time it is killed.
    private func end(because order: DeathFacts.Order, _ signal: CInt?) {
        guard isRunning else { return }
        // A second one of the same kind may mean more to a program than the first.
        let isRepeated = self.order != nil && orderSignal == signal && signal != SIGKILL
        if self.order == nil {
            self.order = order
            orderSignal = signal
            // Before anything is sent: afterwards they are elsewhere.
            // One with Holdfast inside reports its stacks itself, with files and lines.
            if case .stop = order {} else { threads = ThreadPlaces.lines(ofGroup: pid, hasStacks: !hasHoldfast) }
        }
        startTimer?.invalidate()
        life.end()
        if let signal, !isRepeated {
            if signal == SIGKILL { wasKilled = true }
            // One with an async main waits where it cannot be told by a signal of the program's.
            if state == .standingBy { _ = child.askToRest() }
            forward(signal)
            // What was stopped takes no signal but SIGKILL.
            child.signalGroup(SIGCONT)
        }
        killLater(as: order)
    }

    /// Kills it if it has not ended in the program's time.
    ///
    /// - Parameter order: What that is, if it has not been told to end until then.
    private func killLater(as order: DeathFacts.Order) {
        guard stopTimer == nil else { return }
        stopTimer = timer("is to have ended", after: program.stopTimeout) { generation in
            if generation.order == nil { generation.order = order }
            generation.killNow()
        }
    }

    private func killNow() {
        Log.write("\(program.name): has not ended within \(program.stopTimeout.inPlainWords), and is killed")
        wasKilled = true
        child.signalGroup(SIGKILL)
        forward(SIGKILL)
    }

    /// Takes the end of a process, if it is of this generation and its end matters.
    ///
    /// - Parameter event: What waitid(2) says; its end was not taken yet.
    /// - Returns: Whether it was taken.
    func takeEnd(_ event: HFChildEvent) -> Bool {
        if life.takeEnd(event) { return true }
        guard isRunning, event.pid == child.pid || event.pid == named?.pid else { return false }
        let before = memory.beforeEnd
        // What it has said before its end counts: who is its main process, what it wants to be kept.
        notify?.drain()
        var taken = HFChildEvent()
        if event.pid == child.pid, let named, !named.hasEnded {
            // The first process of a daemon has done its work.
            _ = unsafe hf_child_take(event.pid, &taken)
            return true
        }
        child.takeOutcome()
        // While the kernel knows it still.
        let processor = ProcessorTime.seconds(of: event.pid)
        let after = memory.afterEnd(of: event.pid)
        let limits = ResourceLimits(pid: event.pid) ?? limits
        let hasFilter = ProcessStatus.hasFilter(SmallFile.text("/proc/\(event.pid)/status") ?? "")
        guard unsafe hf_child_take(event.pid, &taken) == 1 else { return false }
        child.errors.drain()
        child.noteTaken()
        let usage = DeathRecord.Usage(taken)
        let end: ProcessEnd = event.code == CLD_EXITED ? .exited(event.status) : .signalled(event.status)
        let facts = DeathFacts(
            status: child.failure.map { .exited($0.status) } ?? end,
            dumpedCore: event.code == CLD_DUMPED,
            startFailure: child.failure,
            order: order,
            orderSignal: orderSignal,
            hasHandedOver: hasHandedOver,
            threads: threads,
            // One that it has survived did not end it.
            passedOn: passedOn.filter { MonotonicClock.nanoseconds - $0.value.time < 2_000_000_000 }.mapValues(
                \.reason
            ),
            wasKilledByUs: wasKilled,
            before: before,
            after: after,
            pressure: [after?.pressure, MemoryPressure.ofMachine()].compactMap(\.self),
            hasFilter: hasFilter,
            log: kernelLog.entries(of: event.pid, after: logMark),
            isLogReadable: kernelLog.isReadable,
            limits: limits,
            processorSeconds: processor ?? 0,
            saidNoMemory: DeathFacts.saysNoMemory(child.errors.tail)
        )
        clear(facts, usage)
        return true
    }

    /// The main process has ended, and was another one's child.
    private func noteEndOfNamed() {
        guard isRunning, named != nil else { return }
        notify?.drain()
        guard named?.hasEnded == true else { return }
        let log = kernelLog.entries(of: pid, after: logMark)
        let (before, after) = (memory.beforeEnd, memory.afterEnd(of: pid))
        child.errors.drain()
        var facts = DeathFacts(status: .exited(1), unseen: .childOfAnother, order: order)
        (facts.wasKilledByUs, facts.before, facts.after) = (wasKilled, before, after)
        (facts.log, facts.isLogReadable, facts.threads) = (log, kernelLog.isReadable, threads)
        clear(facts, DeathRecord.Usage())
    }

    private func clear(_ facts: DeathFacts, _ usage: DeathRecord.Usage) {
        for timer in [startTimer, stopTimer, restTimer] { timer?.invalidate() }
        stopTimer = nil
        life.end()
        notify?.close()
        link.close()
        let hasGroup = child.hasGroup
        state = hasGroup ? .clearing : .over
        for pid in [child.pid, named?.pid] { if let pid { MainProcesses.remove(pid) } }
        named?.close()
        if hasGroup {
            let signal = wasKilled ? SIGKILL : SIGTERM
            groupEnd = GroupEnd(of: child, program.name, by: signal, within: program.stopTimeout) { [weak self] in
                self?.settle()
            }
        }
        tell(self, .ended(facts, usage))
        if !hasGroup { settle() }
    }

    /// Looks whether everything has ended; called when an end of somebody else's was taken.
    func noteOrphan() { groupEnd?.look() }

    private func settle() {
        groupEnd = nil
        child.errors.noteOver()
        state = .over
        tell(self, .over)
    }

    private func timer(
        _ purpose: String,
        after wait: Duration,
        _ perform: @escaping @MainActor (Generation) -> Void
    ) -> HostRunLoop.Timer {
        let timer = HostRunLoop.Timer(label: "\(program.name) \(purpose)", after: wait) { [weak self] _ in
            if let self { perform(self) }
        }
        HostRunLoop.main.add(timer, to: .common)
        return timer
    }
}
