import CrashReports
import Testing

@testable import Holdfast

/// Which faults get reports of their own.
@Suite struct ReportFoldingTests {
    private static let first = ReportID(time: .now)
    private static let second = ReportID(time: .now)

    @Test func `So many equal faults have reports of their own, the next begins a group, the rest count in it`() {
        var folding = ReportFolding(individual: 3)
        for _ in 0..<3 { #expect(folding.next(1) == .write) }
        #expect(folding.next(1) == .writeGroup)
        let group = Self.first
        folding.began(1, group)
        for _ in 0..<1000 { #expect(folding.next(1) == .count(group)) }
    }

    @Test func `Other faults are counted by themselves`() {
        var folding = ReportFolding(individual: 1)
        #expect(folding.next(1) == .write)
        #expect(folding.next(2) == .write)
        #expect(folding.next(1) == .writeGroup)
        folding.began(1, Self.first)
        #expect(folding.next(2) == .writeGroup)
        folding.began(2, Self.second)
        #expect(folding.next(1) == .count(Self.first))
        #expect(folding.next(2) == .count(Self.second))
    }

    @Test func `A group that could not be written is begun by the next fault`() {
        var folding = ReportFolding(individual: 1)
        #expect(folding.next(1) == .write)
        #expect(folding.next(1) == .writeGroup)
        #expect(folding.next(1) == .writeGroup)
    }

    @Test func `A group whose report is gone is begun again`() {
        var folding = ReportFolding(individual: 1)
        _ = folding.next(1)
        _ = folding.next(1)
        folding.began(1, Self.first)
        folding.lost(1)
        #expect(folding.next(1) == .writeGroup)
        folding.began(1, Self.second)
        #expect(folding.next(1) == .count(Self.second))
    }

    @Test func `News of a kind that is not known does no harm`() {
        var folding = ReportFolding(individual: 1)
        folding.began(7, Self.first)
        folding.lost(7)
        #expect(folding.next(7) == .write)
    }

    @Test func `However many kinds there are, none is lost`() {
        var folding = ReportFolding(individual: 2)
        for key in 0..<20_000 { #expect(folding.next(key) == .write) }
    }
}
