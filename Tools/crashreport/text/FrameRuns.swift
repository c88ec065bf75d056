package import CrashReports

/// Frames in runs of the same calls over and over, as a recursion makes them.
///
/// Most runs are one frame. A run of a recursion repeats one function, or a few that call each other in turn.
package struct FrameRuns: Sequence, IteratorProtocol {
    /// Neighbouring frames, or those of one function with some of them left out.
    package struct Run {
        /// The frames.
        package var frames: ArraySlice<CrashReport.Frame>
        /// After how many frames the functions repeat; as many as there are when they do not.
        package var period: Int
    }

    /// How many functions may take part in a recursion.
    private static let longestPeriod = 8

    private var rest: ArraySlice<CrashReport.Frame>

    package init(_ frames: [CrashReport.Frame]) {
        rest = frames[...]
    }

    package mutating func next() -> Run? {
        guard !rest.isEmpty else { return nil }
        var longest = Run(frames: rest.prefix(1), period: 1)
        for period in 1...Self.longestPeriod {
            let count = repeatingCount(period)
            // Twice the same is a coincidence, three times is not.
            if count >= 3 * period, count > longest.frames.count {
                longest = Run(frames: rest.prefix(count), period: period)
                // What repeats after one repeats after two as well.
                break
            }
        }
        rest = rest.dropFirst(longest.frames.count)
        return longest
    }

    /// How many frames from here on repeat what lies some frames before them.
    private func repeatingCount(_ period: Int) -> Int {
        var count = 1
        while count < rest.count {
            let index = rest.startIndex + count
            let (before, current) = (rest[index - 1].index, rest[index].index)
            // What was left out between two calls of the same function is taken for more of them.
            guard current == before &+ 1 || period == 1 && count > 1 && current > before else { break }
            if count >= period {
                guard let function = rest[index].function, function == rest[index - period].function else { break }
            }
            count += 1
        }
        return count
    }
}
