public import RunLoops
internal import Synchronization
public import SystemPackage

/// Notices, while it lasts, that a loop or a queue does not go on.
///
/// It looks from a thread of its own, which all monitors of the process share, and which makes no wake-up while all loops sleep and
/// no ping is due. A loop is watched by what it writes down of its passes (`HostRunLoop.Progress`), in every mode and however its runs
/// are nested; queues and actors, and loops of others, are pinged. What was watched by a monitor is not when the monitor is released.
///
/// The handler is called on another thread, once when a stall is found and once when it is over, one call at a time. It should return
/// soon: handlers wait for each other, but no stall is missed meanwhile. A call that has begun goes on while watching is ended.
/// In a forked child nothing can be watched.
/// A program that has a host uses that (`EventHost.watch(_:rule:)`): then stalls have reports.
public final class StallMonitor: Sendable {
    /// When a loop is called stalled, unless `watch` says otherwise.
    public let rule: StallRule
    private let handler: @Sendable (Stall) -> Void
    private let isDirect: Bool
    /// Protected by its lock.
    private let entries = Mutex<[WatchedEntry]>([])

    /// Makes a monitor that watches nothing yet.
    ///
    /// - Parameters:
    ///   - rule: When something is called stalled.
    ///   - handler: What is told of each stall, on a thread that is not the stalled one.
    public convenience init(rule: StallRule = .once(), handler: @escaping @Sendable (Stall) -> Void) {
        self.init(rule, handler, isDirect: false)
    }

    /// Makes a monitor for a host, which waits for no handler of others.
    ///
    /// - Parameters:
    ///   - rule: When something is called stalled.
    ///   - receiver: Called on the watcher's thread, without a look at the one that stalls; must return at once.
    /// - Returns: The monitor.
    package static func direct(rule: StallRule, _ receiver: @escaping @Sendable (Stall) -> Void) -> StallMonitor {
        StallMonitor(rule, receiver, isDirect: true)
    }

    private init(_ rule: StallRule, _ handler: @escaping @Sendable (Stall) -> Void, isDirect: Bool) {
        self.rule = rule
        self.handler = handler
        self.isDirect = isDirect
    }

    deinit {
        stop()
    }

    /// Watches a loop, whether it runs already or not; a second time replaces the rule.
    ///
    /// Callable from any thread.
    ///
    /// - Parameters:
    ///   - loop: The loop. It is not kept alive.
    ///   - rule: When it is called stalled; nil for the monitor's rule.
    /// - Throws: The error of pthread_create(3), if this is the first to be watched in the process; `notSupported` in a forked child.
    public func watch(_ loop: HostRunLoop, rule: StallRule? = nil) throws(Errno) {
        stopWatching(loop)
        try add(WatchedLoop(loop), rule)
    }

    /// Asks something again and again whether it answers, such as a dispatch queue or an actor.
    ///
    /// ```swift
    /// try monitor.watch(pinging: "main queue") { answer in DispatchQueue.main.async(execute: answer) }
    /// ```
    /// Callable from any thread.
    ///
    /// - Parameters:
    ///   - label: What it is called; a second one of the same label replaces the first.
    ///   - interval: The time between two pings, from 10 ms to a day.
    ///   - rule: When a ping without an answer is a stall; nil for the monitor's rule.
    ///   - post: Posts the closure that it is given where it shall be called. Called on a thread that posts all pings, one after the
    ///     other: it should not wait.
    /// - Throws: The error of pthread_create(3), if this is the first to be watched in the process; `notSupported` in a forked child.
    public func watch(
        pinging label: String,
        every interval: Duration = .seconds(1),
        rule: StallRule? = nil,
        _ post: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
    ) throws(Errno) {
        stopWatching(pinging: label)
        let interval = min(max(interval, .milliseconds(10)), .seconds(86_400)).saturatingNanoseconds
        let poster = StallWatcher.shared.poster
        try poster.start()
        try add(WatchedPing(label: label, interval: interval, poster: poster, post: post), rule)
    }

    /// Watches a loop no more; the end of a stall that lasts is not told.
    public func stopWatching(_ loop: HostRunLoop) {
        remove { ($0 as? WatchedLoop)?.isLoop(loop) == true }
    }

    /// Pings it no more; the end of a stall that lasts is not told.
    public func stopWatching(pinging label: String) {
        remove { ($0 as? WatchedPing)?.label == label }
    }

    /// Watches nothing any more.
    public func stop() {
        remove { _ in true }
    }

    private func add(_ subject: any WatchedSubject, _ rule: StallRule?) throws(Errno) {
        let entry = WatchedEntry(subject, rule ?? self.rule, isDirect: isDirect, handler)
        try StallWatcher.shared.add(entry)
        entries.withLock { $0.append(entry) }
        // Loops that are gone meanwhile, which nobody can name any more.
        remove { $0.subject == nil }
    }

    private func remove(_ isMeant: (any WatchedSubject) -> Bool) {
        let removed = entries.withLock { entries in
            let removed = entries.filter { isMeant($0.subject) }
            entries.removeAll { isMeant($0.subject) }
            return removed
        }
        for entry in removed {
            (entry.subject as? WatchedPing)?.stop()
            StallWatcher.shared.remove(entry)
        }
    }
}
