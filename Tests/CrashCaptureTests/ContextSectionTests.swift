import CCrashCapture
import Glibc
import Testing

@testable import CrashReports

/// What the C code lays out is what the decoder reads, and it takes any bytes.
@Suite(.timeLimit(.minutes(10))) struct ContextSectionTests {
    /// The sample record is of fault 7, 2.5 s after a start at 12 ns.
    private static let end: Int64 = 2_500_000_012

    private func context(_ sample: SampleContext) throws -> FaultContext? {
        try SpoolContents(bytes: sample.bytes).records.first?.context
    }

    @Test func `A snapshot is found by the number of its fault, and decoded`() throws {
        var sample = SampleContext(sampleSpool([sampleRecord()]))
        sample.addSnapshot(0, fault: 6)
        sample.addSnapshot(3, fault: 7)
        sample.put(Int32(815), at: sample.snapshot(3) + 16)
        sample.put(UInt64(1000), at: sample.snapshot(3) + 24)
        sample.addEvent(
            0,
            to: 3,
            number: 998,
            time: 4,
            kind: 3 | Int(HF_EVENT_SHORT_LABEL),
            label: "a timer" + String(repeating: "x", count: 30)
        )
        sample.addEvent(1, to: 3, number: 999, time: 5, kind: 2, label: String(repeating: "é", count: 30))
        sample.addEvent(2, to: 3, number: 1000, time: 6, kind: Int(HF_EVENT_SLEEP), label: "")
        sample.put(UInt64(1_234_567_890), at: sample.snapshot(3) + 384 + 2 * 64 + 24)
        sample.put(UInt64(3), at: sample.snapshot(3) + 40)
        sample.addNote(0, to: 3, number: 1, kind: Int(HF_NOTE_LOG), code: 4, text: "a line")
        sample.addNote(1, to: 3, number: 2, kind: Int(HF_NOTE_FAULT), code: Int(SIGILL), text: "an item")
        sample.addNote(2, to: 3, number: 3, kind: Int(HF_NOTE_SIGNAL), code: Int(SIGTERM), text: "")
        sample.addValue(0, to: 3, place: 31, version: 2, key: "queue", text: "17 waiting")
        sample.addValue(1, to: 3, place: 32, version: 4, key: "region", text: "eu-1")
        let context = try #require(try context(sample))
        #expect(context.events.map(\.kind) == [.timer, .port, .sleep])
        #expect(context.events.map(\.text) == ["a timerxxxxxxxxx", String(repeating: "é", count: 20) + "…", "1.2 s"])
        #expect(context.events.map(\.thread) == [815, 815, 815])
        #expect(context.events.map(\.time) == [4, 5, 6])
        #expect(context.lost == 997)
        #expect(context.notes.map(\.kind) == [.note, .fault, .signal])
        #expect(context.notes.map(\.text) == ["a line", "SIGILL, fault 7, in \"an item\"", "SIGTERM from pid 7"])
        #expect(context.notes.map(\.level) == ["warning", nil, nil])
        #expect(context.notes.map(\.thread) == [99, 99, 99])
        #expect(context.annotations == ["queue": "17 waiting"])
        #expect(context.tags == ["region": "eu-1"])
        #expect(context.system == nil, "it was not asked")
    }

    @Test func `The state of the process is decoded, as far as it was had`() throws {
        var sample = SampleContext(sampleSpool([sampleRecord()]))
        sample.addSnapshot(0, fault: 7)
        let start = sample.snapshot(0) + 64
        let known = HF_KNOWN_MEMORY | HF_KNOWN_LOAD | HF_KNOWN_LIMITS | HF_KNOWN_DESCRIPTORS
        sample.put(UInt32(known), at: start)
        sample.put(UInt32(12), at: start + 8)
        for index in 0..<3 { sample.put(UInt32(101 + index), at: start + 12 + 4 * index) }
        sample.put(UInt64(1 << 20), at: start + 24)
        sample.put(UInt64(1 << 30), at: start + 40)
        sample.put(UInt64(1024), at: start + 64 + 16 * 7)
        sample.put(UInt64.max, at: start + 64 + 16 * 7 + 8)
        let system = try #require(try context(sample)?.system)
        #expect(system.memory == CrashReport.Context.Memory(resident: 1 << 20, virtual: 1 << 30))
        #expect(system.load == [1.01, 1.02, 1.03])
        #expect(system.openDescriptors == 12)
        #expect(system.descriptorLimit == 1024)
        #expect(system.limits["Max open files"] == .init(soft: 1024, hard: nil))
        #expect(system.threadCount == nil)
    }

    @Test func `What was being written is left out`() throws {
        var sample = SampleContext(sampleSpool([sampleRecord()]))
        sample.addSnapshot(0, fault: 7)
        sample.addEvent(0, to: 0, number: 0, time: 4, kind: 3, label: "torn")
        sample.addEvent(1, to: 0, number: 2, time: 5, kind: 3, label: "whole")
        sample.addNote(0, to: 0, number: busyNumber, kind: Int(HF_NOTE_LOG), code: 4, text: "torn")
        sample.addValue(0, to: 0, place: 0, version: 3, key: "torn", text: "x")
        sample.addValue(1, to: 0, place: 1, version: 2, key: "whole", text: "x")
        let context = try #require(try context(sample))
        #expect(context.events.map(\.text) == ["whole"])
        #expect(context.notes == [])
        #expect(context.annotations == ["whole": "x"])
    }

    @Test func `Without a snapshot the process's last state is taken, up to the time of the fault`() throws {
        var record = sampleRecord()
        record.thread = 4712
        var sample = SampleContext(sampleSpool([record]))
        sample.addSnapshot(0, fault: 7, state: Int(HF_SNAPSHOT_CLAIMED))
        sample.addLiveEvent(0, thread: 4712, number: 129, time: Self.end - 1, label: "before")
        sample.addLiveEvent(1, thread: 4712, number: 130, time: Self.end + 1, label: "after")
        sample.addLiveNote(5, number: 6, time: Self.end, text: "then")
        sample.addLiveNote(6, number: 7, time: Self.end + 1, text: "later")
        let context = try #require(try context(sample))
        #expect(context.events.map(\.text) == ["before"])
        #expect(context.notes.map(\.text) == ["then"])
        #expect(context.lost >= 128)
    }

    @Test func `Environment and rules are decoded`() throws {
        let sample = SampleContext(
            sampleSpool([]),
            environment: ["LANG=C", "EMPTY=", "=odd", "no sign", "TWO=a=b"],
            rules: ["nonce", "nname", "pACME-#", "xunknown", ""],
            flags: UInt32(HF_REDACTION_EMAIL)
        )
        let surroundings = try SpoolContents(bytes: sample.bytes).process.surroundings
        #expect(surroundings.environment == ["LANG": "C", "EMPTY": "", "TWO": "a=b"])
        #expect(
            surroundings.redaction
                == TextRedaction(
                    credentials: false,
                    emailAddresses: true,
                    secretNames: ["once", "name"],
                    patterns: ["ACME-#"]
                )
        )
        #expect(surroundings.container == nil)
    }

    @Test func `A file without the section has the default rules and no context`() throws {
        let spool = try SpoolContents(bytes: sampleSpool([sampleRecord()]))
        #expect(spool.process.surroundings.redaction == TextRedaction())
        #expect(!spool.process.surroundings.hasContexts)
        #expect(spool.records.first?.context == nil)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `Bytes changed at random do no harm`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var sample = SampleContext(sampleSpool([sampleRecord()]), environment: ["LANG=C"], rules: ["pA"])
        sample.addSnapshot(0, fault: 7)
        sample.addEvent(0, to: 0, number: 1, time: 4, kind: 3, label: "x")
        sample.addLiveEvent(0, thread: 815, number: 1, time: 4, label: "y")
        for _ in 0..<300 {
            var bytes = sample.bytes
            for _ in 0..<Int.random(in: 1...16, using: &generator) {
                // The head, the snapshot, or anything.
                let ranges = [0..<120, sample.snapshot(0)..<sample.snapshot(0) + 500, 0..<bytes.count - sample.section]
                let range = ranges[Int.random(in: 0..<3, using: &generator)]
                bytes[sample.section + Int.random(in: range, using: &generator)] = UInt8.random(
                    in: 0...255,
                    using: &generator
                )
            }
            let contents = try? SpoolContents(bytes: bytes)
            for context in contents?.records.compactMap(\.context) ?? [] {
                #expect(context.events.count <= 128 && context.notes.count <= 64 && context.annotations.count <= 48)
            }
        }
        for length in stride(from: sample.section, to: sample.bytes.count, by: 4093) {
            _ = try? SpoolContents(bytes: Array(sample.bytes.prefix(length)))
        }
    }

    @Test(arguments: [0, 0x7f, 0x80, 0xff] as [UInt8])
    func `Every number of the section's head may be extreme`(byte: UInt8) {
        let sample = SampleContext(sampleSpool([sampleRecord()]))
        for offset in stride(from: sample.section, to: sample.section + 104, by: 4) {
            var bytes = sample.bytes
            for index in 0..<4 { bytes[offset + index] = byte }
            _ = try? SpoolContents(bytes: bytes)
        }
        let place = MemoryLayout<HFSpoolHeader>.offset(of: \.context_offset) ?? 0
        for offset in [place, place + 4] {
            var bytes = sample.bytes
            for index in 0..<4 { bytes[offset + index] = byte }
            _ = try? SpoolContents(bytes: bytes)
        }
    }
}

/// `HF_NOTE_BUSY`, which is not imported.
private let busyNumber = UInt64.max
