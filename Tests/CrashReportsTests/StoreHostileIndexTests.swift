import Foundation
import Glibc
import ReportTestSupport
import SystemPackage
import TestSupport
import Testing

@testable import CrashReports

/// Any bytes may be in the place of the index.
@Suite(.timeLimit(.minutes(10))) struct StoreHostileIndexTests {
    private let temporary: TemporaryStore
    private var store: ReportStore { temporary.store }
    private let wanted: [ReportSummary]
    private let index: [UInt8]

    init() throws {
        temporary = try TemporaryStore()
        let store = temporary.store
        for number in 0..<3 {
            var report = SampleReport.minimal(reason: "reason \(number)")
            report.context = .init(tags: ["key": "value \(number)"])
            try store.write(report)
        }
        wanted = try store.summaries().summaries
        index = Array(try Data(contentsOf: URL(fileURLWithPath: store.reportsPath.appending(".index").string)))
    }

    private func plant(_ bytes: [UInt8]) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: store.reportsPath.appending(".index").string))
    }

    @Test func `A bit that flips anywhere changes nothing that is listed`() throws {
        for position in index.indices {
            var bytes = index
            bytes[position] ^= 1 << UInt8(position % 8)
            try plant(bytes)
            #expect(try store.summaries().summaries == wanted, "at \(position)")
        }
    }

    @Test func `An index that ends anywhere changes nothing that is listed`() throws {
        for count in stride(from: 0, through: index.count, by: 3) {
            try plant(Array(index.prefix(count)))
            #expect(try store.summaries().summaries == wanted, "after \(count)")
            // Whoever writes next begins another, or goes on with a good one.
            try store.update(wanted[0].id) { $0.occurrences.count = 1 }
            #expect(try store.summaries().summaries == wanted, "after \(count)")
        }
    }

    @Test(arguments: 0..<8)
    func `Bytes with a right checksum neither trap nor hang`(seed: UInt64) throws {
        var generator = SplitMix(state: seed)
        for _ in 0..<150 {
            var bytes = index
            for _ in 0..<Int.random(in: 1...6, using: &generator) {
                let position = Int.random(in: 0..<bytes.count, using: &generator)
                // Fields are texts: others are put into their places, and they are cut and doubled.
                let texts = [
                    "\t", "\n", "\\", "-", "0", "9", "=", "\t9223372036854775807", "\t-9223372036854775808", "\u{0}",
                ]
                let text = Array(try #require(texts.randomElement(using: &generator)).utf8)
                let end = min(bytes.count, position + Int.random(in: 0...20, using: &generator))
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: bytes.replaceSubrange(position..<end, with: text)
                case 1: bytes.insert(contentsOf: bytes[position..<end], at: position)
                default: bytes[position] = UInt8.random(in: 0...255, using: &generator)
                }
                guard !bytes.isEmpty else { break }
            }
            try plant(Self.sealed(bytes))
            let listing = try store.summaries()
            // Reports that are there are listed, and no others.
            #expect(listing.summaries.map(\.id) == wanted.map(\.id))
            _ = try store.groups(matching: .init(text: "reason"))
            _ = try store.prune(.init(reports: 3, bytes: 1 << 40, age: .seconds(1 << 40)), dryRun: true)
            _ = store.verify()
            try ReportStore(path: store.path, limits: .init(reports: 10)).update(wanted[1].id) { _ in }
        }
        #expect(try store.load(prefix: wanted[2].id.rawValue).id == wanted[2].id)
    }

    @Test func `Any other file is no index`() throws {
        var generator = SplitMix(state: 7)
        for size in [1, 8, 95, 96, 112, 4096, 100_000] {
            try plant((0..<size).map { _ in UInt8.random(in: 0...255, using: &generator) })
            #expect(try store.summaries().summaries == wanted)
        }
        try plant([])
        #expect(truncate(store.reportsPath.appending(".index").string, 1 << 40) == 0)
        #expect(try store.summaries().summaries == wanted)
        #expect(store.verify().findings.map(\.kind) == [.damagedIndex])
        #expect(store.verify(repair: true).isSound)
        #expect(store.verify().findings.isEmpty)
    }

    /// Puts the right checksum on each line, as whoever forges an index does.
    private static func sealed(_ bytes: [UInt8]) -> [UInt8] {
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Array.init)
        for number in lines.indices
        where lines[number].count > 17 && (number > 0 || lines[number].first != UInt8(ascii: "h")) {
            let body = Array(lines[number][17...])
            let sum = String(checksum(body), radix: 16)
            lines[number] = Array((String(repeating: "0", count: 16 - sum.count) + sum + "\t").utf8) + body
        }
        return Array(lines.joined(separator: [UInt8(ascii: "\n")]))
    }

    /// As in `StoreIndex.swift`.
    private static func checksum(_ bytes: [UInt8]) -> UInt64 {
        func mix(_ sum: UInt64, _ word: UInt64) -> UInt64 {
            let product = (sum ^ word) &* 0xff51_afd7_ed55_8ccd
            return product ^ (product >> 32)
        }
        let whole = bytes.count / 8 * 8
        var sum: UInt64 = 0x9e37_79b9_7f4a_7c15
        for offset in stride(from: 0, to: whole, by: 8) {
            sum = mix(sum, bytes[offset..<(offset + 8)].reversed().reduce(0) { $0 << 8 | UInt64($1) })
        }
        return mix(mix(sum, bytes[whole...].reduce(0) { $0 << 8 | UInt64($1) }), UInt64(bytes.count))
    }

    @Test func `The checksum here is that of the index`() {
        #expect(Self.sealed(index) == index)
    }
}
