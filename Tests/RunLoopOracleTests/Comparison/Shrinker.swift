/// Makes a scenario smaller for as long as it still fails.
struct Shrinker {
    private let fails: (Scenario) -> Bool

    /// Returns a scenario that fails, and does not once any one thing is taken away from it.
    ///
    /// - Parameters:
    ///   - scenario: A scenario that fails.
    ///   - fails: Says whether a scenario fails.
    /// - Returns: The small one.
    static func shrink(_ scenario: Scenario, while fails: @escaping (Scenario) -> Bool) -> Scenario {
        let shrinker = Shrinker(fails: fails)
        var smallest = scenario
        while let smaller = shrinker.smaller(than: smallest) {
            smallest = smaller
        }
        return smallest
    }

    private func smaller(than scenario: Scenario) -> Scenario? {
        candidates(scenario).lazy.map { $0() }.first(where: { $0 != scenario && fails($0) })
    }

    /// The big steps first.
    private func candidates(_ scenario: Scenario) -> [() -> Scenario] {
        var candidates: [() -> Scenario] = []
        for item in scenario.items {
            candidates.append { Self.without(item, scenario) }
        }
        for step in scenario.steps.indices {
            candidates.append { Self.edit(scenario) { $0.steps.remove(at: step) } }
        }
        for (index, item) in scenario.items.enumerated() {
            for call in item.script.indices {
                candidates.append { Self.edit(scenario) { $0.items[index].script.remove(at: call) } }
                for action in item.script[call].indices {
                    candidates.append { Self.edit(scenario) { $0.items[index].script[call].remove(at: action) } }
                    for simple in Self.simpler(item.script[call][action]) {
                        candidates.append { Self.edit(scenario) { $0.items[index].script[call][action] = simple } }
                    }
                }
            }
        }
        for step in scenario.steps.indices {
            for simple in Self.simpler(scenario.steps[step]) {
                candidates.append { Self.edit(scenario) { $0.steps[step] = simple } }
            }
        }
        return candidates
    }

    private static func edit(_ scenario: Scenario, _ change: (inout Scenario) -> Void) -> Scenario {
        var copy = scenario
        change(&copy)
        return copy
    }

    private static func without(_ item: ScenarioItem, _ scenario: Scenario) -> Scenario {
        func needsNot(_ action: Action) -> Bool { !action.itemNames.contains(item.name) }
        return edit(scenario) { scenario in
            scenario.items.removeAll { $0.name == item.name }
            scenario.steps = scenario.steps.filter(needsNot)
            for index in scenario.items.indices {
                scenario.items[index].script = scenario.items[index].script.map { $0.filter(needsNot) }
            }
        }
    }

    /// Actions that say less.
    private static func simpler(_ action: Action) -> [Action] {
        switch action {
        case .run(let mode, let limit, true): [.run(mode, for: limit)]
        case .run(let mode, .guarded, _), .run(let mode, .negative, _): [.run(mode)]
        case .perform(let name, let modes) where modes.count > 1: modes.map { .perform(name, in: [$0]) }
        case .add(let name, .common): [.add(name, to: .default)]
        default: []
        }
    }
}
