import Glibc
import RunLoops
import Synchronization

/// Plays a scenario on the loop of the current thread and writes down what it sees.
///
/// Belongs to that thread, except for what the comments say.
final class ScenarioPlayer: CalloutSink, @unchecked Sendable {
    /// Makes the adapter for a thread's loop.
    typealias MakeAdapter = @Sendable (Scenario, any CalloutSink) -> any LoopAdapter

    private let scenario: Scenario
    private let indices: [String: Int]
    /// Also written by the threads of `Action.whileAsleep`.
    private let entries = Mutex<[TraceEntry]>([])
    private var adapter: (any LoopAdapter)?
    private var ledger: ReadinessLedger?
    private var hookedModes: Set<ScenarioMode> = []
    /// How often every item was called.
    private var calls: [Int]
    private var depth = 0
    private var isCut = false
    private var helpers: [HelperThread] = []
    /// How many entries there were before the thread ended.
    private var endOfSteps = 0

    init(_ scenario: Scenario) {
        self.scenario = scenario
        indices = Dictionary(scenario.items.enumerated().map { ($1.name, $0) }) { first, _ in first }
        calls = Array(repeating: 0, count: scenario.items.count)
    }

    /// Plays a scenario on a thread of its own and returns what was seen until that thread's end.
    static func play(_ scenario: Scenario, on make: @escaping MakeAdapter) -> [TraceEntry] {
        let player = ScenarioPlayer(scenario)
        HelperThread { player.playAll(make) }.join()
        // The `cancel` callouts of a thread's end have no order.
        player.sortMemberships(from: player.endOfSteps)
        return player.entries.withLock { $0 }
    }

    private func playAll(_ make: MakeAdapter) {
        let adapter = make(scenario, self)
        self.adapter = adapter
        ledger = scenario.isWatched ? ReadinessLedger(scenario, adapter) : nil
        for step in scenario.steps where !isCut {
            perform(step, on: adapter)
        }
        if !isCut { look(at: adapter) }
        for helper in helpers { helper.join() }
        endOfSteps = entries.withLock { $0.count }
    }

    // MARK: CalloutSink

    func called(_ item: Int, _ activity: HostRunLoop.Activity?) {
        guard let adapter, !isCut else { return }
        record(.called(scenario.items[item].name, activity, in: adapter.currentMode, depth: depth))
        ledger?.calloutBegins(item)
        let call = calls[item]
        calls[item] += 1
        if scenario.items[item].script.indices.contains(call) {
            for action in scenario.items[item].script[call] where !isCut {
                perform(action, on: adapter)
            }
        }
        ledger?.calloutEnds()
        cutIfDivergent()
    }

    /// Also called on the threads of `Action.whileAsleep`.
    func scheduled(_ item: Int, in mode: ScenarioMode) {
        record(.scheduled(scenario.items[item].name, in: mode))
    }

    /// Also called on the threads of `Action.whileAsleep`.
    func cancelled(_ item: Int, in mode: ScenarioMode) {
        record(.cancelled(scenario.items[item].name, in: mode))
    }

    // MARK: Actions

    private func perform(_ action: Action, on adapter: any LoopAdapter) {
        let item = action.itemName.flatMap { indices[$0] }
        ledger?.willDo(action, on: item)
        cutIfDivergent()
        guard !isCut else { return }
        let start = entries.withLock { $0.count }
        switch action {
        case .run(let mode, let limit, let returnsAfterSource):
            run(mode, limit, returnsAfterSource, on: adapter)
        case .look:
            look(at: adapter)
        case .whileAsleep(let actions):
            helpWhileAsleep(actions, on: adapter)
        case .stall(let milliseconds):
            usleep(useconds_t(milliseconds * 1000))
        default:
            apply(action, to: item, on: adapter)
            sortMemberships(from: start)
        }
        ledger?.didDo(action, on: item)
        cutIfDivergent()
    }

    /// Does what needs nothing but the adapter; also called on the threads of `Action.whileAsleep`.
    private func apply(_ action: Action, to item: Int?, on adapter: any LoopAdapter) {
        switch action {
        case .addCommonMode(let mode): return adapter.addCommonMode(mode)
        case .wakeUp: return adapter.wakeUp()
        case .stop: return adapter.stop()
        default: break
        }
        guard let item else { return }
        switch action {
        case .add(_, let mode): adapter.add(item, to: mode)
        case .remove(_, let mode): adapter.remove(item, from: mode)
        case .invalidate: adapter.invalidate(item)
        case .signal: adapter.signal(item)
        case .write: adapter.write(item)
        case .setDate(_, let date): adapter.setDate(item, date)
        case .perform(_, let modes): adapter.perform(item, in: modes)
        default: break
        }
    }

