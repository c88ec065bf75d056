import CrashReports
import Testing

@testable import Holdfast

/// Which faults get reports of their own.
@Suite struct ReportFoldingTests {
    private static let first = ReportID(time: .now)
    private static let second = ReportID(time: .now)
    private static let time = Timestamp.now

    @Test func `So many equal faults have reports of their own, the next begins a group, the rest count in it`() {
        var folding = ReportFolding(individual: 3)
        for _ in 0..<3 { #expect(folding.next(1, at: Self.time) == .write) }
        #expect(folding.next(1, at: Self.time) == .writeGroup)
        let group = Self.first
        folding.began(1, group)
        for _ in 0..<1000 { #expect(folding.next(1, at: Self.time) == .count(group)) }
    }

    @Test func `Other faults are counted by themselves`() {
        var folding = ReportFolding(individual: 1)
        #expect(folding.next(1, at: Self.time) == .write)
        #expect(folding.next(2, at: Self.time) == .write)
        #expect(folding.next(1, at: Self.time) == .writeGroup)
        folding.began(1, Self.first)
        #expect(folding.next(2, at: Self.time) == .writeGroup)
        folding.began(2, Self.second)
        #expect(folding.next(1, at: Self.time) == .count(Self.first))
        #expect(folding.next(2, at: Self.time) == .count(Self.second))
    }

    @Test func `A group that could not be written is begun by the next fault`() {
        var folding = ReportFolding(individual: 1)
        #expect(folding.next(1, at: Self.time) == .write)
        #expect(folding.next(1, at: Self.time) == .writeGroup)
        #expect(folding.next(1, at: Self.time) == .writeGroup)
    }

    @Test func `A group whose report is gone is begun again`() {
        var folding = ReportFolding(individual: 1)
        _ = folding.next(1, at: Self.time)
        _ = folding.next(1, at: Self.time)
        folding.began(1, Self.first)
        folding.lost(Self.first)
        #expect(folding.next(1, at: Self.time) == .writeGroup)
        folding.began(1, Self.second)
        #expect(folding.next(1, at: Self.time) == .count(Self.second))
    }

    @Test func `What the store has counted in another report is counted there at once`() {
        var folding = ReportFolding(individual: 32)
        #expect(folding.next(1, at: Self.time) == .write)
        folding.began(1, Self.first)
        #expect(folding.next(1, at: Self.time) == .count(Self.first))
        folding.lost(Self.first)
        #expect(folding.next(1, at: Self.time) == .write)
    }

    @Test func `News of a kind that is not known does no harm`() {
        var folding = ReportFolding(individual: 1)
        folding.began(7, Self.first)
        folding.lost(Self.first)
        #expect(folding.next(7, at: Self.time) == .write)
    }

    @Test func `However many kinds there are, none is lost`() {
        var folding = ReportFolding(individual: 2)
        for key in 0..<20_000 { #expect(folding.next(key, at: Self.time) == .write) }
    }

    @Test func `After a pause, what happens again has reports of its own`() {
        var folding = ReportFolding(individual: 1, pause: 300)
        _ = folding.next(1, at: Self.time)
        _ = folding.next(1, at: Self.time)
        folding.began(1, Self.first)
        #expect(folding.next(1, at: Self.time.adding(seconds: 299)) == .count(Self.first))
        #expect(folding.next(1, at: Self.time.adding(seconds: 598)) == .count(Self.first))
        #expect(folding.next(1, at: Self.time.adding(seconds: 899)) == .write)
        #expect(folding.next(1, at: Self.time.adding(seconds: 900)) == .writeGroup)
    }

    @Test func `Faults in any order are as many as in theirs`() {
        var folding = ReportFolding(individual: 3, pause: 300)
        var written = 0
        // Two threads, one of which is behind: its faults begin no pause.
        for number in 0..<100 {
            for behind in [0.0, 200] {
                let time = Self.time.adding(seconds: Double(number) * 150 - behind)
                if folding.next(1, at: time) == .write { written += 1 }
            }
        }
        #expect(written == 3)
    }

    @Test func `A clock that was set back is no pause`() {
        var folding = ReportFolding(individual: 1, pause: 300)
        _ = folding.next(1, at: Self.time)
        #expect(folding.next(1, at: Self.time.adding(seconds: -10_000)) == .writeGroup)
    }

    @Test func `A fault of another item, or one that ends in quarantine, is another fault`() throws {
        func record(_ label: String, facts: UInt8 = 0) throws -> FaultRecord {
            // CrashRecordFormat.md: the state, the facts, the kind of the callout, and its label.
            var bytes = [UInt8](repeating: 0, count: 4096)
            (bytes[0], bytes[53], bytes[312]) = (3, facts, 3)
            bytes.replaceSubrange(408..<408 + label.utf8.count, with: label.utf8)
            return try #require(FaultRecord(bytes: bytes))
        }
        let orders = ReportFolding.key(of: try record("flush orders"))
        #expect(orders == ReportFolding.key(of: try record("flush orders")))
        #expect(orders != ReportFolding.key(of: try record("flush payments")))
        let client = try record("client 7")
        #expect(ReportFolding.key(of: client) != ReportFolding.key(of: try record("client 12")))
        let kind = ReportFolding.key(of: client, numbersMatter: false)
        #expect(kind == ReportFolding.key(of: try record("client 12"), numbersMatter: false))
        #expect(kind != ReportFolding.key(of: try record("server 7"), numbersMatter: false))
        let quarantined = try record("flush orders", facts: UInt8(FaultRecord.Facts.quarantined.rawValue >> 8))
        #expect(quarantined.facts.contains(.quarantined))
        #expect(orders != ReportFolding.key(of: quarantined))
    }
}
