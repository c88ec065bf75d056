internal import FoundationEssentials
internal import LinuxSystem

/// What the tasks of a process do at a moment: those of fault boundaries, and their children.
///
/// Tasks of one kind that wait at the same place are one group, so that ten thousand of them are read at a glance.
package struct TaskDump: Codable, Sendable, Hashable {
    /// The version of the form.
    package static let version = 1

    /// Tasks with the same label and state, at the same place.
    package struct Group: Codable, Sendable, Hashable {
        /// The label of their boundaries.
        package var label: String
        /// `running`, `queued`, `waiting`, or `unknown`.
        package var state: CrashReport.Word
        /// Whether they are children of the boundary's own task.
        package var areChildren: Bool
        /// Whether the boundaries' callers still wait: not if a deadline has passed.
        package var haveCallers: Bool
        /// How many there are.
        package var count: Int
        /// How long ago the oldest of their boundaries began, in seconds.
        package var oldest: Double
        /// The same for the youngest.
        package var youngest: Double
        /// The first of them.
        package var tasks: [Task]
        /// Where they are, innermost first: calls of the thread, and then the functions that await; empty if it could not be told.
        package var frames: [CrashReport.Frame]

        /// Makes a group.
        package init(
            label: String,
            state: CrashReport.Word,
            areChildren: Bool,
            haveCallers: Bool,
            count: Int,
            oldest: Double,
            youngest: Double,
            tasks: [Task],
            frames: [CrashReport.Frame]
        ) {
            self.label = label
            self.state = state
            self.areChildren = areChildren
            self.haveCallers = haveCallers
            self.count = count
            self.oldest = oldest
            self.youngest = youngest
            self.tasks = tasks
            self.frames = frames
        }
    }

    /// A task.
    package struct Task: Codable, Sendable, Hashable {
        /// The number that the runtime gave it.
        package var id: UInt32
        /// Its priority, as a `TaskPriority` has it.
        package var priority: UInt8
        /// Whether it was cancelled.
        package var isCancelled: Bool
        /// The thread that runs it, if one of the pool's does.
        package var thread: Int?

        /// Makes one.
        package init(id: UInt32, priority: UInt8, isCancelled: Bool, thread: Int?) {
            self.id = id
            self.priority = priority
            self.isCancelled = isCancelled
            self.thread = thread
        }
    }

    /// The version of its form.
    package var version = Self.version
    /// The process.
    package var pid: Int
    /// The name of its program.
    package var process: String
    /// When it was taken.
    package var time: Timestamp
    /// How many boundaries had not ended.
    package var boundaries: Int
    /// How many tasks were looked at.
    package var tasks: Int
    /// Whether there were more than were looked at.
    package var isPartial: Bool
    /// The groups, those with the oldest tasks first.
    package var groups: [Group]

    /// Makes a dump.
    package init(
        pid: Int,
        process: String,
        time: Timestamp,
        boundaries: Int,
        tasks: Int,
        isPartial: Bool,
        groups: [Group]
    ) {
        self.pid = pid
        self.process = process
        self.time = time
        self.boundaries = boundaries
        self.tasks = tasks
        self.isPartial = isPartial
        self.groups = groups
    }

    /// Reads what another process has written.
    ///
    /// - Parameter json: Any bytes.
    /// - Throws: `ReportFormatError`.
    package init(json: [UInt8]) throws(ReportFormatError) {
        do {
            self = try JSONDecoder().decode(TaskDump.self, from: Data(json))
        } catch {
            throw ReportFormatError(code: .malformed, explanation: (error as? DecodingError)?.explanation ?? "\(error)")
        }
        guard version == Self.version else {
            throw ReportFormatError(
                code: .unsupportedVersion,
                explanation: "a dump of tasks of version \(version), and this is for version \(Self.version)"
            )
        }
    }

    /// The dump as JSON.
    package func json() throws(ReportFormatError) -> [UInt8] { try JSONText.encode(self) }
}

extension TaskDump {
    /// The dump as text: a paragraph for each group, a line for each call.
    ///
    /// It has no character that controls a terminal.
    package var lines: [String] {
        let more = isPartial ? ", and more that were not looked at" : ""
        let sum = "\(Count.of(tasks, "task")) in \(Count.of(boundaries, "fault boundary", "fault boundaries"))\(more)"
        var lines = [TerminalText.visible("\(process)[\(pid)] at \(time): \(sum)")]
        for group in groups {
            lines.append("")
            lines.append(TerminalText.visible(group.title))
            lines += group.calls.map { "    " + TerminalText.visible($0) }
        }
        return lines
    }
}

extension TaskDump.Group {
    /// What they are, how many, and for how long.
    fileprivate var title: String {
        let what = areChildren ? Count.of(count, "child task", "child tasks") : Count.of(count, "task")
        let (first, last) = (Self.text(youngest), Self.text(oldest))
        let age = first == last ? last : "\(first) to \(last)"
        let threads = tasks.compactMap(\.thread).map(String.init).joined(separator: ", ")
        let place = threads.isEmpty ? "" : " on thread \(threads)"
        let ids = tasks.map { "\($0.id)" }.joined(separator: ", ") + (count > tasks.count ? " and others" : "")
        let cancelled = tasks.allSatisfy(\.isCancelled) ? ", cancelled" : ""
        let caller = haveCallers ? "" : ", given up by the caller"
        return "\(label): \(what) \(state)\(place)\(cancelled)\(caller), \(age) (id \(ids))"
    }

    /// Its calls: those of the program, and the innermost one that it has called; others are counted.
    fileprivate var calls: [String] {
        if frames.isEmpty { return ["where it is could not be told"] }
        let frames = frames.filter { $0.runtimeFailure == nil }
        guard let first = frames.firstIndex(where: \.isApplicationCode),
            let last = frames.lastIndex(where: \.isApplicationCode)
        else { return frames.map(Self.line) }
        var lines = first > 0 ? [Self.line(frames[first - 1])] : []
        var others = 0
        for frame in frames[first...last] {
            guard frame.isApplicationCode else {
                others += 1
                continue
            }
            if others > 0 { lines.append("(\(Count.of(others, "call")) of others)") }
            others = 0
            lines.append(Self.line(frame))
        }
        return lines
    }

    private static func line(_ frame: CrashReport.Frame) -> String {
        (frame.asyncRole.map { "\($0) " } ?? "") + frame.location
    }

    /// Seconds in a form that is read at a glance.
    private static func text(_ seconds: Double) -> String {
        let seconds = seconds.isFinite ? max(0, min(seconds, 1e12)) : 0
        if seconds < 60 { return "\((seconds * 10).rounded() / 10) s" }
        let whole = Int(seconds)
        return whole < 3600 ? "\(whole / 60) min \(whole % 60) s" : "\(whole / 3600) h \(whole % 3600 / 60) min"
    }
}
