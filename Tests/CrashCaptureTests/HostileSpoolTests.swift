import CCrashCapture
import Testing

@testable import CrashReports

/// The decoder takes any bytes: a record may be cut off, half written or forged.
@Suite(.timeLimit(.minutes(10))) struct HostileSpoolTests {
    private static let spool = sampleSpool([sampleRecord(), sampleRecord()])

    /// Decodes, and uses all that was decoded.
    @discardableResult
    private static func decode(_ bytes: [UInt8]) -> Int {
        if let digest = digest(of: bytes) { _ = try? SpoolContents(bytes: digest) }
        guard let contents = try? SpoolContents(bytes: bytes) else { return -1 }
        for record in contents.records {
            precondition(record.frames.count <= Int(HF_MAXIMUM_FRAMES) && record.headFrameCount <= record.frames.count)
            precondition(record.message.utf8.count <= 3 * Int(HF_MESSAGE_SIZE))
            precondition(record.memory.allSatisfy { $0.bytes.count <= Int(HF_MEMORY_SIZE) })
            for thread in record.threads?.threads ?? [] {
                precondition(
                    thread.frames.count <= Int(HF_THREAD_FRAMES) && thread.headFrameCount <= thread.frames.count
                )
            }
        }
        return contents.records.count + contents.images.count + contents.process.arguments.count
    }

    @Test func `A file that is cut off anywhere is refused or read in part`() {
        #expect(Self.decode(Self.spool) > 0)
        for length in stride(from: 0, to: Self.spool.count, by: 61) { Self.decode(Array(Self.spool.prefix(length))) }
        for length in 0..<200 { #expect(Self.decode(Array(Self.spool.prefix(length))) == -1) }
    }

    @Test func `A record that is cut off anywhere is decoded with what there is`() {
        let record = bytes(of: sampleRecord())
        for length in 0..<record.count where length % 7 == 0 {
            let decoded = FaultRecord(bytes: Array(record.prefix(length)))
            #expect((decoded == nil) == (length < 4))
            #expect((decoded?.frames.count ?? 0) <= Int(HF_MAXIMUM_FRAMES))
        }
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `Random bytes are refused`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<2000 {
            let count = Int.random(in: 0..<8192, using: &generator)
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            #expect(Self.decode(bytes) == -1)
            _ = FaultRecord(bytes: bytes)
        }
    }

    @Test(arguments: [11, 12, 13] as [UInt64])
    func `Bytes changed at random do no harm`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<2000 {
            var bytes = Self.spool
            for _ in 0..<Int.random(in: 1...16, using: &generator) {
                let offset = Int.random(in: 12..<bytes.count, using: &generator)
                bytes[offset] = UInt8.random(in: 0...255, using: &generator)
            }
            Self.decode(bytes)
        }
    }

    @Test(arguments: [0, 1, 0x7f, 0x80, 0xff] as [UInt8])
    func `Every number of the header may be extreme`(byte: UInt8) {
        for offset in stride(from: 12, to: 96, by: 4) {
            var bytes = Self.spool
            for index in 0..<4 { bytes[offset + index] = byte }
            Self.decode(bytes)
            // The greatest and the least signed number.
            bytes[offset + 3] = byte ^ 0x80
            Self.decode(bytes)
        }
    }

    @Test(arguments: [0, 1, 0x7f, 0x80, 0xff] as [UInt8])
    func `Every number of the sections may be extreme`(byte: UInt8) throws {
        let first = try #require(MemoryLayout<HFSpoolHeader>.offset(of: \.snapshot_offset))
        let header = Array(stride(from: first, to: first + 32, by: 4))
        let contents = Self.spool.withUnsafeBytes { $0.load(as: HFSpoolHeader.self) }
        let (snapshots, areas) = (Int(contents.snapshot_offset), Int(contents.memory_offset))
        let second = snapshots + MemoryLayout<HFThreadSnapshot>.size
        let numbers =
            header + Array(stride(from: second, to: second + 120, by: 4))
            + Array(stride(from: areas, to: areas + 80, by: 4))
        for offset in numbers {
            var bytes = Self.spool
            for index in 0..<4 { bytes[offset + index] = byte }
            #expect(Self.decode(bytes) > 0)
            bytes[offset + 3] = byte ^ 0x80
            #expect(Self.decode(bytes) > 0)
        }
    }

    @Test(arguments: [0, 0x7f, 0x80, 0xff] as [UInt8])
    func `Every byte of a record may be extreme`(byte: UInt8) {
        let original = bytes(of: sampleRecord())
        for offset in stride(from: 4, to: original.count - 7, by: 8) {
            var bytes = original
            for index in 0..<8 { bytes[offset + index] = byte }
            #expect(FaultRecord(bytes: bytes) != nil)
        }
        let all = [UInt8](repeating: byte, count: FaultRecord.size)
        #expect(FaultRecord(bytes: [3, 0, 0, 0] + all.dropFirst(4)) != nil)
    }

    @Test func `Another version is refused with a reason`() {
        var bytes = Self.spool
        for version in [0, 2, 255] as [UInt8] {
            bytes[8] = version
            let error = #expect(throws: SpoolContents.Malformed.self) { try SpoolContents(bytes: bytes) }
            #expect(error?.description.contains("has version \(version), but this program reads version 1") == true)
        }
    }

    @Test func `A file without a name is refused with a reason`() {
        let error = #expect(throws: SpoolContents.Malformed.self) { try SpoolContents(bytes: []) }
        #expect(error?.description.contains("not a spool file") == true)
    }

    @Test func `Texts end at their field even without a NUL`() throws {
        var record = sampleRecord()
        withUnsafeMutableBytes(of: &record.label) { for index in $0.indices { $0[index] = UInt8(ascii: "x") } }
        withUnsafeMutableBytes(of: &record.message) { for index in $0.indices { $0[index] = 0xff } }
        let decoded = try #require(FaultRecord(bytes: bytes(of: record)))
        #expect(decoded.loop?.callout?.label == String(repeating: "x", count: Int(HF_LABEL_SIZE)))
        #expect(decoded.message == String(repeating: "\u{fffd}", count: Int(HF_MESSAGE_SIZE)))
        #expect(decoded.abortMessage == "an abort message")
    }
}
