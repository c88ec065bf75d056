import CCrashCapture
import Testing

@testable import CrashCapture

/// Which program counters of a walk are kept.
@Suite struct FrameListTests {
    private static let head = Int(HF_MAXIMUM_HEAD_FRAMES)
    private static let most = Int(HF_MAXIMUM_FRAMES)
    private static let tail = most - head

    private struct Kept: Equatable {
        var frames: [UInt64]
        var head: Int
        var omitted: Int
    }

    /// Adds the numbers from 1 and returns what the record has.
    private static func keep(_ count: Int) -> Kept {
        let record = UnsafeMutablePointer<HFRecord>.allocate(capacity: 1)
        record.initialize(to: HFRecord())
        defer { record.deallocate() }
        var list = FrameList(record)
        for number in 0..<count { list.add(UInt64(number + 1)) }
        let counts = list.finish()
        let frames = withUnsafeBytes(of: &record.pointee.frames) { bytes in
            Array(bytes.bindMemory(to: UInt64.self).prefix(Int(counts.kept)))
        }
        return Kept(
            frames: frames,
            head: Int(counts.head),
            omitted: Int(counts.omitted)
        )
    }

    @Test(arguments: [0, 1, 2, head - 1, head, head + 1, most - 1, most])
    func `Frames that fit are kept in their order`(count: Int) {
        let all = (0..<count).map { UInt64($0 + 1) }
        #expect(Self.keep(count) == Kept(frames: all, head: min(count, Self.head), omitted: 0))
    }

    @Test(
        arguments: [
            most + 1, most + 2, most + tail - 1, most + tail, most + tail + 1, most + 2 * tail, 3 * most, 99_999,
        ]
    )
    func `Of more than fit the innermost and the outermost are kept`(count: Int) {
        let first = UInt64(1)...UInt64(Self.head)
        let last = UInt64(count - Self.tail + 1)...UInt64(count)
        let ends = Array(first) + Array(last)
        #expect(Self.keep(count) == Kept(frames: ends, head: Self.head, omitted: count - Self.most))
    }

    @Test func `Every count around the ring's turns keeps its order`() {
        for count in Self.most...Self.most + 3 * Self.tail {
            let kept = Self.keep(count)
            #expect(kept.frames == kept.frames.sorted() && kept.frames.count == Self.most)
            #expect(kept.frames.last == UInt64(count))
        }
    }

    @Test func `A list is empty until the first frame`() {
        let record = UnsafeMutablePointer<HFRecord>.allocate(capacity: 1)
        record.initialize(to: HFRecord())
        defer { record.deallocate() }
        var list = FrameList(record)
        #expect(list.isEmpty)
        list.add(1)
        #expect(!list.isEmpty)
    }
}
