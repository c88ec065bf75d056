internal import CCrashCapture

/// Collects a walk's program counters into a record: the innermost ones, and when there are more than fit, the outermost ones in
/// a ring, so that a deep recursion keeps its head and its tail.
@safe
struct FrameList {
    private let record: UnsafeMutablePointer<HFRecord>
    private let frames: UnsafeMutablePointer<UInt64>
    private var total = 0

    private static var headCount: Int { Int(HF_MAXIMUM_HEAD_FRAMES) }
    private static var tailCount: Int { Int(HF_MAXIMUM_FRAMES) - headCount }

    init(_ record: UnsafeMutablePointer<HFRecord>) {
        unsafe self.record = unsafe record
        let offset = MemoryLayout<HFRecord>.offset(of: \.frames) ?? 0
        unsafe frames = (UnsafeMutableRawPointer(record) + offset).assumingMemoryBound(to: UInt64.self)
    }

    var isEmpty: Bool { total == 0 }

    /// Takes the next frame outwards.
    mutating func add(_ programCounter: UInt64) {
        if total < Self.headCount {
            unsafe frames[total] = programCounter
        } else {
            unsafe frames[Self.headCount + (total - Self.headCount) % Self.tailCount] = programCounter
        }
        total += 1
    }

    /// Brings the ring into order and writes the counts.
    mutating func finish() {
        let extra = total - Self.headCount
        if extra > Self.tailCount {
            rotateTail(by: extra % Self.tailCount)
        }
        let kept = min(total, Self.headCount + Self.tailCount)
        unsafe record.pointee.frame_count = UInt32(kept)
        unsafe record.pointee.head_frame_count = UInt32(min(total, Self.headCount))
        unsafe record.pointee.frames_omitted = UInt32(clamping: total - kept)
    }

    /// Rotates left by three reversals: in place, because nothing may be allocated.
    private func rotateTail(by count: Int) {
        reverseTail(0, count)
        reverseTail(count, Self.tailCount)
        reverseTail(0, Self.tailCount)
    }

    private func reverseTail(_ from: Int, _ to: Int) {
        var low = Self.headCount + from
        var high = Self.headCount + to - 1
        while low < high {
            let frame = unsafe frames[low]
            unsafe frames[low] = unsafe frames[high]
            unsafe frames[high] = frame
            low += 1
            high -= 1
        }
    }
}
