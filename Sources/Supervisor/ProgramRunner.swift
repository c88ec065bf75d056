internal import CLinuxShims
internal import Glibc
internal import LinuxSystem
internal import RunLoops

/// Keeps one program running: decides what follows the end of each of its processes.
///
/// ```
/// idle ──▶ starting ──▶ ready ──end──▶ clearing ──▶ waiting ──▶ starting …
///                                                └──▶ ended
/// ```
/// A hand-over has two processes: the successor is started beside the current one, which is told to end when the successor is ready.
@MainActor
final class ProgramRunner {
    let program: Program
    private let connections: Connections
    private(set) var state = State.idle {
        didSet {
            guard state != oldValue else { return }
            if state == .ready { records.note(current) }
            // Clients wait while no process runs, whatever the reason is.
            if state == .starting || state == .ready { backlog.end() } else { backlog.begin() }
            connections.changed(self)
        }
    }
    /// The process that serves, or is to.
    private(set) var current: Generation?
    /// The process before that one, if a standby has taken over from it and it has not ended yet.
    private var succeeded: Generation?
    /// The one that is to take over.
    private(set) var successor: Generation?
    /// The one that stands by, or is to.
    private(set) var standby: Generation?
    /// Where the process that serves finds the one that stands by.
    private var standbyPlace: StandbyPlace?
    /// The same for the successor: what is left of the process before must not reach who stands by after it.
    private var successorPlace: StandbyPlace?
    private let standbyCall = DelayedCall()
    /// Whether a process has said that Holdfast is inside: another program would do its work twice.
    private var canStandBy = false
    /// How many that were to stand by have ended in a row.
    private(set) var standbyEnds = 0
    /// Those that were told to end because another one serves.
    private(set) var leaving: [Generation] = []
    private var retirements = Retirements()
    private(set) var count: EndCount
    /// How the last process has ended.
    private(set) var lastStatus: ProcessEnd?
    /// Whether that was a success.
    private(set) var wasSuccess = false
    private(set) var lastVerdict: DeathVerdict?
    private(set) var handOvers = HandOvers()
    /// Whether it was given up: too many early ends.
    private(set) var hasGivenUp = false
    /// When the next process is started, in nanoseconds of CLOCK_MONOTONIC.
    private(set) var startsAt: Int64?

    private var records: ProgramRecords
    private let kept: DescriptorStore
    private let backlog: BacklogWait
    /// What is done when the process has ended: nil for what the program's policy says.
    private var intention: EndDecision.Intention?
    /// What follows the end of the process that was seen last.
    private var next = EndDecision.Next.end
    /// Whether it was started before by this supervisor.
    private var wasStarted = false
    /// Whether its next start waits for those of others.
    private var isHeld = false
    private let startCall = DelayedCall()
    private let healthCall = DelayedCall()
    private let takeOverWait = TakeOverWait()

    init(_ program: Program, _ connections: Connections) {
        self.program = program
        self.connections = connections
        records = ProgramRecords(program, connections.state, terminationLog: connections.terminationLog)
        kept = connections.kept
        backlog = BacklogWait(program, connections.sockets)
        standbyPlace = program.hasStandby ? StandbyPlace() : nil
        count = connections.state?.count(of: program.name) ?? EndCount()
        lastVerdict = records.reportUnseenEnd(count)
    }

    /// The process that counts.
    var pid: CInt? { current.flatMap { $0.isRunning ? $0.pid : nil } }

    /// All processes.
    private var generations: [Generation] { [current, successor, standby].compactMap(\.self) + leaving }

    // MARK: Starting

    /// Starts it: at once, or the first time after the wait that an earlier supervisor had begun.
    func start() {
        guard state == .idle else { return }
        isHeld = false
        if wasStarted { return startNow() }
        // Who starts a program once wants it now.
        let before = program.restarts == .never ? 0 : count.earlyEnds
        let wait = program.backOff.wait(afterEarlyEnds: before, jitter: .random(in: 0...1))
        if wait > .zero {
            Log.write("\(program.name): \(count.earlyEnds) early ends before; starts in \(wait.inPlainWords)")
        }
        start(after: wait)
    }

