internal import LinuxSystem
internal import RunLoops
internal import Synchronization

/// A loop whose callouts have deadlines; the loop may be released meanwhile.
///
/// Used on the watcher's thread only.
final class WatchedDeadline: WatcherEntry, @unchecked Sendable {
    typealias Reading = HostRunLoop.Progress.CalloutReading

    /// The callout that is watched.
    private struct Seen {
        var reading: Reading
        /// When it was first seen, on the clock of the looks.
        var begin: Int64
        var isTold = false
    }

    let progress: HostRunLoop.Progress
    private let loop: WeakLoop
    private let table: DeadlineTable
    private let isLate: @Sendable (HostRunLoop.Progress, Reading, CalloutDeadline) -> Void
    private let isRemoved = Atomic<Bool>(false)

    private(set) var due: Int64 = 0
    private var lastLoop: HostRunLoop.Progress.Reading?
    private var seen: Seen?

    /// Watches a loop.
    ///
    /// - Parameters:
    ///   - loop: The loop; it rings for its watcher from now on, and must be looked at next.
    ///   - table: The deadlines.
    ///   - isLate: Called on the watcher's thread, once for each late callout; must return soon.
    init(
        _ loop: HostRunLoop,
        _ table: DeadlineTable,
        isLate: @escaping @Sendable (HostRunLoop.Progress, Reading, CalloutDeadline) -> Void
    ) {
        progress = loop.progress
        self.loop = WeakLoop(loop)
        self.table = table
        self.isLate = isLate
        progress.startRinging()
    }

    deinit {
        progress.stopRinging()
    }

    func isLoop(_ other: HostRunLoop) -> Bool { progress === other.progress }

    var isGone: Bool { loop.value == nil }
    var wasBusy: Bool? { lastLoop.map { $0.state == .busy } }
    var hasNews: Bool { lastLoop != progress.reading }
    var ownDue: Int64 { .max }

    func act(at now: Int64) -> Bool { false }

    func remove() { isRemoved.store(true, ordering: .releasing) }

    func look(
        at now: Int64,
        _ clock: RunningClock,
        number: () -> UInt64,
        perform: (@escaping @Sendable () -> Void) -> Void
    ) -> Bool {
        let interval = table.interval
        let reading = progress.callout
        let loop = reading?.loop ?? progress.reading
        defer { lastLoop = loop }
        due = now + interval
        guard let reading, reading.isInCallout else {
            seen = nil
            return loop != lastLoop
        }
        let time = clock.time(at: now)
        var watched = seen ?? Seen(reading: reading, begin: time)
        if watched.reading != reading { watched = Seen(reading: reading, begin: time) }
        if !watched.isTold, let deadline = table.deadline(ofItem: reading.calledItem) {
            let left = deadline.nanoseconds - (time - watched.begin)
            if left <= 0 {
                watched.isTold = true
                if !isRemoved.load(ordering: .acquiring) { isLate(progress, reading, deadline) }
            } else {
                due = now + min(interval, left)
            }
        }
        seen = watched
        return loop != lastLoop
    }
}

extension HostRunLoop.Progress.CalloutReading {
    /// The identity of the item, as the host knows it: 0 for the main dispatch queue.
    var calledItem: UInt64 { item == HostRunLoop.Progress.mainQueueItem ? 0 : item }
}
