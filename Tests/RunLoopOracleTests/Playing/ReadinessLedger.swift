import RunLoops

/// Keeps account of what is ready in a play, and says as soon as the loops may differ for a known reason.
///
/// It knows nothing of either loop but what goes in and comes out, and errs on the side of saying so: two things that are
/// ready at the same time count even if one of them would be gone before the loop looked.
struct ReadinessLedger {
    /// A run that was begun and did not end yet.
    private struct Activation {
        let mode: ScenarioMode
        let returnsAfterSource: Bool
        var passes = 0
        /// Timers fired since the last wait.
        var timersFired = 0
        var acceptsWakeUps = true
        /// A timer or a port was called since the last stage.
        var isServing = false
        var isInBlock = false
        /// Whether a block woke the loop, or left a ghost, since the last wait: a pass has blocks before its wait and after it.
        var blockWoke = false
        var blockHaunts = false
        var stage: HostRunLoop.Activity = []
    }

    private let kinds: [ScenarioItem.Kind]
    private unowned let adapter: any LoopAdapter
    private var activations: [Activation] = []
    /// The items whose callouts did not return yet.
    private var callouts: [Int] = []
    private var isWakePending = false
    private var dueTimers: Set<Int> = []
    private var firingTimers: Set<Int> = []
    /// Timers whose date was set in their own callout.
    private var movedTimers: Set<Int> = []
    private var readyPorts: Set<Int> = []
    /// Modes whose kernel timer may be ready in CFRunLoop though no timer of theirs is due.
    private var ghosts: Set<ScenarioMode> = []
    /// In which modes an item was before it was added: there it stays as it is.
    private var modesBefore: Set<ScenarioMode> = []

    /// The first reason that was met.
    private(set) var divergence: KnownDivergence?

    init(_ scenario: Scenario, _ adapter: any LoopAdapter) {
        kinds = scenario.items.map(\.kind)
        self.adapter = adapter
        for (index, kind) in kinds.enumerated() {
            switch kind {
            case .timer(.due, _): dueTimers.insert(index)
            case .port(isReady: true): readyPorts.insert(index)
            default: break
            }
        }
    }

    // MARK: Runs

    mutating func willRun(_ mode: ScenarioMode, returnsAfterSource: Bool) {
        if let outer = activations.last, outer.stage == .afterWaiting, !outer.isServing,
            hasDueTimer(in: outer.mode) || countReadyPorts(in: outer.mode) > 0
        {
            note(.eventTakenEarly)
        }
        activations.append(Activation(mode: mode, returnsAfterSource: returnsAfterSource))
        judge()
    }

    mutating func didRun() {
        activations.removeLast()
        judge()
    }

    /// Is told of every stage, before all other observers of it.
    mutating func reached(_ stage: HostRunLoop.Activity) {
        guard let last = activations.indices.last else { return }
        activations[last].stage = stage
        // The wait came before the callout, in which a nested run may have accepted a wake-up.
        let hasServed = activations[last].isServing
        activations[last].isServing = false
        switch stage {
        case .beforeTimers:
            if activations[last].passes > 0, !hasServed { waited() }
            activations[last].passes += 1
            activations[last].acceptsWakeUps = true
        case .afterWaiting:
            waited()
            activations[last].acceptsWakeUps = false
        case .exit:
            if activations[last].passes > 0 {
                if !hasServed { waited() }
                activations[last].acceptsWakeUps = false
            }
        default:
            break
        }
        judge()
    }

    /// Whether something will end the sleep that is about to begin; is asked after all other observers.
    mutating func isSleepShort() -> Bool {
        guard let mode = activations.last?.mode else { return true }
        if ghosts.contains(mode) { note(.ghostWakeUp) }
        return divergence == nil && (hasDueTimer(in: mode) || countReadyPorts(in: mode) > 0)
    }

    // MARK: Callouts

    mutating func calloutBegins(_ item: Int) {
        if let last = activations.indices.last {
            switch kinds[item] {
            case .port:
                readyPorts.remove(item)
                served(last)
            case .timer:
                served(last)
                timerBegins(item, in: last)
            case .block:
                activations[last].isInBlock = true
            case .source, .observer:
                break
            }
        }
        callouts.append(item)
    }

    mutating func calloutEnds() {
        let item = callouts.removeLast()
        if let last = activations.indices.last { activations[last].isInBlock = false }
        if case .timer = kinds[item] { timerEnds(item) }
        judge()
    }

    /// A wait has ended and what it brought is being served: wake-ups are dropped until the next pass.
    private mutating func served(_ activation: Int) {
        waited()
        activations[activation].acceptsWakeUps = false
        activations[activation].isServing = true
    }

    private mutating func timerBegins(_ timer: Int, in activation: Int) {
        let mode = activations[activation].mode
        activations[activation].timersFired += 1
        firingTimers.insert(timer)
        dueTimers.remove(timer)
        for other in modes(of: timer) where other != mode {
            haunt(other)
        }
        // The kernel timer was set again for this one when the one before it fired.
        if activations[activation].timersFired > 1, !hasOtherTimers(in: mode) { haunt(mode) }
    }

    private mutating func haunt(_ mode: ScenarioMode) {
        ghosts.insert(mode)
        for index in activations.indices where activations[index].isInBlock && activations[index].mode == mode {
            activations[index].blockHaunts = true
        }
    }

