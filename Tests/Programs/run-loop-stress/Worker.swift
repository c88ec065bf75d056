import Glibc
import RunLoops
import Synchronization

/// A thread that does random things to the loops, in bursts.
final class Worker: @unchecked Sendable {
    /// What it can do.
    enum Operation: Int, CaseIterable {
        case block, job, wake, stop, nest, signalShared, signalEverywhere, signalOwn, moveSource, replaceSource
        case timer, cancelTimer, moveTimer, repeatTimer, observer, post, changeInterest, movePort, replacePort, ask
    }

    let referee: Referee
    let number: Int
    var generator: SeededGenerator

    // Its own items, and the loop that they are in; touched by this thread only.
    var sourceHome: LoopThread
    var source: OwnSource
    var portHome: LoopThread
    var port: OwnPort
    var repeating: [RepeatingTimer] = []

    init(_ referee: Referee, number: Int, seed: UInt64) {
        self.referee = referee
        self.number = number
        generator = SeededGenerator(seed: seed)
        (sourceHome, portHome) = (referee.loops[0], referee.loops[0])
        source = OwnSource(referee)
        port = OwnPort(referee)
        chooseHomes()
    }

    func chooseHomes() {
        sourceHome = anyLoop()
        sourceHome.loop.add(source.source, to: .common)
        portHome = anyLoop()
        port.add(to: portHome)
    }

    func anyLoop() -> LoopThread {
        referee.loops[Int.random(in: 0..<referee.loops.count, using: &generator)]
    }

    /// Does some things in a row.
    func burst(of length: Int) {
        for _ in 0..<length {
            let operation = Operation.allCases[Int.random(in: 0..<Operation.allCases.count, using: &generator)]
            perform(operation)
            referee.count(operation)
        }
        // A timer that went on would wake a loop for which a wake-up was lost.
        endTimers()
    }

    /// Leaves nothing of its own on a loop.
    func end() {
        source.retire()
        port.retire()
    }

    private func endTimers() {
        for timer in repeating { timer.retire() }
        repeating = []
    }

    private func perform(_ operation: Operation) {
        let target = anyLoop()
        let loop: HostRunLoop = target.loop
        switch operation {
        case .block: postBlock(to: target)
        case .job: postJob(to: target)
        case .wake: loop.wakeUp()
        case .stop: target.stop()
        case .nest:
            loop.performWithoutWaking(in: .common) { target.nest() }
            loop.wakeUp()
        case .signalShared:
            let (source, account) = target.shared[Int.random(in: 0..<target.shared.count, using: &generator)]
            account.willSignal()
            source.signal()
            loop.wakeUp()
        case .signalEverywhere:
            referee.everywhereAccount.willSignal()
            referee.everywhere.signal()
            loop.wakeUp()
        case .signalOwn: source.signal(on: sourceHome)
        case .moveSource:
            sourceHome.loop.remove(source.source, from: .common)
            sourceHome = target
            sourceHome.loop.add(source.source, to: .common)
            // A signal that it brings along.
            loop.wakeUp()
        case .replaceSource:
            source.retire()
            source = OwnSource(referee)
            sourceHome = target
            sourceHome.loop.add(source.source, to: .common)
        case .timer, .cancelTimer, .moveTimer: addTimer(operation, to: target)
        case .repeatTimer:
            if repeating.count > 3 { repeating.removeFirst().retire() }
            repeating.append(RepeatingTimer(referee, on: target, every: Int.random(in: 100...5000, using: &generator)))
        case .observer: addObserver(to: target)
        case .post: port.post()
        case .changeInterest: port.changeInterest()
        case .movePort:
            portHome.loop.remove(port.source, from: .common)
            portHome = target
            port.add(to: target)
        case .replacePort:
            guard port.isSettled else { return }
            port.retire()
            port = OwnPort(referee)
            portHome = target
            port.add(to: target)
        case .ask:
            _ = (loop.currentMode, loop.allModes, loop.isEmpty(.default), loop.isWaiting, loop.passCount)
            _ = loop.nextTimerFireDate(in: .default)
            loop.addCommonMode(LoopThread.otherMode)
        }
    }

    private func postBlock(to target: LoopThread) {
        let loop: HostRunLoop = target.loop
        let debt = Debt(referee.blocks, payload: number + 1)
        let body: @Sendable () -> Void = {
            target.note()
            debt.pay()
        }
        loop.performWithoutWaking(in: .common, body)
        switch referee.options.sabotage {
        case .wake where Int.random(in: 0..<5, using: &generator) == 0: return
        case .duplicate where Int.random(in: 0..<5, using: &generator) == 0:
            loop.performWithoutWaking(in: .common, body)
        case .race:
            loop.performWithoutWaking(in: .common) { [referee] in referee.unprotected += 1 }
            referee.unprotected += 1
        default: break
        }
        loop.wakeUp()
    }

    private func postJob(to target: LoopThread) {
        let debt = Debt(referee.jobs, payload: number + 1)
        Task(executorPreference: target.loop) {
            target.note()
            debt.pay()
        }
    }

    private func addTimer(_ operation: Operation, to target: LoopThread) {
        let debt = Debt(referee.timers, payload: number + 1)
        let delay = Duration.microseconds(Int.random(in: -50...300, using: &generator))
        let timer = HostRunLoop.Timer(label: "t", after: operation == .moveTimer ? .seconds(1000) : delay) { _ in
            target.note()
            debt.pay()
        }
        target.loop.add(timer, to: .common)
        switch operation {
        case .cancelTimer:
            if Bool.random(using: &generator) { sched_yield() }
            timer.invalidate()
            debt.cancel()
        case .moveTimer:
            timer.nextFireDate = .now.advanced(by: .seconds(500))
            timer.nextFireDate = .now.advanced(by: delay)
        default: break
        }
    }

    private func addObserver(to target: LoopThread) {
        let repeats = Bool.random(using: &generator)
        let isDead = Flag(false)
        let observer = HostRunLoop.Observer(label: "o", activities: .all, repeats: repeats, order: number) { _, _ in
            if isDead.value { Referee.fail("an observer was called after it was invalidated") }
            target.note()
        }
        target.loop.add(observer, to: .common)
        if Bool.random(using: &generator) { target.loop.wakeUp() }
        if Bool.random(using: &generator) { target.loop.remove(observer, from: .common) }
        observer.invalidate()
        referee.fence(target) { isDead.value = true }
    }
}