    private func run(_ mode: ScenarioMode, _ limit: RunLimit, _ returnsAfterSource: Bool, on adapter: any LoopAdapter) {
        if scenario.isWatched, adapter.allModes.contains(mode), hookedModes.insert(mode).inserted {
            addHooks(to: mode, on: adapter)
        }
        ledger?.willRun(mode, returnsAfterSource: returnsAfterSource)
        cutIfDivergent()
        guard !isCut else { return }
        depth += 1
        let result = adapter.run(mode, for: limit, returnsAfterSource: returnsAfterSource)
        depth -= 1
        record(.ended(result, in: adapter.currentMode))
        recordModes(of: adapter)
        ledger?.didRun()
    }

    private func helpWhileAsleep(_ actions: [Action], on adapter: any LoopAdapter) {
        nonisolated(unsafe) let adapter = adapter
        helpers.append(
            HelperThread {
                while !adapter.isWaiting { sched_yield() }
                for action in actions {
                    self.apply(action, to: action.itemName.flatMap { self.indices[$0] }, on: adapter)
                }
            }
        )
    }

    // MARK: Watching

    private func addHooks(to mode: ScenarioMode, on adapter: any LoopAdapter) {
        adapter.addHook(to: mode, .all, order: .min) { [unowned self] stage in
            guard let adapter = self.adapter else { return }
            record(.called("watch", stage, in: adapter.currentMode, depth: depth))
            ledger?.reached(stage)
            cutIfDivergent()
        }
        adapter.addHook(to: mode, .beforeWaiting, order: .max) { [unowned self] _ in
            let isSleepShort = ledger?.isSleepShort() ?? true
            cutIfDivergent()
            guard !isSleepShort else { return }
            self.adapter?.stop()
            ledger?.didDo(.stop, on: nil)
        }
    }

    private func cutIfDivergent() {
        guard !isCut, let divergence = ledger?.divergence else { return }
        record(.cut(divergence))
        isCut = true
    }

    // MARK: Writing down

    private func record(_ entry: TraceEntry) {
        guard !isCut else { return }
        entries.withLock { $0.append(entry) }
    }

    private func recordModes(of adapter: any LoopAdapter) {
        let modes = adapter.allModes
        record(.modes(modes, empty: modes.filter(adapter.isEmpty)))
    }

    private func look(at adapter: any LoopAdapter) {
        recordModes(of: adapter)
        for mode in ScenarioMode.concrete {
            record(.nextTimer(mode, adapter.nextTimer(in: mode)))
        }
        for (index, item) in scenario.items.enumerated() {
            var modes = Set(ScenarioMode.concrete.filter { adapter.contains(index, in: $0) })
            let asks = adapter.isValid(index) && asksForCommon(item, modes)
            if asks, adapter.contains(index, in: .common) { modes.insert(.common) }
            record(
                .item(
                    item.name,
                    isValid: adapter.isValid(index),
                    isSignalled: adapter.isSignalled(index),
                    modes: modes
                )
            )
        }
    }

    /// Says whether the loops agree on what is a common item, if it is valid (`KnownDivergence.commonTimerInNoMode` and
    /// `.invalidCommonItem`).
    private func asksForCommon(_ item: ScenarioItem, _ modes: Set<ScenarioMode>) -> Bool {
        if case .timer = item.kind { !modes.isEmpty } else { true }
    }

    /// Sorts what one action made of `schedule` and `cancel` callouts (`KnownDivergence.hashTableOrder`).
    private func sortMemberships(from start: Int) {
        entries.withLock { entries in
            guard entries.count > start + 1 else { return }
            entries[start...].sort { $0.membershipKey < $1.membershipKey }
        }
    }
}

extension TraceEntry {
    /// What `schedule` and `cancel` callouts of one action are sorted by.
    fileprivate var membershipKey: String {
        switch self {
        case .scheduled, .cancelled: description
        default: ""
        }
    }
}
