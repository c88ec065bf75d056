internal import CrashCapture
internal import CrashReports
internal import LinuxSystem

/// What was seen of a thread during one stall.
///
/// Stacks are kept as addresses until a report wants names: a sample costs microseconds.
struct StallSamples {
    /// A stack of the thread.
    struct Stack: Hashable {
        var frames: [UInt64]
        var headCount: Int
        var omitted: Int
    }

    /// Samples that are alike.
    struct Key: Hashable {
        var stack: Stack
        /// As the kernel's letters say; waiting for a lock is told from other waits by names.
        var activity: CrashReport.Stall.Activity
        var systemCall: Int?
    }

    /// What all samples of a key stand for.
    struct Weight {
        var seconds: Double
        var samples: Int
    }

    /// Different stacks that are told apart; more count as the one that came last.
    private static let mostKeys = 4096

    private(set) var weights: [Key: Weight] = [:]
    private var lastKey: Key?
    /// The last look whose stack is known.
    private(set) var lastLook: ThreadLook?
    private var first: ThreadActivity?
    private var last: ThreadActivity?

    /// How long the thread was on a processor, and waited for one, since the first sample, in seconds.
    var processorSeconds: Double? { Self.seconds(from: first?.runTime, to: last?.runTime) }
    /// See `processorSeconds`.
    var waitedForProcessorSeconds: Double? { Self.seconds(from: first?.waitTime, to: last?.waitTime) }

    /// Takes a sample.
    ///
    /// - Parameters:
    ///   - look: Where the thread was; nil if that is the same as at the last look.
    ///   - activity: What the kernel said before that.
    ///   - seconds: The time that the sample stands for.
    mutating func add(_ look: ThreadLook?, _ activity: ThreadActivity, seconds: Double) {
        // One that did not answer says nothing of where it is.
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
        // Of a thread that is gone, nothing is known any more.
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
