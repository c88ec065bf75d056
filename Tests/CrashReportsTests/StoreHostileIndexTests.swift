import CrashReports
import Foundation
import Glibc
import SystemPackage
import Testing

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
                let position = Int.random(in: 0..<bytes.count / 4, using: &generator) * 4
                let values: [UInt32] = [
                    0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, UInt32.random(in: 0...300, using: &generator),
                ]
                let value = try #require(values.randomElement(using: &generator))
                for byte in 0..<4 where position + byte < bytes.count {
                    bytes[position + byte] = UInt8(truncatingIfNeeded: value >> UInt32(8 * byte))
                }
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

    /// Puts the right checksums on blocks, as whoever forges an index does.
    private static func sealed(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        var start = 0
        while start + 112 <= bytes.count {
            let size = Int(truncatingIfNeeded: word(bytes, start + 8))
            guard size >= 112, size % 8 == 0, size <= bytes.count - start else { break }
            let sum = checksum(bytes[(start + 24)..<(start + size - 16)])
            for byte in 0..<8 {
                bytes[start + 16 + byte] = UInt8(truncatingIfNeeded: sum >> UInt64(8 * byte))
                bytes[start + size - 8 + byte] = bytes[start + 16 + byte]
                bytes[start + size - 16 + byte] = bytes[start + 8 + byte]
            }
            start += size
        }
        return bytes
    }

    private static func word(_ bytes: [UInt8], _ offset: Int) -> UInt64 {
        bytes[offset..<(offset + 8)].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// As in `IndexBytes.swift`.
    private static func checksum(_ slice: ArraySlice<UInt8>) -> UInt64 {
        let bytes = Array(slice)
        var lanes: [UInt64] = [0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f]
        func mix(_ sum: UInt64, _ word: UInt64) -> UInt64 {
            let product = (sum ^ word) &* 0xff51_afd7_ed55_8ccd
            return product ^ (product >> 32)
        }
        for (number, offset) in stride(from: 0, to: bytes.count / 8 * 8, by: 8).enumerated() {
            lanes[number % 2] = mix(lanes[number % 2], word(bytes, offset))
        }
        return mix(mix(lanes[0], lanes[1]), UInt64(bytes.count))
    }
}
