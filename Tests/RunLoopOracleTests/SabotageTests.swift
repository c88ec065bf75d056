import RunLoops
import Testing

/// A comparison that never fails proves nothing: these loops differ on purpose, and must be found out.
@Suite("Loops that differ on purpose", .oracle)
struct SabotageTests {
    /// A way to be wrong.
    enum Sabotage: CaseIterable {
        case ignoresOrderOfSources
        case forgetsToInvalidate
        case losesStops
        case returnsLate
        case takesCommonForDefault

        /// Changes what HostRunLoop is given.
        func applied(to scenario: Scenario) -> Scenario {
            var changed = scenario
            switch self {
            case .ignoresOrderOfSources:
                for index in changed.items.indices {
                    if case .source = changed.items[index].kind { changed.items[index].kind = .source(order: 0) }
                }
            case .forgetsToInvalidate, .losesStops, .returnsLate, .takesCommonForDefault:
                changed.steps = changed.steps.compactMap(applied)
                for index in changed.items.indices {
                    changed.items[index].script = changed.items[index].script.map { $0.compactMap(applied) }
                }
            }
            return changed
        }

        private func applied(to action: Action) -> Action? {
            switch (self, action) {
            case (.forgetsToInvalidate, .invalidate), (.losesStops, .stop): nil
            case (.returnsLate, .run(let mode, let limit, _)): .run(mode, for: limit)
            case (.takesCommonForDefault, .add(let name, .common)): .add(name, to: .default)
            default: action
            }
        }
    }

    @Test("A wrong loop is found out, and the scenario that shows it is small", arguments: Sabotage.allCases)
    func foundOut(sabotage: Sabotage) throws {
        func differs(_ scenario: Scenario) -> Bool {
            let honest = ScenarioPlayer.play(scenario) { OracleAdapter($0, $1) }
            let wrong = ScenarioPlayer.play(sabotage.applied(to: scenario)) { HostAdapter($0, $1) }
            return honest != wrong
        }
        let found = (1...2000).lazy.map { ScenarioGenerator.scenario(seed: $0) }.first(where: differs)
        let small = Shrinker.shrink(try #require(found), while: differs)
        #expect(small.items.count <= 2)
        #expect(small.actionCount <= 8, "\(small.swiftSource)")
    }

    @Test("Two entries that changed places are a difference, and the report points at them")
    func swappedEntries() throws {
        let scenario = Scenario(
            [.source("s"), .source("t")],
            steps: [.add("s", to: .default), .add("t", to: .default), .signal("s"), .signal("t"), .run(.default)]
        )
        let honest = Comparison(scenario)
        #expect(honest.isEqual)
        let first = try #require(honest.found.firstIndex(of: .called("s", nil, in: .default, depth: 1)))
        var found = honest.found
        found.swapAt(first, first + 1)
        let comparison = Comparison(scenario, expected: honest.expected, found: found)
        #expect(!comparison.isEqual)
        #expect(comparison.report.contains("> s in default, depth 1"))
        #expect(comparison.report.contains("> t in default, depth 1"))
    }
}

extension Scenario {
    /// How many actions there are, those in scripts included.
    fileprivate var actionCount: Int { steps.count + items.reduce(0) { $0 + $1.script.joined().count } }
}
