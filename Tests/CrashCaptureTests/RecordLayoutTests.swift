import CCrashCapture
import Glibc
import Testing

@testable import CrashReports

/// What the handlers write is what the decoder reads.
@Suite struct RecordLayoutTests {
    @Test func `Every field of a record is decoded`() throws {
        #expect(MemoryLayout<HFRecord>.size == FaultRecord.size)
        let record = try #require(FaultRecord(bytes: bytes(of: sampleRecord())))
        #expect(record.stage == .decided)
        #expect(record.number == 7)
        #expect(record.time.microsecondsSinceEpoch == 1_795_243_212_123_456)
        #expect(record.uptimeSeconds == 2.5)
        #expect(record.signal == Int(SIGSEGV))
        #expect(record.code == 2)
        #expect(record.address == 0x1234_5678_9abc)
        #expect(record.sender == nil, "the kernel raised it")
        #expect(record.thread == 815)
        #expect(record.threadName == "agent-thread")
        #expect(record.facts == [.mainThread, .walkComplete])
        #expect(record.verdict == .restart)
        #expect(record.verdictReason == "a reason")
        #expect(record.message == "a message")
        #expect(record.abortMessage == "an abort message")
        #expect(record.frames == (0..<256).map { 0x4000 + UInt64($0) })
        #expect(record.headFrameCount == 192)
        #expect(record.framesOmitted == 99)
        #expect(record.pid == 4712)
        #expect(record.heldLocks == 2)
        #expect(record.exception == .init(type: "std::runtime_error", message: "what it says"))
        #expect(record.touched == ["a cache", "an index"])
        #expect(record.codeBytes.from == (0xc0...0xcf).map { $0 })
        #expect(record.codeBytes.before == (0xb8...0xbf).map { $0 })
        #expect(
            record.mapping
                == .init(
                    place: .after,
                    distance: 0xabc,
                    name: "/memfd:a file",
                    start: HexAddress(0x1234_5678_0000),
                    end: HexAddress(0x1234_5678_9000),
                    permissions: "rw-s"
                )
        )
        #expect(record.sampling == .done)
        #expect(record.threads == nil && record.memory.isEmpty, "they are in sections of their own")
        let loop = try #require(record.loop)
        #expect(loop.mode == "a mode")
        #expect(loop.activity == "afterWaiting")
        #expect(loop.callout?.kind == .timer)
        #expect(loop.callout?.label == "a label")
        #expect(loop.callout?.item == 42)
        #expect(loop.nesting == 2)
        #expect(loop.pass == 4242)
    }

    @Test func `Registers have the names of their places in the kernel's list`() throws {
        let record = try #require(FaultRecord(bytes: bytes(of: sampleRecord())))
        // sys/ucontext.h
        let places = [
            "r8": 0, "r9": 1, "r15": 7, "rdi": 8, "rsi": 9, "rbp": 10, "rbx": 11, "rdx": 12, "rax": 13, "rcx": 14,
            "rsp": 15,
            "rip": 16, "eflags": 17, "csgsfs": 18, "err": 19, "trapno": 20, "oldmask": 21, "cr2": 22,
        ]
        for (name, place) in places { #expect(record.registers[name] == 0x1000 + UInt64(place), "\(name)") }
        #expect(record.registers.count == Int(HF_REGISTER_COUNT))
    }

    @Test func `Every field of a snapshot is decoded`() throws {
        let spool = try SpoolContents(bytes: sampleSpool([sampleRecord()]))
        let snapshot = try #require(spool.records.first?.threads)
        #expect(snapshot.faultNumber == 7)
        #expect(snapshot.omitted == 11)
        #expect(snapshot.isStopped)
        #expect(snapshot.threads.map(\.id) == [816, 817])
        let thread = snapshot.threads[0]
        #expect(thread.name == "worker-7")
        #expect(thread.outcome == .walked)
        #expect(thread.kernelState == "S")
        #expect(thread.systemCall == 0)
        #expect(thread.frames == (0..<64).map { 0x5000 + UInt64($0) })
        #expect(thread.headFrameCount == 48)
        #expect(thread.framesOmitted == 5)
        #expect(thread.sampledAfter == 0.0015)
        #expect(thread.stackPointer == 0x7000 && thread.framePointer == 0x7010)
        let other = snapshot.threads[1]
        #expect(other.outcome == .silent && other.frames.isEmpty && other.name == "" && other.systemCall == nil)
    }

    @Test func `Memory is decoded`() throws {
        let record = try #require(SpoolContents(bytes: sampleSpool([sampleRecord()])).records.first)
        #expect(
            record.memory == [
                MemoryPiece(address: 0x2000, bytes: (0..<16).map { UInt8($0) }, about: .stack),
                MemoryPiece(address: 0x6000, bytes: (16..<24).map { UInt8($0) }, about: .register(13)),
            ]
        )
    }

    @Test func `A snapshot of another fault is nobody's, and one is of one record at most`() throws {
        var later = sampleRecord()
        later.number = 8
        let stale = try SpoolContents(bytes: sampleSpool([later]))
        #expect(stale.records[0].threads == nil && stale.records[0].memory.isEmpty)
        let twice = try SpoolContents(bytes: sampleSpool([sampleRecord(), sampleRecord()]))
        #expect(twice.records.compactMap(\.threads).count == 1)
        var second = sampleRecord()
        second.number = 3
        second.thread_snapshot = 1
        let both = try SpoolContents(bytes: sampleSpool([sampleRecord(), second]))
        #expect(both.records.map { $0.threads?.threads.first?.name } == ["worker-3", "worker-7"])
    }

    @Test func `A record takes what the process itself has of it`() throws {
        var record = try #require(FaultRecord(bytes: bytes(of: sampleRecord())))
        record.attach(
            threads: bytes(of: SampleSections.snapshot(of: 8)),
            memory: bytes(of: SampleSections.area(of: 8))
        )
        #expect(record.threads == nil && record.memory.isEmpty)
        record.attach(
            threads: bytes(of: SampleSections.snapshot(of: 7)),
            memory: bytes(of: SampleSections.area(of: 7))
        )
        #expect(record.threads?.threads.count == 2 && record.memory.count == 2)
    }

    @Test(
        arguments: [
            (HF_SAMPLING_NONE, FaultRecord.Sampling.none), (HF_SAMPLING_DONE, .done), (HF_SAMPLING_OFF, .off),
            (HF_SAMPLING_TOO_SOON, .tooSoon), (HF_SAMPLING_NO_LIST, .noList),
            (HF_SAMPLING_SIGNAL_TAKEN, .signalTaken), (HF_SAMPLING_TRACED, .traced),
            (HF_SAMPLING_INTERRUPTED, .interrupted), (HF_SAMPLING_NO_ROOM, .noRoom),
        ].map { (UInt32($0.0), $0.1) }
    )
    func `Every outcome of a sample has its number`(number: UInt32, sampling: FaultRecord.Sampling) {
        #expect(sampling.rawValue == number)
    }

    @Test(
        arguments: [
            (HF_FACT_MAIN_THREAD, FaultRecord.Facts.mainThread), (HF_FACT_RECOVERY_POINT, .recoveryPoint),
            (HF_FACT_STACK_OVERFLOW, .stackOverflow), (HF_FACT_TASK, .task),
            (HF_FACT_CRITICAL_SECTION, .criticalSection), (HF_FACT_CAPTURE_THREAD, .captureThread),
            (HF_FACT_DEADLINE, .deadline), (HF_FACT_WALK_COMPLETE, .walkComplete), (HF_FACT_WALK_BROKEN, .walkBroken),
            (HF_FACT_RESTART_FAILED, .restartFailed), (HF_FACT_DRAINED, .drained), (HF_FACT_QUARANTINED, .quarantined),
            (HF_FACT_FORKED_CHILD, .forkedChild), (HF_FACT_LOCK_HELD, .lockHeld), (HF_FACT_LOCK_FRAME, .lockFrame),
            (HF_FACT_OVERDUE, .overdue), (HF_FACT_NO_ROOM, .noRoom), (HF_FACT_RUNTIME_STATE, .runtimeState),
            (HF_FACT_INITIALISER, .initialiser), (HF_FACT_RUNNING, .running), (HF_FACT_SERVING, .serving),
            (HF_FACT_START_ITEM, .startItem), (HF_FACT_SHARED_PORT, .sharedPort),
        ].map { (UInt32($0.0), $0.1) }
    )
    func `Every fact has its bit`(bit: UInt32, fact: FaultRecord.Facts) {
        #expect(fact.rawValue == bit)
    }

    @Test func `A callout's deadline is decoded where it is said that there was one`() {
        var record = sampleRecord()
        record.callout_deadline = 2_500_000_000
        #expect(FaultRecord(bytes: bytes(of: record))?.deadlineSeconds == nil)
        record.facts |= UInt32(HF_FACT_OVERDUE)
        #expect(FaultRecord(bytes: bytes(of: record))?.deadlineSeconds == 2.5)
    }

    @Test func `What the crash thread did is decoded where it gave no verdict`() {
        var record = sampleRecord()
        record.decider_state = UInt16(UInt8(ascii: "S"))
        record.decider_system_call = 202
        #expect(FaultRecord(bytes: bytes(of: record))?.crashThread == nil)
        record.facts |= UInt32(HF_FACT_DEADLINE)
        #expect(FaultRecord(bytes: bytes(of: record))?.crashThread == .init(state: "S", systemCall: 202))
        record.decider_system_call = -1
        #expect(FaultRecord(bytes: bytes(of: record))?.crashThread == .init(state: "S"))
        // Of a version that did not note it: all bytes are 0.
        (record.decider_state, record.decider_system_call) = (0, 0)
        #expect(FaultRecord(bytes: bytes(of: record))?.crashThread == .init())
    }

    @Test func `Equal faults that were counted in a record are decoded`() {
        var record = sampleRecord()
        record.last_repeat_unix_nanoseconds = 1_700_000_000_000_000_000
        #expect(FaultRecord(bytes: bytes(of: record))?.lastRepeat == nil)
        record.repeats = 41
        let decoded = FaultRecord(bytes: bytes(of: record))
        #expect(decoded?.repeats == 41)
        #expect(decoded?.lastRepeat == Timestamp(microsecondsSinceEpoch: 1_700_000_000_000_000))
    }

    @Test func `Every state, verdict, kind and activity is decoded`() throws {
        func decoded(_ change: (inout HFRecord) -> Void) -> FaultRecord? {
            var record = sampleRecord()
            change(&record)
            return FaultRecord(bytes: bytes(of: record))
        }
        #expect(decoded { $0.state = UInt32(HF_SLOT_FREE) } == nil)
        #expect(decoded { $0.state = 4 } == nil)
        #expect(decoded { $0.state = UInt32(HF_SLOT_CLAIMED) }?.stage == .incomplete)
        #expect(decoded { $0.state = UInt32(HF_SLOT_CAPTURED) }?.stage == .captured)
        #expect(decoded { $0.verdict = UInt32(HF_VERDICT_PENDING) }?.verdict == nil)
        #expect(decoded { $0.verdict = UInt32(HF_VERDICT_RESUME) }?.verdict == .resume)
        #expect(decoded { $0.verdict = UInt32(HF_VERDICT_TERMINATE) }?.verdict == .terminate)
        #expect(decoded { $0.callout_kind = 0 }?.loop == nil, "not in a callout")
        let kinds = (1...6).map { kind in decoded { $0.callout_kind = kind }?.loop?.callout?.kind }
        #expect(kinds == [.source, .port, .timer, .observer, .block, .mainQueue])
        let activities = [0, 1, 2, 5, 6, 7, 9].map { bit in decoded { $0.activity = 1 << bit }?.loop?.activity }
        #expect(
            activities == [
                "entry", "beforeTimers", "beforeSources", "beforeWaiting", "afterWaiting", "exit", "unknown",
            ]
        )
        #expect(decoded { $0.code = 0 }?.sender?.pid == 4711)
        #expect(decoded { $0.code = -6 }?.sender?.uid == 1001)
    }

    @Test func `Every field of a spool file is decoded`() throws {
        var second = sampleRecord()
        second.number = 3
        let spool = try SpoolContents(bytes: sampleSpool([sampleRecord(), HFRecord(), second]))
        #expect(spool.records.map(\.number) == [3, 7], "in the order of the faults, without the free one")
        #expect(spool.attempts == 1)
        let process = spool.process
        #expect(process.pid == 4711)
        #expect(process.parentPid == 815)
        #expect(process.restarts == 3)
        #expect(process.startTime.microsecondsSinceEpoch == 1_795_243_200_000_001)
        #expect(process.name == "a name")
        #expect(process.executable == "/an/executable")
        #expect(process.arguments == ["agent", "--flag", ""])
        #expect(process.faultsLost == 5)
        #expect(process.host.name == "a host")
        #expect(process.host.kernel == "a kernel")
        #expect(process.host.os == "a system")
        #expect(process.host.architecture == "x86_64")
        #expect(process.host.processors == 8)
        #expect(process.runtime.holdfast == "0.1.0")
        #expect(process.runtime.swift == "6.3")
        #expect(process.runtime.libc == "glibc 2.36")
    }

    @Test func `What a later version added at the end of a slot and of the header is passed over`() throws {
        let size = MemoryLayout<HFRecord>.size + 64
        var bytes = sampleSpool([sampleRecord(), sampleRecord()], slotSize: size)
        let spool = try SpoolContents(bytes: bytes)
        #expect(spool.records == (try SpoolContents(bytes: sampleSpool([sampleRecord(), sampleRecord()]))).records)
        bytes.withUnsafeMutableBytes {
            $0.storeBytes(of: UInt32(MemoryLayout<HFSpoolHeader>.size + 64), toByteOffset: 12, as: UInt32.self)
        }
        #expect(try SpoolContents(bytes: bytes).records == spool.records)
    }

    @Test func `A slot or a header that is too short for version 1 is refused`() throws {
        let slots = sampleSpool([sampleRecord()], slotSize: MemoryLayout<HFRecord>.size - 8)
        var header = sampleSpool([sampleRecord()])
        header.withUnsafeMutableBytes {
            $0.storeBytes(of: UInt32(MemoryLayout<HFSpoolHeader>.size - 4), toByteOffset: 12, as: UInt32.self)
        }
        for bytes in [slots, header] {
            let error = #expect(throws: SpoolContents.Malformed.self) { try SpoolContents(bytes: bytes) }
            #expect(error?.description == "the spool file is cut off or damaged")
        }
    }

    @Test func `What a half written slot has of the fault before it is not believed`() throws {
        // 17 faults so far, of which this slot has one: it was used before.
        var stale = sampleRecord()
        stale.state = UInt32(HF_SLOT_CLAIMED)
        let record = try #require(SpoolContents(bytes: sampleSpool([stale])).records.first)
        #expect(record.number == 0)
        #expect(record.signal == 0)
        #expect(record.registers == [:])
        #expect(record.loop == nil)
        stale.number = 17
        let started = try #require(SpoolContents(bytes: sampleSpool([stale])).records.first)
        #expect(started.number == 17)
        #expect(started.signal == Int(SIGSEGV))
        #expect(started.registers["rip"] == 0x1010)
        #expect(started.loop == nil)
        #expect(started.verdict == nil)
        #expect(started.touched == [])
    }

    @Test func `Images of a spool file are decoded`() throws {
        let images = try SpoolContents(bytes: sampleSpool([])).images
        #expect(images.map(\.path) == ["/lib/image0.so", "/lib/image1.so", "/lib/image2.so"])
        #expect(images.map(\.name) == ["image0.so", "image1.so", "image2.so"])
        #expect(images.map(\.base.rawValue) == [0x10000, 0x20000, 0x30000])
        #expect(images.map(\.end.rawValue) == [0x18000, 0x28000, 0x38000])
        #expect(images[0].buildID == nil)
        #expect(images[2].buildID == "ab" + String(repeating: "00", count: 18) + "02")
    }
}
