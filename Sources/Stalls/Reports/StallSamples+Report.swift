internal import CrashReports
internal import LinuxSystem
internal import RunLoops
internal import Symbolication

extension StallSamples {
    /// What the thread did.
    private struct Doing: Hashable {
        var activity: CrashReport.Stall.Activity
        var systemCall: String?
    }

    /// Merges all samples and resolves names.
    ///
    /// - Parameters:
    ///   - builder: Resolves names.
    ///   - images: The images of the process.
    /// - Returns: Where the thread was, and what it did, longest first.
    func merged(
        _ builder: ReportBuilder,
        images: [CrashReport.Image]
    ) -> (CrashReport.Stall.Profile?, [CrashReport.Stall.ActivityTime]) {
        var tree = ProfileTree()
        var doings: [Doing: Weight] = [:]
        for (key, weight) in weights {
            let frames = builder.frames(
                at: key.stack.frames,
                headCount: key.stack.headCount,
                omitted: key.stack.omitted,
                images: images
            )
            tree.add(frames, seconds: weight.seconds, samples: weight.samples)
            let call = key.systemCall.flatMap { SystemCallNames.name($0) }
            var doing = Doing(activity: key.activity, systemCall: call)
            if doing.activity == .systemCall, LockWait.isOne(systemCall: call, frames: frames) {
                doing.activity = .lock
            }
            doings[doing, default: Weight(seconds: 0, samples: 0)].seconds += weight.seconds
            doings[doing]?.samples += weight.samples
        }
        let activities = doings.map { doing, weight in
            CrashReport.Stall.ActivityTime(
                activity: doing.activity,
                systemCall: doing.systemCall,
                seconds: weight.seconds,
                samples: weight.samples
            )
        }
        return (tree.profile, activities.sorted { ($1.seconds, $0.text) < ($0.seconds, $1.text) })
    }
}

extension CrashReport.Stall {
    /// Converts a stall announced by the monitor.
    init(_ stall: Stall, begin: Timestamp, length: Double, isOver: Bool) {
        let (subject, label): (Subject, String?) =
            switch stall.subject {
            case .loop: (.loop, nil)
            case .ping(let label): (.ping, label)
            case .job: (.job, nil)
            }
        self.init(
            number: Int(clamping: stall.number),
            subject: subject,
            label: label,
            threshold: stall.rule.threshold / .seconds(1),
            begin: begin,
            length: length
        )
        guard isOver else { return }
        end = .wentOn
        lengths.add(seconds: length)
    }
}

extension CrashReport.Stall.Ticks {
    /// Converts the measurements of a tick monitor.
    init(_ statistics: TickStatistics) {
        let lateness = zip(DurationHistogram.bounds.map(Optional.some) + [nil], statistics.lateness.counts).map {
            CrashReport.Histogram.Step(upTo: $0.map { $0 / .seconds(1) }, count: $1)
        }
        self = .unmeasured
        (count, missed, self.lateness) = (statistics.ticks, statistics.missed, CrashReport.Histogram(steps: lateness))
        (smoothness, hitchRatio) = (statistics.smoothness, statistics.hitchRatio)
    }
}