    private mutating func timerEnds(_ timer: Int) {
        // One that fires once leaves its modes only after this.
        if case .timer(_, everyMilliseconds: nil) = kinds[timer] {
            removeGhosts()
            firingTimers.remove(timer)
        } else {
            firingTimers.remove(timer)
            removeGhosts()
            if movedTimers.remove(timer) != nil, modes(of: timer).contains(where: { $0 != activations.last?.mode }) {
                note(.movedTimerInOtherModes)
            }
        }
    }

    /// Where another timer is left the kernel timer is set for that one.
    private mutating func removeGhosts() {
        for mode in ScenarioMode.concrete where hasOtherTimers(in: mode) {
            ghosts.remove(mode)
        }
    }

    // MARK: Actions

    mutating func willDo(_ action: Action, on item: Int?) {
        switch action {
        case .add:
            if let item { modesBefore = Set(modes(of: item)) }
        case .write:
            if let item { judgeTakenPort(item) }
        case .setDate:
            if let item, firingTimers.contains(item) { movedTimers.insert(item) }
        case .remove, .invalidate:
            guard let item else { break }
            judgeTakenPort(item)
            if dueTimers.contains(item) {
                for mode in modes(of: item) where timers(in: mode).subtracting(firingTimers) == [item] {
                    haunt(mode)
                }
            }
        case .addCommonMode:
            if hasTwins { note(.hashTableOrder) }
        default:
            break
        }
    }

    mutating func didDo(_ action: Action, on item: Int?) {
        switch action {
        case .add, .setDate:
            guard let item, case .timer = kinds[item] else { break }
            if case .setDate(_, let date) = action {
                modesBefore = []
                if date == .due { dueTimers.insert(item) } else { dueTimers.remove(item) }
            }
            if !firingTimers.contains(item) { ghosts.subtract(Set(modes(of: item)).subtracting(modesBefore)) }
            // What ended the wait is taken already. If the timer fires for that, it has set the kernel timer in vain.
            if dueTimers.contains(item) {
                for activation in activations where activation.stage == .afterWaiting && !activation.isServing {
                    if adapter.contains(item, in: activation.mode) { haunt(activation.mode) }
                }
            }
        case .write:
            if let item { readyPorts.insert(item) }
        case .wakeUp, .stop:
            if activations.last?.acceptsWakeUps ?? false {
                isWakePending = true
                for index in activations.indices where activations[index].isInBlock {
                    activations[index].blockWoke = true
                }
            }
        default:
            break
        }
        judge()
    }

    // MARK: Judging

    private mutating func note(_ reason: KnownDivergence) {
        divergence = divergence ?? reason
    }

    /// A port is about to be touched that CFRunLoop may have read already, without having called it.
    private mutating func judgeTakenPort(_ port: Int) {
        if readyPorts.contains(port), activations.last?.stage == .afterWaiting { note(.portIsReadByLoop) }
    }

    /// A wait has ended in the innermost run.
    private mutating func waited() {
        guard let last = activations.indices.last else { return }
        isWakePending = activations[last].blockWoke
        activations[last].blockWoke = false
        if activations[last].acceptsWakeUps {
            if !activations[last].blockHaunts { ghosts.remove(activations[last].mode) }
            activations[last].blockHaunts = false
            activations[last].timersFired = 0
        }
    }

    /// Looks whether more than one thing could end the next wait of the innermost run.
    private mutating func judge() {
        // A run in the common modes waits for nothing, and CFRunLoop tells otherwise what is in them (`commonTimerInNoMode`).
        guard divergence == nil, let mode = activations.last?.mode, mode != .common else { return }
        let isGhostly = ghosts.contains(mode)
        let ready =
            (isWakePending ? 1 : 0) + (hasDueTimer(in: mode) || isGhostly ? 1 : 0) + countReadyPorts(in: mode)
        if ready > 1 { note(isGhostly ? .ghostWakeUp : .simultaneousEvents) }
    }

    private func timers(in mode: ScenarioMode) -> Set<Int> {
        Set(kinds.indices.filter { if case .timer = kinds[$0] { adapter.contains($0, in: mode) } else { false } })
    }

    private func hasOtherTimers(in mode: ScenarioMode) -> Bool {
        !timers(in: mode).isSubset(of: firingTimers)
    }

    private func hasDueTimer(in mode: ScenarioMode) -> Bool {
        dueTimers.contains { !firingTimers.contains($0) && adapter.contains($0, in: mode) }
    }

    private func countReadyPorts(in mode: ScenarioMode) -> Int {
        readyPorts.count { adapter.contains($0, in: mode) }
    }

    private func modes(of item: Int) -> [ScenarioMode] {
        ScenarioMode.concrete.filter { adapter.contains(item, in: $0) }
    }

    /// Whether two common observers have the same order.
    private var hasTwins: Bool {
        var orders: Set<Int> = []
        for (index, kind) in kinds.enumerated() {
            // CFRunLoop keeps invalid ones, and adds them nowhere any more (`KnownDivergence.invalidCommonItem`).
            guard case .observer(_, let order, _) = kind, adapter.isValid(index), adapter.contains(index, in: .common)
            else { continue }
            if !orders.insert(order).inserted { return true }
        }
        return false
    }
}
