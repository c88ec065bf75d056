internal import CrashCapture
internal import CrashReports
internal import LinuxSystem

/// What was seen of a thread during one stall.
///
/// Stacks stay addresses until a report needs names, so a sample costs only microseconds.
struct StallSamples {
    /// A stack of the thread.
    struct Stack: Hashable {
        var frames: [UInt64]
        var headCount: Int
        var omitted: Int
    }

    /// What equal samples have in common.
    struct Key: Hashable {
        var stack: Stack
        /// From the kernel's state letter; the report later uses names to tell waiting for a lock from other waits.
        var activity: CrashReport.Stall.Activity
        var systemCall: Int?
    }

    /// The sum of all samples of a key.
    struct Weight {
        var seconds: Double
        var samples: Int
    }

    /// The maximum number of different keys; further ones count towards the latest key.
    private static let mostKeys = 4096

    private(set) var weights: [Key: Weight] = [:]
    private var lastKey: Key?
    /// The latest look that has a stack.
    private(set) var lastLook: ThreadLook?
    private var first: ThreadActivity?
    private var last: ThreadActivity?

    /// How long the thread ran on a processor since the first sample, in seconds.
    var processorSeconds: Double? { Self.seconds(from: first?.runTime, to: last?.runTime) }
    /// How long the thread waited for a processor since the first sample, in seconds.
    var waitedForProcessorSeconds: Double? { Self.seconds(from: first?.waitTime, to: last?.waitTime) }

    /// Takes a sample.
    ///
    /// - Parameters:
    ///   - look: Where the thread was; nil if unchanged since the last look.
    ///   - activity: What the kernel said just before.
    ///   - seconds: The time that the sample stands for.
    mutating func add(_ look: ThreadLook?, _ activity: ThreadActivity, seconds: Double) {
        // A thread that did not answer has no known place.
        if let look, !look.frames.isEmpty || lastLook == nil { lastLook = look }
        let seen = lastLook
        let stack = Stack(
            frames: seen?.frames ?? [],
            headCount: seen?.headFrameCount ?? 0,
            omitted: seen?.framesOmitted ?? 0
        )
        var key = Key(stack: stack, activity: kind(of: activity), systemCall: nil)
        if key.activity != .running, key.activity != .ready { key.systemCall = activity.systemCall }
        if weights.count >= Self.mostKeys, weights[key] == nil, let lastKey { key = lastKey }
        weights[key, default: Weight(seconds: 0, samples: 0)].seconds += seconds
        weights[key]?.samples += 1
        lastKey = key
        note(activity)
    }

    private mutating func note(_ activity: ThreadActivity) {
        if first?.runTime == nil { first = activity }
        // The kernel gives no times for a thread that has ended.
        if activity.runTime != nil { last = activity }
    }

    // proc_pid_stat(5)
    private func kind(of activity: ThreadActivity) -> CrashReport.Stall.Activity {
        switch activity.state {
        case "R":
            let ran = Self.seconds(from: last?.runTime, to: activity.runTime) ?? 0
            let waited = Self.seconds(from: last?.waitTime, to: activity.waitTime) ?? 0
            return waited > ran ? .ready : .running
        case "S", "I": return .systemCall
        case "D": return .disk
        case "T", "t": return .stopped
        default: return .unknown
        }
    }

    private static func seconds(from begin: Int64?, to end: Int64?) -> Double? {
        guard let begin, let end, end >= begin else { return nil }
        return Double(end - begin) / 1e9
    }
}
