public import RunLoops
internal import Synchronization
public import SystemPackage

/// Notices that a loop or a queue makes no progress, while this is happening.
///
/// All monitors of the process share one watcher thread, which never wakes up while all loops sleep and no ping is due. A loop is
/// watched through the progress that it records (`HostRunLoop.Progress`), in every mode and however its runs are nested. Queues, actors
/// and other libraries' loops are pinged. Releasing the monitor ends its watching.
///
/// The handler is called on another thread, once when a stall is found and once when it is over, one call at a time. It should return
/// soon: handlers wait for each other, although no stall is missed meanwhile. A call in progress continues after watching has ended.
/// In a forked child nothing can be watched.
/// A program with a host should use the host instead (`EventHost.watch(_:rule:)`), which writes reports of stalls.
public final class StallMonitor: Sendable {
    /// When something counts as stalled, unless `watch` is given another rule.
    public let rule: StallRule
    private let handler: @Sendable (Stall) -> Void
    private let isDirect: Bool
    /// Protected by its lock.
    private let entries = Mutex<[WatchedEntry]>([])

    /// Makes a monitor that watches nothing yet.
    ///
    /// - Parameters:
    ///   - rule: When something counts as stalled.
    ///   - handler: Called for each stall, on a thread other than the stalled one.
    public convenience init(rule: StallRule = .once(), handler: @escaping @Sendable (Stall) -> Void) {
        self.init(rule, handler, isDirect: false)
    }

    /// Makes a monitor for a host, which does not wait for the handlers of other monitors, and looks at nothing before `startThreads()`.
    ///
    /// - Parameters:
    ///   - rule: When something counts as stalled.
    ///   - receiver: Called on the watcher's thread, without a look at the stalled thread; must return at once.
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

    /// Starts the threads that all monitors of the process share, unless they are running.
    ///
    /// Callable from any thread.
    ///
    /// - Throws: The error of pthread_create(3); `notSupported` in a forked child.
    package static func startThreads() throws(Errno) { try StallWatcher.shared.start() }

    /// Has no monitor of the process look at anything, and no time count, until the opposite is said.
    ///
    /// For a process that stands by: threads of it wait on purpose. Callable from any thread.
    ///
    /// - Parameter wanted: Whether to rest.
    package static func suspendAll(_ wanted: Bool) { StallWatcher.shared.suspend(wanted) }

    /// Watches a loop, whether it runs already or not; watching it again replaces the rule.
    ///
    /// Callable from any thread.
    ///
    /// - Parameters:
    ///   - loop: The loop. It is not kept alive.
    ///   - rule: When the loop counts as stalled; nil for the monitor's rule.
    /// - Throws: The error of pthread_create(3), if this is the first watch in the process; `notSupported` in a forked child.
    public func watch(_ loop: HostRunLoop, rule: StallRule? = nil) throws(Errno) {
        stopWatching(loop)
        try add([WatchedLoop(loop)], rule)
    }

    /// Repeatedly asks something, such as a dispatch queue or an actor, for an answer.
    ///
    /// ```swift
    /// try monitor.watch(pinging: "main queue") { answer in DispatchQueue.main.async(execute: answer) }
    /// ```
    /// Callable from any thread.
    ///
    /// - Parameters:
    ///   - label: The label of the ping; a second one with the same label replaces the first.
    ///   - interval: The time between two pings, from 10 ms to a day.
    ///   - rule: When a ping without an answer counts as a stall; nil for the monitor's rule.
    ///   - post: Posts the given closure to the place that should call it. One thread posts all pings, one after the other, so this should
    ///     not wait.
    /// - Throws: The error of pthread_create(3), if this is the first watch in the process; `notSupported` in a forked child.
    public func watch(
        pinging label: String,
        every interval: Duration = .seconds(1),
        rule: StallRule? = nil,
        _ post: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
    ) throws(Errno) {
        try watch(pinging: label, every: interval, rule: rule, answerer: .anyThread, post)
    }

    /// Where the answers of a ping come from: a stall names what keeps that thread.
    package enum Answerer: Sendable {
        /// From threads that are not known.
        case anyThread
        /// Always from the same one.
        case oneThread
        /// From one that is looked for when it does not answer, as gettid(2) has it.
        case found(@Sendable () -> CInt?)
    }

    /// The same for what answers on a thread that can be told.
    package func watch(
        pinging label: String,
        every interval: Duration,
        rule: StallRule?,
        answerer: Answerer,
        _ post: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
    ) throws(Errno) {
        stopWatching(pinging: label)
        let interval = min(max(interval, .milliseconds(10)), .seconds(86_400)).saturatingNanoseconds
        let poster = StallWatcher.shared.poster
        try poster.start()
        try add([WatchedPing(label, interval, answerer, poster, post)], rule)
    }

    /// What a thread that runs jobs of tasks does at a moment.
    package struct WorkerSight: Sendable {
        /// Which job it is.
        package var number: UInt64
        /// Its thread, as gettid(2) has it.
        package var thread: CInt
        /// Whether a job runs that somebody waits for.
        package var isBusy: Bool

        /// Makes one.
        package init(number: UInt64, thread: CInt, isBusy: Bool) {
            self.number = number
            self.thread = thread
            self.isBusy = isBusy
        }
    }

    /// Watches threads that run jobs of tasks; they ring when they begin to work after they slept (`WatcherBell`).
    ///
    /// - Parameters:
    ///   - count: How many threads there may be.
    ///   - look: Says what one of them does. Called on the watcher's thread.
    /// - Throws: The error of pthread_create(3), if this is the first watch in the process; `notSupported` in a forked child.
    package func watchWorkers(_ count: Int, _ look: @escaping @Sendable (_ index: Int) -> WorkerSight) throws(Errno) {
        try add((0..<count).map { index in WatchedWorker { look(index) } }, nil)
    }

    /// Stops watching a loop; the end of a stall in progress is not announced.
    public func stopWatching(_ loop: HostRunLoop) {
        remove { ($0 as? WatchedLoop)?.isLoop(loop) == true }
    }

    /// Stops pinging; the end of a stall in progress is not announced.
    public func stopWatching(pinging label: String) {
        remove { ($0 as? WatchedPing)?.label == label }
    }

    /// Stops watching everything.
    public func stop() {
        remove { _ in true }
    }

    private func add(_ subjects: [any WatchedSubject], _ rule: StallRule?) throws(Errno) {
        let added = subjects.map { WatchedEntry($0, rule ?? self.rule, isDirect: isDirect, handler) }
        try StallWatcher.shared.add(added, isLater: isDirect)
        entries.withLock { $0 += added }
        // Removes loops that no longer exist, because nobody can name them any more.
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