    private func start(after wait: Duration) {
        guard wait > .zero else { return startNow() }
        startsAt = MonotonicClock.nanoseconds + wait.nanosecondCount
        startCall.make("\(program.name) starts again", after: wait) { [weak self] in self?.startNow() }
        state = .waiting
    }

    private func startNow() {
        startCall.cancel()
        startsAt = nil
        if isHeld {
            state = .idle
            return
        }
        backlog.end()
        wasStarted = true
        intention = nil
        do {
            current = try makeGeneration(at: standbyPlace)
            records.note(current)
            state = .starting
        } catch {
            current = nil
            records.note(nil)
            finish(DeathFacts(status: .exited(error.status), startFailure: error), DeathRecord.Usage(), of: nil)
            // What cannot be started now cannot be a moment later: never at once, whatever the back-off says.
            if case .start(let wait) = next { next = .start(max(wait, .milliseconds(100))) }
            goOn()
        }
    }

    private func makeGeneration(
        standsBy: Bool = false,
        at place: StandbyPlace?,
        after one: Generation? = nil
    ) throws(StartFailure) -> Generation {
        let provisions = Child.Provisions(
            descriptors: connections.sockets.map { ($0.name, $0.descriptor) } + kept.descriptors,
            terminal: connections.terminal,
            standby: place.map { ($0.page, $0.event, standsBy) },
            predecessor: one?.pid
        )
        let (environment, log) = (connections.environment, connections.kernelLog)
        return try Generation(program, environment: environment, provisions, kernelLog: log) { [weak self] in
            self?.note($1, of: $0)
        }
    }

    private func note(_ event: Generation.Event, of generation: Generation) {
        switch event {
        case .ready: noteReady(generation)
        case .standsBy: noteStandsBy(generation)
        case .ended(let facts, let usage): noteEnd(facts, usage, of: generation)
        case .over: noteOver(generation)
        case .said:
            if generation === current {
                records.noteMainProcess(of: generation)
                if generation.hasHoldfast, !canStandBy {
                    canStandBy = true
                    startStandby()
                }
            }
            connections.changed(self)
        case .linked: if generation.state == .standingBy { noteStandsBy(generation) }
        case .stores(let descriptors, let name, let isPolled):
            let refused = kept.keep(descriptors, name: name, isPolled: isPolled)
            guard refused > 0 else { return }
            Log.write("\(program.name): \(refused) descriptors are not kept; \(DescriptorStore.most) are the most")
        case .removes(let name): kept.remove(named: name)
        case .extends(let time):
            // Whoever waits for us waits for it.
            connections.manager.tell("EXTEND_TIMEOUT_USEC=\(time.nanosecondCount / 1000)")
        }
    }

    private func noteReady(_ generation: Generation) {
        if generation === successor { return takeOver(generation) }
        if generation === standby { return noteReleased(generation) }
        guard generation === current else { return }
        watchHealth(of: generation)
        if handOvers.isInherited { handOvers.succeed() }
        // One that stood by counts as ready since it was told to serve.
        guard state != .ready else { return noteSoon() }
        if standbyPlace != nil, !canStandBy { expectHoldfast() }
        state = .ready
        startStandby()
    }

    private func watchHealth(of generation: Generation) {
        healthCall.cancel()
        guard count.earlyEnds > 0 else { return }
        let left = program.backOff.healthyAfter - generation.child.age
        healthCall.make("\(program.name) counts as healthy", after: max(.zero, left)) { [weak self] in
            guard let self else { return }
            count.noteHealth()
            records.write(count)
            startStandby()
        }
    }

    // MARK: Hand-over

    /// Starts the next process beside the one that serves, which goes on until the next one is ready.
    ///
    /// If the next one does not become ready, nothing has happened but a report.
    ///
    /// - Parameter reason: Who wants that, in words.
    func handOver(because reason: String) {
        guard state == .ready, current != nil else { return restart(because: reason) }
        handOvers.begin()
        successorPlace = program.hasStandby ? StandbyPlace() : nil
        do {
            successor = try makeGeneration(at: successorPlace, after: current)
        } catch {
            let facts = DeathFacts(status: .exited(error.status), startFailure: error)
            records.report(facts, DeathRecord.Usage(), of: nil, "The one before goes on.", restarts: count.restarts)
            handOverFailed(DeathVerdict(of: facts).sentence)
        }
        connections.changed(self)
    }

