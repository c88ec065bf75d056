import Testing

@testable import Holdfast

/// How much of the time the report writer works.
@Suite struct WritingEffortTests {
    private static let millisecond: Int64 = 1_000_000

    /// Works as often as it may for a time; returns how long it worked.
    private func work(_ effort: inout WritingEffort, each piece: Int64, for length: Int64) -> Int64 {
        var now: Int64 = 0
        var worked: Int64 = 0
        while now < length {
            let start = now
            now += piece
            worked += piece
            now += effort.rest(after: start..<now)
        }
        return worked
    }

    @Test func `A few reports are written at once`() {
        var effort = WritingEffort(now: 0)
        for number in 0..<40 {
            let start = Int64(number) * 5 * Self.millisecond
            #expect(effort.rest(after: start..<start + 5 * Self.millisecond) == 0)
        }
    }

    @Test(arguments: [1, 5, 50, 150] as [Int64])
    func `In a flood it works a tenth of the time, and the burst`(piece: Int64) {
        var effort = WritingEffort(now: 0)
        let length = 120_000 * Self.millisecond
        let worked = work(&effort, each: piece * Self.millisecond, for: length)
        #expect(worked >= length / WritingEffort.share)
        #expect(worked <= length / WritingEffort.share + 2 * WritingEffort.burst)
    }

    @Test func `Long work is followed by three seconds of rest at most, and credit comes back to one burst`() {
        var effort = WritingEffort(now: 0)
        #expect(effort.rest(after: 0..<10_000 * Self.millisecond) == WritingEffort.longestRest)
        let later: Int64 = 1_000_000 * Self.millisecond
        #expect(effort.rest(after: later..<later + WritingEffort.burst) == 0)
        #expect(effort.rest(after: later + WritingEffort.burst..<later + 2 * WritingEffort.burst) > 0)
    }

    @Test func `Symbols that are kept do not use up the credit for the reports that come next`() {
        var effort = WritingEffort(now: 0)
        let first = 0..<1000 * Self.millisecond
        #expect(effort.rest(after: first, hasReadSymbols: true) == 0)
        for number in 0..<3 {
            let start = first.upperBound + Int64(number) * 20 * Self.millisecond
            #expect(effort.rest(after: start..<start + 20 * Self.millisecond) == 0)
        }
    }
}
