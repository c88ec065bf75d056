internal import CrashCapture
internal import CrashReports
internal import Glibc
internal import LinuxSystem
internal import Synchronization
internal import TaskBoundaries

/// Finds out what the tasks of the process do: those of fault boundaries that have not ended, and their children.
///
/// Nobody is asked: the tasks' memory is read while other threads may change it, and what does not verify is not told. A thread that runs a
/// job of a boundary stands still for about 100 us. For one thread at a time.
struct TaskDumper {
    /// More boundaries than a server has under way.
    static let mostBoundaries = 4096
    /// More tasks than somebody reads.
    static let mostTasks = 16384
    /// How many tasks of a group are named.
    private static let mostNamed = 8

    private let capture: CrashCapture
    /// When no further task is looked at: whoever asked waits.
    private let patience: Duration

    init(_ capture: CrashCapture, within patience: Duration = .seconds(5)) {
        self.capture = capture
        self.patience = patience
    }

    /// Where a task is, as addresses.
    private struct Place: Hashable {
        var label: String
        var state: CrashReport.Word
        var isChild: Bool
        var hasCaller: Bool
        var frames: [UInt64] = []
        var headCount = 0
        var omitted = 0
        var awaits: [UInt64] = []
        var awaitPosition = 0
    }

    private struct Found {
        var count = 0
        var oldest: Int64
        var youngest: Int64
        var tasks: [TaskDump.Task] = []
    }

    /// The same, but nil if there is no task.
    func dumpUnlessEmpty() -> TaskDump? {
        guard BoundaryHost.running.load(ordering: .relaxed) > 0, let dump = dump(), dump.tasks > 0 else { return nil }
        return dump
    }

    /// Looks at all tasks, or as many as there is time for; nil if the process cannot be described.
    func dump() -> TaskDump? {
        guard let contents = try? SpoolContents(bytes: capture.spoolBytes()) else { return nil }
        let now = MonotonicClock.nanoseconds
        let end = now + patience.saturatingNanoseconds
        let (boundaries, count) = TaskBoundaries.FaultBoundary.open(atMost: Self.mostBoundaries)
        let threads = boundaries.isEmpty ? [:] : runningThreads()
        var isPartial = count > boundaries.count
        var found: [Place: Found] = [:]
        var tasks = 0
        for open in boundaries {
            var waiting = [open.task]
            var seen: Set<UInt64> = []
            while let task = waiting.popLast() {
                guard tasks < Self.mostTasks, MonotonicClock.nanoseconds < end else {
                    isPartial = true
                    break
                }
                guard task != 0, seen.insert(task).inserted, let look = look(at: task, threads) else { continue }
                waiting += look.task.children
                if task != open.task { waiting.append(look.task.sibling) }
                if look.task.state == .complete { continue }
                tasks += 1
                let place = place(of: look, in: open, isChild: task != open.task)
                var group = found[place] ?? Found(oldest: open.since, youngest: open.since)
                group.count += 1
                group.oldest = min(group.oldest, open.since)
                group.youngest = max(group.youngest, open.since)
                if group.tasks.count < Self.mostNamed {
                    group.tasks.append(
                        TaskDump.Task(
                            id: look.task.id,
                            priority: look.task.priority,
                            isCancelled: look.task.isCancelled,
                            thread: look.thread.map { Int($0.thread) }
                        )
                    )
                }
                found[place] = group
            }
        }
        let builder = ReportBuilder(process: contents.process)
        let groups = found.map { place, group in
            TaskDump.Group(
                label: CrashContext.redaction.redact(place.label),
                state: place.state,
                areChildren: place.isChild,
                haveCallers: place.hasCaller,
                count: group.count,
                oldest: Self.seconds(now - group.oldest),
                youngest: Self.seconds(now - group.youngest),
                tasks: group.tasks,
                frames: frames(of: place, by: builder, contents.images)
            )
        }
        return TaskDump(
            pid: contents.process.pid,
            process: contents.process.name,
            time: .now,
            boundaries: count,
            tasks: tasks,
            isPartial: isPartial,
            groups: groups.sorted { ($1.oldest, $0.label, $0.count) < ($0.oldest, $1.label, $1.count) }
        )
    }

    private func frames(
        of place: Place,
        by builder: ReportBuilder,
        _ images: [CrashReport.Image]
    ) -> [CrashReport.Frame] {
        let frames = builder.frames(
            at: place.frames,
            headCount: place.headCount,
            omitted: place.omitted,
            awaits: place.awaits,
            after: place.awaitPosition,
            images: images
        )
        // A dump has no list of images.
        return frames.map { frame in
            var frame = frame
            frame.image = nil
            return frame
        }
    }

    private static func seconds(_ nanoseconds: Int64) -> Double { Double(max(0, nanoseconds)) / 1e9 }

    // MARK: One task

    /// What was seen of a task, and of the thread that ran it all the time.
    private struct Look {
        var task: TaskLook
        var thread: ThreadLook?
    }

    /// The threads that may run a task of a boundary, by the task: those of the pool, and the main thread.
    private func runningThreads() -> [UInt64: ThreadLook] {
        let workers = (0..<TaskPool.mostWorkers).lazy.map(TaskPool.worker).filter(\.isRunning).map(\.thread)
        let looks = ([getpid()] + workers).compactMap { CrashCapture.look(at: $0) }.filter { $0.task != 0 }
        return Dictionary(looks.map { ($0.task, $0) }) { first, _ in first }
    }

    private func look(at task: UInt64, _ threads: [UInt64: ThreadLook]) -> Look? {
        guard let look = CrashCapture.look(atTask: task) else { return nil }
        // It ran when its thread was looked at, and may have waited since.
        let runs = look.state == .running || look.state == .unknown
        return Look(task: look, thread: runs ? threads[task] : nil)
    }

    private func place(of look: Look, in open: TaskBoundaries.FaultBoundary.Open, isChild: Bool) -> Place {
        var place = Place(
            label: open.boundary.label.name,
            state: look.thread == nil ? look.task.state.word : .running,
            isChild: isChild,
            hasCaller: !open.boundary.isAnswered
        )
        if let thread = look.thread {
            place.frames = thread.frames
            place.headCount = thread.headFrameCount
            place.omitted = thread.framesOmitted
            place.awaits = thread.awaits
            place.awaitPosition = thread.awaitPosition
        } else if look.task.state != .running {
            // A thread that is none of the pool's may run it: then where it last waited says nothing.
            place.awaits = look.task.awaits
        }
        return place
    }
}

extension TaskLook.State {
    /// The word for it in a dump.
    fileprivate var word: CrashReport.Word {
        switch self {
        case .running: .running
        case .queued: .queued
        case .waiting: .waiting
        case .complete, .unknown: .unknown
        }
    }
}