    private func takeOver(_ generation: Generation) {
        let place = standby == nil ? nil : standbyPlace
        if takeOverWait.isNeeded(at: place, of: program.name, again: { [weak self] in self?.takeOverIfReady() }) {
            return
        }
        let before = current
        succeed(generation)
        count.noteHealth()
        records.write(count)
        if let before {
            leaving.append(before)
            retirements.add(before, for: generation)
            retirements.tell(leaving)
        }
        handOvers.succeed()
        watchHealth(of: generation)
        startStandby()
        connections.changed(self)
    }

    private func takeOverIfReady() {
        if intention == nil, let successor, successor.mayTakeOver { takeOver(successor) }
    }

    private func succeed(_ generation: Generation) {
        // It is of the program before.
        dropStandby(because: "process \(generation.pid) has taken over")
        standbyPlace = successorPlace
        successorPlace = nil
        successor = nil
        current = generation
        records.note(current)
        count.noteRestart()
    }

    /// Why no upgrade can begin now; nil if one can.
    var handOverRefusal: String? {
        if successor != nil || handOvers.isInherited { return "an upgrade of \(program.name) is under way" }
        if intention != nil, state != .ended { return "\(program.name) is being ended; upgrade it when it is ready" }
        return state == .starting ? "\(program.name) is still starting; upgrade it when it is ready" : nil
    }

    private func handOverFailed(_ reason: String) {
        takeOverWait.end()
        successor = nil
        successorPlace = nil
        handOvers.fail(reason)
        Log.write("\(program.name): the next process did not take over, the one before goes on")
        startStandby()
    }

    // MARK: Standby

    /// Starts a process that stands by, unless there is one, or the one that serves has not shown that it lives.
    private func startStandby() {
        guard let standbyPlace, canStandBy, standby == nil, successor == nil, state == .ready, intention == nil,
            count.earlyEnds == 0
        else {
            return
        }
        standbyCall.cancel()
        standbyPlace.clear()
        do {
            standby = try makeGeneration(standsBy: true, at: standbyPlace)
        } catch {
            Log.write("\(program.name): no process stands by: \(error.text)")
            startStandbyLater()
        }
    }

    /// Says that no process will stand by, unless the one that serves says soon that Holdfast is inside.
    private func expectHoldfast() {
        let limit = program.startTimeout > .zero ? min(program.startTimeout, .seconds(10)) : .seconds(10)
        standbyCall.make("\(program.name) has Holdfast inside", after: limit) { [weak self] in
            guard let self, !canStandBy, state == .ready else { return }
            Log.write("\(program.name): no process stands by: --standby needs Holdfast inside")
        }
    }

    private func startStandbyLater() {
        standbyEnds += 1
        startStandby(after: program.backOff.wait(afterEarlyEnds: standbyEnds, jitter: .random(in: 0...1)))
    }

    /// Starts one a moment later, at the earliest: the clients that have waited need the processors first.
    private func startStandby(after wait: Duration) {
        standbyCall.make("\(program.name) is to stand by", after: max(wait, .milliseconds(100))) { [weak self] in
            self?.startStandby()
        }
    }

    private func noteStandsBy(_ generation: Generation) {
        // One that was told to serve makes a link when it does.
        guard generation === standby, let standbyPlace, !standbyPlace.isReleased else { return }
        standbyPlace.noteReady()
        current?.offer(generation, serial: standbyPlace.serial)
        connections.changed(self)
    }

    /// The process that stood by serves: the one before has told it to, from its fault handler, or has ended without a word.
    private func noteReleased(_ generation: Generation, isSuccess: Bool = false) {
        guard generation.wasStandingBy else {
            Log.write("\(program.name): it cannot stand by: --standby needs Holdfast inside")
            return dropStandby(because: "it cannot stand by")
        }
        // The one before would be ended for it.
        guard standbyPlace?.isReleased == true else {
            dropStandby(because: "it serves, and nobody has told it to")
            return startStandbyLater()
        }
        standby = nil
        if let before = current {
            succeeded = before
            leaving.append(before)
            before.noteHandOver(to: generation)
            retirements.replace(before, by: generation, leaving)
            count.note(lived: before.child.age, isSuccess: isSuccess, program.backOff)
        }
        current = generation
        count.noteRestart()
        noteSoon()
        watchHealth(of: generation)
        state = .ready
        startStandby(after: .zero)
        connections.changed(self)
        takeOverIfReady()
    }

