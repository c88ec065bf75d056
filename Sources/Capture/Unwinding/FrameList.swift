internal import CCrashCapture

/// Collects a walk's program counters into a record or a thread's entry.
///
/// If there are more than fit, it keeps the innermost ones, and the outermost ones in a ring: so a deep recursion keeps its head and its
/// tail.
@safe
struct FrameList {
    /// How much of a walk was kept.
    struct Counts {
        /// Program counters that were kept.
        var kept: UInt32
        /// How many of them are the innermost ones.
        var head: UInt32
        /// How many were not kept.
        var omitted: UInt32
    }

    private let frames: UnsafeMutablePointer<UInt64>
    private let headCount: Int
    private let tailCount: Int
    private var total = 0

    init(_ record: UnsafeMutablePointer<HFRecord>) {
        let offset = MemoryLayout<HFRecord>.offset(of: \.frames) ?? 0
        unsafe frames = (UnsafeMutableRawPointer(record) + offset).assumingMemoryBound(to: UInt64.self)
        headCount = Int(HF_MAXIMUM_HEAD_FRAMES)
        tailCount = Int(HF_MAXIMUM_FRAMES) - Int(HF_MAXIMUM_HEAD_FRAMES)
    }

    /// Has room for `count` program counters at `frames`.
    init(_ frames: UnsafeMutablePointer<UInt64>, headCount: Int, count: Int) {
        unsafe self.frames = unsafe frames
        self.headCount = headCount
        tailCount = count - headCount
    }

    var isEmpty: Bool { total == 0 }

    /// Takes the next frame outwards.
    mutating func add(_ programCounter: UInt64) {
        if total < headCount {
            unsafe frames[total] = programCounter
        } else {
            unsafe frames[headCount + (total - headCount) % tailCount] = programCounter
        }
        total += 1
    }

    /// Puts the ring in order; returns the counts.
    mutating func finish() -> Counts {
        let extra = total - headCount
        if extra > tailCount {
            rotateTail(by: extra % tailCount)
        }
        let kept = min(total, headCount + tailCount)
        return Counts(
            kept: UInt32(kept),
            head: UInt32(min(total, headCount)),
            omitted: UInt32(clamping: total - kept)
        )
    }

    /// Rotates left by three reversals: in place, because nothing may be allocated.
    private func rotateTail(by count: Int) {
        reverseTail(0, count)
        reverseTail(count, tailCount)
        reverseTail(0, tailCount)
    }

    private func reverseTail(_ from: Int, _ to: Int) {
        var low = headCount + from
        var high = headCount + to - 1
        while low < high {
            let frame = unsafe frames[low]
            unsafe frames[low] = unsafe frames[high]
            unsafe frames[high] = frame
            low += 1
            high -= 1
        }
    }
}
