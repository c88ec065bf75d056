import Testing

@testable import Holdfast

@Suite struct DescriptorCensusTests {
    @Test func `What was opened since the fault before is counted, up to a limit for each`() {
        var census = DescriptorCensus()
        census.begin(open: 10, watched: 2)
        #expect(census.lost(open: 13, watched: 3) == 2)
        #expect(census.lost(open: 13, watched: 3) == 0)
        #expect(census.lost(open: 113, watched: 3) == DescriptorCensus.mostPerFault)
    }

    @Test func `What comes and goes is counted once`() {
        var census = DescriptorCensus()
        census.begin(open: 10, watched: 0)
        var lost = 0
        for _ in 0..<100 {
            lost += census.lost(open: 12, watched: 0)
            lost += census.lost(open: 10, watched: 0)
        }
        #expect(lost == 2)
    }
}