    /// Writes down which process serves, and the count, a moment later: whoever has waited needs the processors first, and a file that replaces
    /// another one is written to the disk at once (ext4(5), auto_da_alloc), which takes 0.7 ms.
    private func noteSoon() {
        let timer = HostRunLoop.Timer(label: "\(program.name) is written down", after: .milliseconds(20)) {
            [weak self] _ in
            guard let self else { return }
            records.note(current)
            records.write(count)
        }
        HostRunLoop.main.add(timer, to: .common)
    }

    private func dropStandby(because reason: String) {
        guard let standby else { return }
        standbyPlace?.clear()
        self.standby = nil
        leaving.append(standby)
        standby.stop(because: reason)
    }

    // MARK: Ending

    /// Ends it for good.
    ///
    /// - Parameters:
    ///   - reason: Who wants that, in words.
    ///   - signal: What it gets; nil for the program's stop signal.
    func stop(because reason: String, signal: CInt? = nil) {
        intention = .stop
        switch state {
        case .idle, .waiting:
            startCall.cancel()
            startsAt = nil
            next = .end
            if generations.isEmpty { state = .ended }
        case .starting, .ready, .clearing, .ended: break
        }
        for generation in generations { generation.stop(because: reason, signal: signal) }
    }

    /// Notes that it is ended when its turn has come: until then it is not started again.
    func noteStopping() {
        intention = .stop
        startCall.cancel()
    }

    /// Ends the process and starts the next one, without a wait.
    func restart(because reason: String) {
        switch state {
        case .idle: forgetWait()
        case .waiting, .ended:
            forgetWait()
            isHeld = false
            startNow()
        case .starting, .ready: endProcesses(.restart, because: reason)
        // What is left are processes before the last one.
        case .clearing where current == nil: startNow()
        case .clearing: if intention != .stop { intention = .restart }
        }
    }

    /// Ends the process, without a wait for the next one, which is started when the supervisor says so.
    func holdForRestart(because reason: String) {
        switch state {
        case .idle: forgetWait()
        case .waiting, .ended:
            forgetWait()
            startCall.cancel()
            startsAt = nil
            state = .idle
        case .starting, .ready: endProcesses(.hold, because: reason)
        case .clearing where current == nil: state = .idle
        case .clearing: if intention != .stop { (intention, next) = (.hold, .hold) }
        }
    }

    /// Starts anew as if there had been no early ends.
    private func forgetWait() {
        count.noteHealth()
        records.write(count)
        hasGivenUp = false
    }

    private func endProcesses(_ intention: EndDecision.Intention, because reason: String) {
        if self.intention != .stop { self.intention = intention }
        successor?.stop(because: reason)
        dropStandby(because: reason)
        current?.stop(because: reason)
    }

    /// Ends the process, and starts the next one when the supervisor says so.
    func hold(because reason: String) {
        switch state {
        case .starting, .ready: endProcesses(.hold, because: reason)
        case .waiting, .clearing: isHeld = true
        case .idle, .ended: break
        }
    }

    /// Has the start after the end that was just seen wait for those of others.
    func holdNext() { isHeld = true }

    /// Whether its process runs and was told to end.
    var isBeingEnded: Bool { intention != nil && (state == .ready || state == .starting) }

    /// Passes a signal on: to the process that counts, and to those that may count next, if they can have said what they do about it.
    func forward(_ signal: CInt, because reason: String) {
        current?.forward(signal, because: reason)
        for generation in [successor, standby] { generation?.forwardWhenReady(signal, because: reason) }
    }

    /// Has all processes read their configuration again, those that start as soon as they are ready.
    func reload(by signal: CInt, because reason: String) {
        for generation in [current, successor, standby] { generation?.forwardWhenReady(signal, because: reason) }
    }

    /// Takes the end of a process, if it is one of this program that counts.
    ///
    /// - Parameter event: What waitid(2) says; its end was not taken yet.
    /// - Returns: Whether it was taken.
    func takeEnd(_ event: HFChildEvent) -> Bool { generations.contains { $0.takeEnd(event) } }

