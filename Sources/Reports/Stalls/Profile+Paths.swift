extension CrashReport.Stall.Profile {
    /// A call with where it stands in the tree, whatever depths the report claims.
    package struct Row: Sendable, Hashable {
        /// The call.
        package var call: CrashReport.Stall.Call
        /// How many calls it is away from the outermost one: at most one more than that of the row before.
        package var depth: Int
        /// How long the thread was in the call itself, and not in what it called, in seconds.
        package var ownSeconds: Double
    }

    /// The calls in their order, with depths that make a tree.
    package var rows: [Row] {
        var rows: [Row] = []
        rows.reserveCapacity(calls.count)
        // The last row of each depth.
        var path: [Int] = []
        for call in calls {
            let depth = min(max(call.depth, 0), path.count)
            path.removeSubrange(depth...)
            if let caller = path.last {
                rows[caller].ownSeconds = max(0, rows[caller].ownSeconds - max(0, call.seconds))
            }
            path.append(rows.count)
            rows.append(Row(call: call, depth: depth, ownSeconds: max(0, call.seconds)))
        }
        return rows
    }

    /// The time that all of it stands for: what is not under a call were samples without one.
    ///
    /// - Parameter rows: The rows of this profile.
    /// - Returns: In seconds; zero if no part of it can be told.
    package func wholeSeconds(of rows: [Row]) -> Double {
        let outermost = rows.lazy.filter { $0.depth == 0 }.reduce(0) { $0 + max(0, $1.call.seconds) }
        let whole = max(outermost, seconds)
        return whole.isFinite && whole > 0 ? whole : 0
    }

    /// The calls that lead to where the thread was longest, the outermost first.
    package var heaviestPath: [CrashReport.Stall.Call] {
        var path: [CrashReport.Stall.Call] = []
        for row in rows {
            guard row.depth == path.count else { break }
            path.append(row.call)
        }
        return path
    }

    /// Where to look for the cause: the innermost function of the program in which the thread was all the time.
    ///
    /// What that calls again and again is in some of the samples only, and not to blame. Nil where none is known.
    package var culprit: CrashReport.Stall.Call? {
        // Samples without a stack say nothing. One in twenty may be of the callout's end, or of another one before it.
        let all = rows.reduce(0) { $1.depth == 0 ? $0.addingClamped($1.call.samples) : $0 }
        let whole = heaviestPath.filter { $0.isUserCode && $0.samples >= all - all / 20 }
        return whole.last { $0.function != nil } ?? whole.last
    }
}
