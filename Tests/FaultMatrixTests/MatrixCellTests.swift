import Testing

/// How a cell of the page says where outcomes differ.
@Suite struct MatrixCellTests {
    private func text(_ outcome: (Place, Build) -> Outcome, _ places: [Place] = [.block, .timer, .source]) -> String {
        var outcomes: [MatrixCell.Origin: Outcome] = [:]
        for place in places {
            for build in Build.allCases {
                outcomes[MatrixCell.Origin(place: place, build: build)] = outcome(place, build)
            }
        }
        return MatrixCell(outcomes: outcomes).text
    }

    @Test func `What is the same everywhere is said once`() {
        #expect(text { _, _ in .resume } == "resume")
    }

    @Test func `A build that differs is named, and so is a place`() {
        #expect(text { _, build in build == .debug ? .restart : .resume } == "resume (debug: restart)")
        #expect(text { place, _ in place == .timer ? .hang : .resume } == "resume (timer: HANG)")
        #expect(text({ _, build in build == .debug ? .resume : .restart }, [.block]) == "restart (debug: resume)")
    }

    @Test func `A place that differs in some builds is named with them`() {
        #expect(
            text { place, build in place == .timer && build != .debug ? .broken : .resume }
                == "resume (timer in release, cross-module: broken)"
        )
        #expect(
            text { place, build in
                place == .timer && build == .debug || place == .block && build == .release ? .broken : .resume
            } == "resume (block in release, timer in debug: broken)"
        )
    }
}
