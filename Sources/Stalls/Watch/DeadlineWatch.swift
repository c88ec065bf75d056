internal import CrashCapture
internal import Glibc
package import RunLoops
internal import Synchronization
package import SystemPackage

/// Ends callouts that run past their deadlines: asks recovery for a verdict, and abandons them if recovery allows it.
///
/// The thread that looks for stalls also looks at these loops. A separate thread interrupts late callouts one at a time.
package final class DeadlineWatch: Sendable {
    /// A late callout that was not abandoned.
    package struct Leftover: Sendable {
        /// Why it was not abandoned.
        package enum Reason: Sendable {
            /// It may not be abandoned, and its deadline says to wait.
            case goesOn
            /// No thread can be asked, because a debugger holds the process or the program uses the signal.
            case impossible
            /// Its thread does not answer.
            case deaf
        }

        /// Why it was not abandoned.
        package var reason: Reason
        /// The identity of the item; 0 for the main dispatch queue.
        package var item: UInt64
        /// The item's label; nil if unknown.
        package var label: String?
        /// What the thread does, in words; nil if unknown.
        package var activity: String?
        /// The deadline.
        package var deadline: CalloutDeadline
    }

    /// The thread may be inside the allocator or the runtime, or hold a lock: then the attempt is repeated.
    private static let attempts = 50
    private static let pause: UInt32 = 20_000
    /// A thread that waits for a processor may be slow to answer.
    private static let lastAttempts = 8

    private let table: DeadlineTable
    private let mayAbandon: @Sendable (UInt64) -> Bool
    private let isStopped = Atomic<Bool>(false)
    private let tell: @Sendable (Leftover) -> Void
    private let thread = SerialThread(name: "holdfast-limit")
    /// The loops to watch once there is a deadline; protected by its lock.
    private let loops = Mutex<[WeakLoop]>([])
    /// Protected by its lock.
    private let entries = Mutex<[WatchedDeadline]>([])

    /// Makes a watch that watches no loop yet.
    ///
    /// - Parameters:
    ///   - deadline: The default deadline of items; nil for none.
    ///   - items: The deadlines of individual items.
    ///   - mayAbandon: Whether the policies allow abandoning a callout of an item at all. Called on a thread of the watch.
    ///   - tell: Called once for each late callout that was not abandoned, on a thread of the watch.
    package init(
        _ deadline: CalloutDeadline?,
        items: ItemDeadlines,
        mayAbandon: @escaping @Sendable (UInt64) -> Bool,
        tell: @escaping @Sendable (Leftover) -> Void
    ) {
        table = DeadlineTable(deadline, items: items)
        self.mayAbandon = mayAbandon
        self.tell = tell
    }

    /// Enforces the deadlines of a loop's callouts once there is a deadline; does nothing for a loop that is already watched.
    ///
    /// Callable from any thread.
    ///
    /// - Throws: The error of pthread_create(3); `notSupported` in a forked child.
    package func watch(_ loop: HostRunLoop) throws(Errno) {
        loops.withLock { loops in
            loops.removeAll { $0.value == nil || $0.value === loop }
            loops.append(WeakLoop(loop))
        }
        if !table.isEmpty { try begin(loop) }
    }

    /// Starts watching if items have deadlines now; call this after a change.
    ///
    /// Callable from any thread.
    ///
    /// - Throws: The error of pthread_create(3); `notSupported` in a forked child.
    package func begin() throws(Errno) {
        guard !table.isEmpty, !isStopped.load(ordering: .acquiring) else { return }
        for loop in loops.withLock({ $0.compactMap(\.value) }) { try begin(loop) }
        StallWatcher.shared.announceChange()
    }

    private func begin(_ loop: HostRunLoop) throws(Errno) {
        guard !entries.withLock({ $0.contains { $0.isLoop(loop) } }) else { return }
        try thread.start()
        let entry = WatchedDeadline(loop, table) { [self] progress, reading, deadline in
            thread.perform { [self] in end(progress, reading, deadline) }
        }
        try StallWatcher.shared.add([entry])
        entries.withLock { entries in
            entries.removeAll { $0.isGone }
            entries.append(entry)
        }
    }

    /// Stops enforcing the deadlines of a loop's callouts.
    package func stopWatching(_ loop: HostRunLoop) {
        loops.withLock { $0.removeAll { $0.value === loop } }
        stop { $0.isLoop(loop) }
    }

    /// Stops enforcing any deadline.
    package func stop() {
        isStopped.store(true, ordering: .releasing)
        stop { _ in true }
    }

    private func stop(_ isMeant: (WatchedDeadline) -> Bool) {
        let removed = entries.withLock { entries in
            let removed = entries.filter(isMeant)
            entries.removeAll(where: isMeant)
            return removed
        }
        for entry in removed { StallWatcher.shared.remove(entry) }
    }

    // MARK: The thread that interrupts

    private func end(
        _ progress: HostRunLoop.Progress,
        _ reading: WatchedDeadline.Reading,
        _ deadline: CalloutDeadline
    ) {
        var callout = OverdueCallout(
            thread: progress.thread,
            values: reading.words,
            deadline: UInt64(deadline.nanoseconds)
        )
        var attempt = mayAbandon(reading.calledItem) ? 0 : Self.attempts
        while attempt < Self.attempts {
            switch interrupt(&callout, progress, isLast: false) {
            case .done, .gone: return
            case .impossible: return leave(.impossible, callout, reading, deadline)
            case .notNow, .silent: usleep(Self.pause)
            }
            attempt += 1
        }
        guard deadline.otherwise == .restart else { return leave(.goesOn, callout, reading, deadline) }
        for _ in 0..<Self.lastAttempts {
            switch interrupt(&callout, progress, isLast: true) {
            case .done, .gone: return
            case .impossible: return leave(.impossible, callout, reading, deadline)
            case .notNow, .silent: usleep(Self.pause)
            }
        }
        leave(.deaf, callout, reading, deadline)
    }

    private func interrupt(
        _ callout: inout OverdueCallout,
        _ progress: HostRunLoop.Progress,
        isLast: Bool
    ) -> CalloutInterruption {
        // The process is about to end, and the loop with it.
        guard !isStopped.load(ordering: .acquiring) else { return .gone }
        // If the callout is over already, no signal is needed.
        guard let words = progress.callout?.words, words == callout.values else { return .gone }
        return unsafe progress.withCalloutWords { words in
            unsafe callout.interrupt(words: words, isLast: isLast)
        } ?? .gone
    }

    private func leave(
        _ reason: Leftover.Reason,
        _ callout: OverdueCallout,
        _ reading: WatchedDeadline.Reading,
        _ deadline: CalloutDeadline
    ) {
        // A callout that was never asked waits for a lock or something similar, so looking at it interrupts no system call.
        let look = callout.look ?? (reason == .goesOn ? CrashCapture.look(at: callout.thread) : nil)
        let isSame = look?.callout?.item == reading.calledItem
        tell(
            Leftover(
                reason: reason,
                item: reading.calledItem,
                label: isSame ? look?.callout?.label : nil,
                activity: look?.activity,
                deadline: deadline
            )
        )
    }
}
