/// Frames in runs of calls of the same function, one after the other without a gap.
struct FrameRuns: Sequence, IteratorProtocol {
    private var rest: ArraySlice<CrashReport.Frame>

    init(_ frames: [CrashReport.Frame]) {
        rest = frames[...]
    }

    mutating func next() -> ArraySlice<CrashReport.Frame>? {
        guard let first = rest.first else { return nil }
        var end = rest.startIndex + 1
        while end < rest.endIndex, rest[end].function == first.function, first.function != nil,
            rest[end].index == rest[end - 1].index &+ 1
        {
            end += 1
        }
        let run = rest[..<end]
        rest = rest[end...]
        return run
    }
}
