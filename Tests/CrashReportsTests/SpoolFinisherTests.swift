import Foundation
import Symbolication
import SystemPackage
import TestSupport
import Testing

@testable import CrashReports

/// Records that dead processes left behind become reports, however far they came.
@Suite(.timeLimit(.minutes(10))) struct SpoolFinisherTests {
    private let folder: TemporaryFolder
    private let store: ReportStore

    init() throws {
        folder = try TemporaryFolder()
        store = ReportStore(path: FilePath(folder.path).appending("store"))
        try store.create()
    }

    /// Plants a spool file and returns the reports that it becomes, in the order of the faults.
    private func finish(_ spool: SpoolBytes, name: String = "4711-1795243200000000000.spool") throws -> [CrashReport] {
        let path = store.spoolPath.appending(name).string
        try Data(spool.bytes).write(to: URL(fileURLWithPath: path))
        let outcome = SpoolFinisher(store: store).finish()
        #expect(outcome.problems == [])
        #expect(!FileManager.default.fileExists(atPath: path))
        return try outcome.reports.map { try store.load(prefix: $0.rawValue) }
    }

    @Test func `A free slot becomes nothing`() throws {
        #expect(try finish(SpoolBytes(slots: [SpoolBytes.record(state: 0)])) == [])
        #expect(try finish(SpoolBytes()) == [])
    }

    /// The check of the limits' words.
    private static let check: UInt64 = 0x7369_6d69_6c5f_6668

    @Test(arguments: [([11, .max, .max, check ^ 11], true), ([11, .max, .max, check], false), ([], false)])
    func `A store holds no more than the dead process had meant it to`(limits: [UInt64], areKept: Bool) throws {
        for process in 0..<4 {
            var spool = SpoolBytes(slots: (1...8).map { SpoolBytes.record(number: UInt32(8 * process + $0)) })
            spool.limits = limits
            let path = store.spoolPath.appending("\(process + 1)-2.spool").string
            try Data(spool.bytes).write(to: URL(fileURLWithPath: path))
            #expect(SpoolFinisher(store: store, folding: nil).finish().problems == [])
        }
        let count = try store.summaries().summaries.count
        #expect(areKept ? count <= 10 : count == 32)
    }

    @Test func `Whoever waits is told of each report`() throws {
        let spool = SpoolBytes(slots: [SpoolBytes.record(), SpoolBytes.record(), SpoolBytes.record()])
        try Data(spool.bytes).write(to: URL(fileURLWithPath: store.spoolPath.appending("1-2.spool").string))
        var told: [Int] = []
        let outcome = SpoolFinisher(store: store).finish { told.append($0) }
        #expect(told == Array(1...outcome.reports.count))
        #expect(told.count == 3)
    }

    @Test func `A decided record becomes a whole report`() throws {
        let report = try #require(finish(SpoolBytes(slots: [SpoolBytes.record()])).first)
        #expect(report.verdict == .init(decision: .resume, reason: "a reason"))
        #expect(report.reason == "write to address 0x18 (null page)")
        #expect(report.loop?.callout?.label == "retry queue")
        #expect(report.thread.frames.map(\.address.rawValue) == [0x40_1000, 0x40_1001, 0x40_1002])
        #expect(
            report.notes == [
                "the report was finished after the process had ended",
                "the other threads were not sampled: nobody could look at them",
            ]
        )
        #expect(report.recovery == nil)
        #expect(report.process.isForkedChild == nil)
    }

    @Test func `A captured record becomes a report that says what is missing`() throws {
        var record = SpoolBytes.record(state: 2)
        record.put(UInt32(0), at: 72)
        record.put(UInt32(0), at: 76)
        let report = try #require(finish(SpoolBytes(slots: [record])).first)
        #expect(
            report.verdict == .init(decision: .terminate, reason: "the process ended before a verdict was given")
        )
        #expect(report.thread.frames.map(\.address.rawValue) == [0x1010], "the program counter")
        #expect(report.thread.framesTruncated)
        #expect(report.notes.contains { $0.contains("before the stack was walked") })
    }

    @Test func `A claimed record becomes a report that says that it is not whole`() throws {
        let empty = [1, 0, 0, 0] + [UInt8](repeating: 0, count: SpoolBytes.slotSize - 4)
        let report = try #require(finish(SpoolBytes(faults: 1, slots: [empty])).first)
        #expect(report.notes.contains { $0.contains("while the record was being written") })
        #expect(report.reason == "a fault of which nothing was recorded")
        #expect(report.verdict.reason == "the process ended before a verdict was given")
        #expect(report.thread.frames == [])
        #expect(report.timestamp == report.process.startTime, "nothing better is known")
        #expect(report.location == "unknown")
    }

    @Test func `A claimed record says what the handler had written`() throws {
        // Up to the registers.
        let record = SpoolBytes.record(state: 1).prefix(272) + Array(repeating: 0, count: SpoolBytes.slotSize - 272)
        let report = try #require(finish(SpoolBytes(slots: [Array(record)])).first)
        #expect(report.reason == "write to address 0x18 (null page)")
        #expect(report.thread.frames.map(\.address.rawValue) == [0x1010])
        // Up to the signal, but not its cause.
        let less = SpoolBytes.record(state: 1).prefix(28) + Array(repeating: 0, count: SpoolBytes.slotSize - 28)
        let other = try #require(finish(SpoolBytes(slots: [Array(less)])).first)
        #expect(other.reason == "SIGSEGV of which the cause was not recorded")
    }

    @Test func `A file without images becomes reports`() throws {
        let slots = (1...3).map { SpoolBytes.record(number: $0, state: $0) }
        let reports = try finish(SpoolBytes(slots: slots))
        #expect(reports.map(\.fault?.number) == [1, 2, 3])
        for report in reports {
            #expect(report.images == [])
            #expect(report.process.buildID == nil)
        }
    }

    @Test(arguments: [1, 2, 3] as [UInt32])
    func `A record that ends anywhere becomes a report`(state: UInt32) throws {
        var generator = SystemRandomNumberGenerator()
        let record = SpoolBytes.record(state: state)
        let lengths = Array(1...60) + (0..<40).map { _ in Int.random(in: 61..<SpoolBytes.slotSize, using: &generator) }
        let slots = lengths.map { Array(record.prefix($0)) + Array(repeating: 0, count: SpoolBytes.slotSize - $0) }
        for start in stride(from: 0, to: slots.count, by: 10) {
            // One file each: cut off before its number, two records would be the same.
            for slot in slots[start..<start + 10] {
                let reports = try finish(SpoolBytes(slots: [slot]))
                #expect(reports.count == 1, "a record of \(lengths[start]) bytes and more")
                #expect(reports.allSatisfy { !$0.reason.isEmpty && !$0.reason.hasPrefix("killed by") })
            }
        }
    }

    @Test(arguments: ["record", "spool", "both"])
    func `A death is told once, wherever the one who told of it before was ended`(left: String) throws {
        var fault = SpoolBytes.record()
        // Terminate.
        fault.put(UInt32(3), at: 72)
        let spool = SpoolBytes(slots: [fault])
        let record = try DeathRecordTests.record([
            "pid": 4711, "began": 1_795_243_200_000_000_000, "ended": 1_795_243_214_000_000_000,
        ])
        let path = store.spoolPath.appending("4711-1.death").string
        try Data(record).write(to: URL(fileURLWithPath: path))
        let first = try #require(finish(spool).first)
        #expect(first.death?.status == 3)
        #expect(!FileManager.default.fileExists(atPath: path))
        if left != "spool" { try Data(record).write(to: URL(fileURLWithPath: path)) }
        if left != "record" {
            #expect(try finish(spool) == [first])
        } else {
            #expect(SpoolFinisher(store: store).finish().reports == [])
        }
        #expect(!FileManager.default.fileExists(atPath: path))
        #expect(try store.summaries().summaries.map(\.id) == [first.id])
        #expect(try store.load(first.id) == first)
    }

    @Test func `The file of a forked child is taken like any other`() throws {
        var record = SpoolBytes.record()
        record.put(UInt32(1 | 1 << 12), at: 52)
        record.put(Int32(5000), at: 4024)
        // Written by the child itself.
        let file = SpoolBytes(pid: 5000, parentPid: 4711, slots: [record])
        let own = try #require(finish(file, name: "5000-1795243213000000000.spool").first)
        // In a slot of its parent's file.
        let parents = try #require(finish(SpoolBytes(slots: [record])).first)
        for report in [own, parents] {
            #expect(report.process.pid == 5000)
            #expect(report.process.parentPid == 4711)
            #expect(report.process.isForkedChild == true)
        }
    }

    @Test func `What was done around the verdict is told`() throws {
        var record = SpoolBytes.record()
        record.put(UInt32(1 << 10 | 1 << 11 | 1 << 13 | 1 << 14), at: 52)
        record.put(UInt32(2), at: 4028)
        record.put("std::out_of_range", at: 4032)
        record.put("no such key", at: 4160)
        record.put("a cache\nan index", at: 4416)
        record.put(Int32(6), at: 24)
        record.put(Int32(-6), at: 28)
        record.put(Int32(4711), at: 40)
        let report = try #require(finish(SpoolBytes(slots: [record])).first)
        let expected = CrashReport.Recovery(
            drained: true,
            quarantined: true,
            heldLocks: 2,
            inLockFrame: true,
            touched: ["a cache", "an index"]
        )
        #expect(report.recovery == expected)
        #expect(report.fault?.exception == .init(type: "std::out_of_range", message: "no such key"))
        #expect(report.reason == "uncaught C++ exception std::out_of_range: no such key")
        record.put(UInt32(1), at: 52)
        let without = try #require(finish(SpoolBytes(slots: [record])).first)
        #expect(without.recovery?.heldLocks == 0, "the number means nothing without the fact")
    }
}
