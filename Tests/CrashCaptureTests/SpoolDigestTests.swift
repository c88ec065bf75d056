import CCrashCapture
import Testing

@testable import CrashReports

/// Reads the digest of a file that is here already.
func digest(of file: [UInt8]) -> [UInt8]? {
    SpoolDigest.bytes { offset, count in
        offset >= 0 && offset < file.count ? Array(file[offset..<min(file.count, offset + count)]) : []
    }
}

struct SpoolDigestTests {
    @Test func `A digest has the process and the records, and little else`() throws {
        var second = sampleRecord()
        second.number = 2
        let file = sampleSpool([HFRecord(), sampleRecord(), HFRecord(), second])
        let short = try #require(digest(of: file))
        let (whole, part) = (try SpoolContents(bytes: file), try SpoolContents(bytes: short))
        #expect(part.process == whole.process)
        #expect(part.records.map(\.number) == whole.records.map(\.number) && part.records.count == 2)
        #expect(part.records.map(\.time) == whole.records.map(\.time))
        #expect(part.records.map(\.loop) == whole.records.map(\.loop))
        #expect(part.records.map(\.verdict) == whole.records.map(\.verdict))
        #expect(part.records.map(\.frames) == whole.records.map(\.frames))
        #expect(part.images == [] && short.count < file.count)
    }

    @Test func `A file without faults, or that is none, has no digest`() {
        #expect(digest(of: sampleSpool([HFRecord(), HFRecord()])) == nil)
        #expect(digest(of: []) == nil)
        #expect(digest(of: Array("HFSPOOL".utf8)) == nil)
    }
}
