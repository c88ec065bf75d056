import CCrashCapture
import Glibc

/// Snapshots and memory of a spool file, in which every field has a value of its own.
struct SampleSections {
    /// The faults that the snapshots are of.
    var faults: [UInt32] = [3, 7]

    /// Adds the sections behind what is there, and names them in the header.
    func add(to spool: inout [UInt8], _ header: inout HFSpoolHeader) {
        header.snapshot_offset = UInt32(spool.count)
        header.snapshot_size = UInt32(MemoryLayout<HFThreadSnapshot>.size)
        header.snapshot_count = UInt32(faults.count)
        header.thread_entry_size = UInt32(MemoryLayout<HFThreadEntry>.size)
        for fault in faults { spool += bytes(of: Self.snapshot(of: fault)) }
        header.memory_offset = UInt32(spool.count)
        header.memory_size = UInt32(MemoryLayout<HFMemoryArea>.size)
        header.memory_count = 1
        spool += bytes(of: Self.area(of: faults.last ?? 0))
    }

    /// A thread in `read`, and one that did not answer.
    static func snapshot(of fault: UInt32) -> HFThreadSnapshot {
        var snapshot = HFThreadSnapshot()
        snapshot.fault_number = fault
        snapshot.slot = 5
        snapshot.thread_count = 2
        snapshot.threads_omitted = 11
        snapshot.is_stopped = 1
        snapshot.threads.0 = HFThreadEntry()
        snapshot.threads.0.id = 816
        snapshot.threads.0.outcome = UInt32(HF_THREAD_WALKED)
        fill(&snapshot.threads.0.name, "worker-\(fault)")
        snapshot.threads.0.system_call = 0
        snapshot.threads.0.kernel_state = 83
        snapshot.threads.0.frame_count = 64
        snapshot.threads.0.head_frame_count = 48
        snapshot.threads.0.frames_omitted = 5
        snapshot.threads.0.after_nanoseconds = 1_500_000
        snapshot.threads.0.stack_pointer = 0x7000
        snapshot.threads.0.frame_pointer = 0x7010
        withUnsafeMutableBytes(of: &snapshot.threads.0.frames) { bytes in
            let frames = bytes.bindMemory(to: UInt64.self)
            for index in frames.indices { frames[index] = 0x5000 + UInt64(index) }
        }
        snapshot.threads.1.id = 817
        snapshot.threads.1.outcome = UInt32(HF_THREAD_SILENT)
        snapshot.threads.1.system_call = -1
        snapshot.threads.1.kernel_state = 68
        return snapshot
    }

    /// Stack, and what a register points to.
    static func area(of fault: UInt32) -> HFMemoryArea {
        var area = HFMemoryArea()
        area.fault_number = fault
        area.slot = 5
        area.piece_count = 2
        area.pieces.0 = HFMemoryPiece(
            address: 0x2000,
            offset: 0,
            length: 16,
            about: UInt32(HF_MEMORY_ABOUT_STACK),
            reserved: 0
        )
        area.pieces.1 = HFMemoryPiece(address: 0x6000, offset: 16, length: 8, about: 13, reserved: 0)
        withUnsafeMutableBytes(of: &area.bytes) { for index in 0..<24 { $0[index] = UInt8(index) } }
        return area
    }
}
