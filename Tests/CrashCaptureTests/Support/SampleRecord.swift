import CCrashCapture
import Glibc

/// A record in which every field has a value of its own.
func sampleRecord() -> HFRecord {
    var record = HFRecord()
    record.state = UInt32(HF_SLOT_DECIDED)
    record.number = 7
    record.time_unix_nanoseconds = 1_795_243_212_123_456_789
    record.uptime_nanoseconds = 2_500_000_000
    record.signal = SIGSEGV
    record.code = 2
    record.address = 0x1234_5678_9abc
    record.sender_pid = 4711
    record.sender_uid = 1001
    record.thread = 815
    record.facts = UInt32(HF_FACT_MAIN_THREAD) | UInt32(HF_FACT_WALK_COMPLETE)
    fill(&record.thread_name, "agent-thread")
    record.verdict = UInt32(HF_VERDICT_RESTART)
    record.frame_count = 256
    record.head_frame_count = 192
    record.frames_omitted = 99
    withUnsafeMutableBytes(of: &record.registers) { bytes in
        for (index, register) in bytes.bindMemory(to: UInt64.self).indices.enumerated() {
            bytes.bindMemory(to: UInt64.self)[register] = 0x1000 + UInt64(index)
        }
    }
    record.context = 0xdead
    record.stack_low = 0x2000
    record.stack_high = 0x3000
    record.item = 42
    record.pass = 4242
    record.callout_kind = 3
    record.activity = 1 << 6
    record.nesting = 2
    record.code_length = 16
    fill(&record.mode, "a mode")
    fill(&record.label, "a label")
    fill(&record.message, "a message")
    fill(&record.abort_message, "an abort message")
    fill(&record.reason, "a reason")
    withUnsafeMutableBytes(of: &record.frames) { bytes in
        let frames = bytes.bindMemory(to: UInt64.self)
        for index in frames.indices { frames[index] = 0x4000 + UInt64(index) }
    }
    record.pid = 4712
    record.held_locks = 2
    fill(&record.exception_type, "std::runtime_error")
    fill(&record.exception_message, "what it says")
    fill(&record.touched, "a cache\nan index")
    record.sampling = UInt32(HF_SAMPLING_DONE)
    record.thread_snapshot = 2
    record.memory_area = 1
    withUnsafeMutableBytes(of: &record.code_bytes) { for index in $0.indices { $0[index] = 0xc0 + UInt8(index) } }
    record.mapping.start = 0x1234_5678_0000
    record.mapping.end = 0x1234_5678_9000
    record.mapping.permissions = 0b1011
    fill(&record.mapping.name, "/memfd:a file")
    fill(&record.sender_name, "kill")
    record.code_before_length = 8
    withUnsafeMutableBytes(of: &record.code_before) { for index in $0.indices { $0[index] = 0xb0 + UInt8(index) } }
    withUnsafeMutableBytes(of: &record.more_registers) { bytes in
        let registers = bytes.bindMemory(to: UInt64.self)
        for index in registers.indices { registers[index] = 0x1017 + UInt64(index) }
    }
    return record
}

/// The bytes of a spool file with these records, laid out as the writer does it.
///
/// - Parameters:
///   - records: What is in the slots.
///   - imageCount: How many images there are.
///   - slotSize: More than a record makes the slots of a later version, less makes slots that are damaged.
///   - sections: What is in the sections behind the slots.
/// - Returns: The whole file.
func sampleSpool(
    _ records: [HFRecord],
    imageCount: Int = 3,
    slotSize: Int = MemoryLayout<HFRecord>.size,
    sections: SampleSections = SampleSections()
) -> [UInt8] {
    let imageOffset = (MemoryLayout<HFSpoolHeader>.size + 63) & ~63
    let slotOffset = (imageOffset + MemoryLayout<HFImage>.size * imageCount + 63) & ~63
    var header = HFSpoolHeader()
    fill(&header.magic, HF_SPOOL_MAGIC)
    header.version = HF_SPOOL_VERSION
    header.header_size = UInt32(MemoryLayout<HFSpoolHeader>.size)
    header.image_offset = UInt32(imageOffset)
    header.image_size = UInt32(MemoryLayout<HFImage>.size)
    header.image_capacity = UInt32(imageCount)
    header.image_count = UInt32(imageCount)
    header.slot_offset = UInt32(slotOffset)
    header.slot_size = UInt32(slotSize)
    header.slot_count = UInt32(records.count)
    header.fault_count = 17
    header.faults_lost = 5
    header.pid = 4711
    header.parent_pid = 815
    header.restarts = 3
    header.start_unix_nanoseconds = 1_795_243_200_000_001_000
    header.start_monotonic_nanoseconds = 12
    header.processors = 8
    header.argument_count = 3
    header.attempts = 1
    fill(&header.name, "a name")
    fill(&header.executable, "/an/executable")
    fill(&header.host, "a host")
    fill(&header.kernel, "a kernel")
    fill(&header.operating_system, "a system")
    fill(&header.architecture, "x86_64")
    fill(&header.libc, "glibc 2.36")
    fill(&header.swift, "6.3")
    fill(&header.holdfast, "0.1.0")
    let arguments = "agent\0--flag\0\0"
    fill(&header.arguments, arguments)
    header.arguments_length = UInt32(arguments.utf8.count)

    var spool = [UInt8](repeating: 0, count: slotOffset + slotSize * records.count)
    sections.add(to: &spool, &header)
    spool.replaceSubrange(0..<MemoryLayout<HFSpoolHeader>.size, with: bytes(of: header))
    for index in 0..<imageCount {
        var image = HFImage()
        image.base = 0x10000 * UInt64(index + 1)
        image.end = image.base + 0x8000
        image.build_id_length = index == 0 ? 0 : 20
        withUnsafeMutableBytes(of: &image.build_id) { bytes in
            bytes[0] = 0xab
            bytes[19] = UInt8(index)
        }
        fill(&image.path, "/lib/image\(index).so")
        let start = imageOffset + index * MemoryLayout<HFImage>.size
        spool.replaceSubrange(start..<start + MemoryLayout<HFImage>.size, with: bytes(of: image))
    }
    for (index, record) in records.enumerated() {
        let start = slotOffset + index * slotSize
        let slot = bytes(of: record).prefix(slotSize)
        spool.replaceSubrange(start..<start + slot.count, with: slot)
    }
    return spool
}