    /// Looks whether what processes have left has ended.
    func noteOrphan() { for generation in generations { generation.noteOrphan() } }

    private func noteEnd(_ facts: DeathFacts, _ usage: DeathRecord.Usage, of generation: Generation) {
        // Also if a successor is under way, which takes over later.
        if generation === current, let standby, standby.state == .standingBy, intention == nil,
            standbyPlace?.isReleased == true || program.isStarted(after: facts)
        {
            // Before anything is written down: others wait. It may have been told before, by one that died in between.
            standbyPlace?.release()
            standby.noteReleased()
            noteReleased(standby, isSuccess: program.isSuccess(facts))
        }
        if generation === current {
            healthCall.cancel()
            finish(facts, usage, of: generation)
            if handOvers.isInherited { handOvers.fail(DeathVerdict(of: facts).sentence) }
            // A successor that is under way has nobody to take over from.
            if let successor {
                leaving.append(generation)
                succeed(successor)
                handOvers.noteEarlyEnd()
                state = .starting
                if intention == nil, successor.mayTakeOver { noteReady(successor) }
            } else if generation.state == .clearing {
                state = .clearing
            }
        } else {
            let isSuccessor = generation === successor
            let action = isSuccessor ? "The one before goes on." : state == .ready ? "Another one serves." : ""
            let isSucceeded = generation === succeeded
            if isSucceeded {
                lastVerdict = DeathVerdict(of: facts)
                succeeded = nil
            }
            // Its successor was counted already.
            records.report(
                facts,
                usage,
                of: generation,
                action,
                restarts: count.restarts - (isSucceeded ? 1 : 0),
                isLast: isSucceeded || !leaving.contains { $0 === generation }
            )
            retirements.remove(generation)
            retirements.tell(leaving)
            if generation === standby {
                standbyPlace?.clear()
                standby = nil
                leaving.append(generation)
                if generation.child.age >= program.backOff.healthyAfter { standbyEnds = 0 }
                startStandbyLater()
            }
            if isSuccessor {
                leaving.append(generation)
                handOverFailed(DeathVerdict(of: facts).sentence)
            }
            connections.changed(self)
        }
    }

    private func noteOver(_ generation: Generation) {
        leaving.removeAll { $0 === generation }
        if generation === current {
            current = nil
            records.note(nil)
            goOn()
        } else if current == nil, successor == nil, leaving.isEmpty, intention == .stop {
            state = .ended
        } else {
            connections.changed(self)
        }
    }

    /// Counts an end, decides what follows, and writes it down.
    private func finish(_ facts: DeathFacts, _ usage: DeathRecord.Usage, of generation: Generation?) {
        let lived = generation?.child.age ?? .zero
        lastStatus = facts.status
        wasSuccess = program.isSuccess(facts)
        lastVerdict = DeathVerdict(of: facts)
        if intention == nil {
            count.note(lived: lived, isSuccess: wasSuccess, program.backOff)
            // One that has done its work takes nobody with it, as a transient child of Erlang's supervisor.
            let isDone = wasSuccess && !program.isStarted(after: facts)
            if successor == nil, !isDone { connections.died(self) }
        }
        var action = "The next one is under way."
        if successor == nil || intention != nil {
            let jitter = Double.random(in: 0...1)
            let decision = EndDecision(of: program, intention, after: facts, lived: lived, count, jitter: jitter)
            (next, action) = (decision.next, decision.words)
            if decision.givesUp { hasGivenUp = true }
        }
        records.write(count)
        records.report(facts, usage, of: generation, action, restarts: count.restarts)
        records.noteEnd(of: generation)
    }

    /// Does what follows, when nothing of the process is left.
    private func goOn() {
        // What was asked for meanwhile counts.
        switch intention {
        case .stop: next = .end
        case .restart: next = .start(.zero)
        case .hold, nil: break
        }
        switch next {
        case .end:
            dropStandby(because: "the program has ended")
            // It ends for good when those have ended that it has taken over from.
            intention = .stop
            state = leaving.isEmpty ? .ended : .clearing
        case .hold:
            count.noteRestart()
            state = .idle
        case .start(let wait):
            count.noteRestart()
            records.write(count)
            start(after: wait)
        }
    }
}
