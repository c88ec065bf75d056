import RunLoops

/// Makes random scenarios in which nothing depends on real time.
///
/// Timers are due or never come; ports are eventfds that are written before the loop can look; runs poll, or are stopped
/// when there is nothing in sight.
struct ScenarioGenerator {
    private var random: SeededGenerator
    private var items: [ScenarioItem] = []
    private let modes: [ScenarioMode]
    private let hasTimers: Bool
    private let hasPorts: Bool
    private let wakes: Bool

    /// Returns the scenario of a seed.
    static func scenario(seed: UInt64) -> Scenario {
        var generator = ScenarioGenerator(seed: seed)
        return generator.make()
    }

    private init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        // Fewer kinds at once: things that are ready together end the comparison (item 28).
        hasTimers = random.chance(55)
        hasPorts = random.chance(50)
        wakes = random.chance(hasTimers || hasPorts ? 30 : 80)
        modes = random.pick([[.default], [.default], [.default, .a], [.default, .a, .b]])
    }

    private mutating func make() -> Scenario {
        let keepsTimers = hasTimers && random.chance(70)
        items = (0..<random.count(2...9)).map { makeItem($0) }
        var steps: [Action] = []
        if keepsTimers {
            // With a timer left in every mode, none leaves a ghost behind (item 60).
            items.append(.timer("k", .never))
            steps += modes.map { .add("k", to: $0) }
        }
        if random.chance(30) { steps.append(.addCommonMode(random.pick(modes))) }
        for index in items.indices {
            items[index].script = (0..<random.count(0...3)).map { _ in makeActions(0...4, depth: 1) }
        }
        for item in items where random.chance(85) && item.name != "k" {
            steps.append(enter(item))
        }
        for _ in 0..<random.count(1...6) {
            steps += makeActions(0...4, depth: 0)
            for item in items where random.chance(50) {
                if case .source = item.kind { steps.append(.signal(item.name)) }
            }
            steps.append(makeRun(depth: 0))
        }
        return Scenario(items, steps: steps, isWatched: true)
    }

    private mutating func makeItem(_ index: Int) -> ScenarioItem {
        let order = random.pick([-1, 0, 0, 1, 2])
        switch random.count(0...99) {
        case 0..<18 where hasTimers:
            return .timer(
                "t\(index)",
                random.chance(75) ? .due : .never,
                everyMilliseconds: random.pick([nil, 5_000_000])
            )
        case 0..<34 where hasPorts:
            return .port("p\(index)", isReady: random.chance(50))
        case 0..<55:
            return .source("s\(index)", order: order)
        case 55..<80:
            let stages: [HostRunLoop.Activity] = [
                .entry, .beforeTimers, .beforeSources, .beforeWaiting, .afterWaiting, .exit, [.entry, .exit], .all,
            ]
            return .observer("o\(index)", random.pick(stages), order: order, repeats: random.chance(70))
        default:
            return .block("b\(index)")
        }
    }

    /// Returns what makes an item part of the play.
    private mutating func enter(_ item: ScenarioItem) -> Action {
        if case .block = item.kind { return .perform(item.name, in: blockModes()) }
        return .add(item.name, to: anyMode())
    }

    private mutating func anyMode() -> ScenarioMode { random.chance(20) ? .common : random.pick(modes) }

    private mutating func blockModes() -> [ScenarioMode] {
        random.chance(80) ? [anyMode()] : [anyMode(), anyMode()]
    }

    private mutating func makeActions(_ count: ClosedRange<Int>, depth: Int) -> [Action] {
        (0..<random.count(count)).map { _ in makeAction(depth: depth) }
    }

    private mutating func makeAction(depth: Int) -> Action {
        let item = random.pick(items)
        switch random.count(0...99) {
        case 0..<4: return .addCommonMode(random.pick(modes))
        case 4..<10 where wakes: return .wakeUp
        case 10..<18 where wakes || depth == 0: return .stop
        case 18..<30 where depth > 0: return makeRun(depth: depth)
        case 30..<33: return .look
        default: return makeAction(on: item)
        }
    }

    private mutating func makeAction(on item: ScenarioItem) -> Action {
        if case .block = item.kind { return .perform(item.name, in: blockModes()) }
        let choice = random.count(0...99)
        switch (item.kind, choice) {
        case (_, 0..<22): return .add(item.name, to: anyMode())
        case (_, 22..<38): return .remove(item.name, from: anyMode())
        case (_, 38..<48): return .invalidate(item.name)
        case (.source, _): return .signal(item.name)
        case (.port, _): return .write(item.name)
        case (.timer, _): return .setDate(item.name, random.chance(60) ? .due : .never)
        default: return .look
        }
    }

    private mutating func makeRun(depth: Int) -> Action {
        let limit: RunLimit = random.pick([.zero, .zero, .guarded, .guarded, .negative])
        let mode = random.chance(85) ? random.pick(modes) : random.pick(ScenarioMode.allCases)
        return .run(mode, for: limit, returnsAfterSource: random.chance(30))
    }
}
