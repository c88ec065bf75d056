import CRecoveryPoint
import LinuxSystem
import Synchronization

/// Runs a thread's sources, timers, observers and blocks, with the semantics of CFRunLoop.
///
/// There is one per thread. Every call into user code stands above a recovery point and runs on a callout stack: a fault in
/// it can be abandoned, and the loop goes on as if the call had returned. No lock is held during such a call.
///
/// `run(in:for:returnAfterSourceHandled:)` belongs to the loop's thread; everything else is callable from any thread unless
/// it says otherwise.
public final class HostRunLoop: @unchecked Sendable {
    // MARK: Protected by `lock`

    let lock = CriticalLock()
    // The lock keeps accesses apart: the runtime's own checks would find nothing.
    @safe @exclusivity(unchecked) var modes: [Mode: LoopMode] = [:]
    /// The mode that was asked for last.
    @safe @exclusivity(unchecked) var lastMode: LoopMode?
    @safe @exclusivity(unchecked) var commonModes: Set<Mode> = [.default]
    /// The same in the order in which they were declared, in which items are told of them.
    @safe @exclusivity(unchecked) var commonModeOrder: [Mode] = [.default]
    /// What was added to the common modes, by item identifier: that is the order in which the items were made.
    @safe @exclusivity(unchecked) var commonItems: [UInt64: any LoopItem] = [:]
    @safe @exclusivity(unchecked) var blocks: [BlockEntry] = []
    /// Whether any of `blocks` may have an order of its own.
    @safe @exclusivity(unchecked) var hasOrderedBlocks = false
    /// About how many of `blocks` were cancelled.
    @safe @exclusivity(unchecked) var cancelledBlockCount = 0
    var listedPerforms = ListedPerforms()
    /// What was withdrawn or withheld and not put back, by item identifier.
    @safe @exclusivity(unchecked) var withdrawals: [UInt64: Withdrawal] = [:]
    /// Items with these labels are recorded when they are added, and not served.
    @safe @exclusivity(unchecked) var withheldLabels: Set<String> = []
    @safe @exclusivity(unchecked) var withholdsNoSockets = false
    /// The items that were put back since: their labels do not count any more.
    @safe @exclusivity(unchecked) var itemsPutBack: Set<UInt64> = []
    /// The mode of the innermost run.
    @safe @exclusivity(unchecked) var runningMode: LoopMode?
    /// Set when the thread has ended: nothing can be added any more.
    var isTornDown = false
    var abandonHandler: (@Sendable (AbandonedCallout) -> Void)?

    // MARK: Callable from any thread

    let wakeState = WakeState()
    let descriptors = SleepDescriptors()
    /// Whether the innermost run was told to stop.
    ///
    /// Written with the lock held.
    let isStopped = Atomic<Bool>(false)
    /// How many blocks are queued.
    ///
    /// Written with the lock held.
    let blockCount = Atomic<Int>(0)
    /// How many items are withdrawn or withheld.
    ///
    /// Written with the lock held.
    let withdrawalCount = Atomic<Int>(0)
    /// Whether another thread, or a callout of a nested run, left a block or a signal since the outermost run last began a
    /// pass.
    let hasForeignWork = Atomic<Bool>(false)
    /// When the present sleep ends by itself; `Int64.max` while that is not known.
    let sleepDeadline = Atomic<Int64>(.max)
    /// Whether the thread is about to end: no run goes on after its present pass.
    let areAllRunsEnding = Atomic<Bool>(false)
    /// Until when requests may wait for their answers then: nanoseconds on the monotonic clock.
    ///
    /// Written before `areAllRunsEnding`.
    let endOfRequests = Atomic<Int64>(.max)
    let depth = Atomic<Int>(0)
    let passes = Atomic<UInt64>(0)
    let stackSize = Atomic<Int>(1 << 20)
    let isStrict = Atomic<Bool>(false)
    /// The descriptor of the main dispatch queue, or -1 while this loop does not host it.
    let mainQueueDescriptor = Atomic<CInt>(-1)
    let isInMainQueueCallout = Atomic<Bool>(false)

    /// How far the loop has come: for who watches it.
    public let progress = Progress()

    /// The jobs of tasks and actors that run on this loop.
    let jobs = JobQueue()

    // MARK: Touched by the loop's thread only

    @safe @exclusivity(unchecked) var stackPool = CalloutStackPool()
    /// Called once, after the first callout that served the program: a port's, a source's, a timer's, or the main queue's.
    ///
    /// Not an observer's or a block's, by which programs start themselves, and not one of the host's own items. Set and called on
    /// the loop's thread.
    @safe @exclusivity(unchecked) package var serviceWitness: (@Sendable () -> Void)?
    /// The stage that the innermost run is in.
    @safe @exclusivity(unchecked) var stage: Activity = []
    /// Counts the beginnings and ends of runs: tells whether harvested events are of this run.
    @safe @exclusivity(unchecked) var runNumber: UInt64 = 0
    /// The deadlines of all runs on the stack.
    @safe @exclusivity(unchecked) var deadlines: [RunDeadline] = []
    @safe @exclusivity(unchecked) var spareBlocks: [BlockEntry] = []
    @safe @exclusivity(unchecked) var spareSources: [SignalledSource] = []
    /// What the pass of the innermost run is firing.
    @safe @exclusivity(unchecked) var dueTimers = DueTimers()
    @safe @exclusivity(unchecked) var sparePlaces: [DueTimers.Place] = []
    /// The last reading of the clock.
    @safe @exclusivity(unchecked) var lastTime: Int64 = 0
    /// What the timerfd is set to; `Int64.max` for never.
    @safe @exclusivity(unchecked) var armedDeadline: Int64 = .max

    /// Whether this is the main thread's loop.
    let isMain: Bool
    /// The number of forks when it was made: at another number it belongs to the parent.
    let madeAtFork: UInt32

    init(isMain: Bool) {
        self.isMain = isMain
        ForkCount.watch()
        madeAtFork = ForkCount.current
        modes[.default] = makeMode(.default)
    }

    // MARK: State

    /// The mode of the innermost run, or `nil` while the loop does not run.
    public var currentMode: Mode? { lock.withLock { runningMode?.name } }

    /// All modes that anything was ever added to, and the default mode.
    public var allModes: Set<Mode> { lock.withLock { Set(modes.keys) } }

    /// The modes that a run was asked for at least once while they existed, and those of the common modes that exist.
    public var usedModes: Set<Mode> {
        lock.withLock {
            let used = modes.values.filter { $0.wasRun.load(ordering: .relaxed) || commonModes.contains($0.name) }
            return Set(used.map(\.name))
        }
    }

    /// Whether the loop's thread sleeps, waiting for something to happen.
    public var isWaiting: Bool { progress.reading.state == .waiting }

    /// How many runs are active, one inside the other; 0 while the loop does not run.
    public var nesting: Int { depth.load(ordering: .acquiring) }

    /// How many passes were begun in the life of the loop.
    public var passCount: UInt64 { passes.load(ordering: .acquiring) }

    /// The size in bytes of the stacks on which callouts run; 1 MiB unless set.
    ///
    /// Stacks that are in use keep their size. At least 64 KiB.
    public var calloutStackSize: Int {
        get { stackSize.load(ordering: .relaxed) }
        set { stackSize.store(max(newValue, 64 << 10), ordering: .relaxed) }
    }

    /// Whether the loop copies a flaw of CFRunLoop that can lose an event, for a program that depends on it.
    ///
    /// In a batch of signalled sources CFRunLoop takes the last one for all: if an earlier one invalidated it, the pass goes
    /// to sleep as if no source had been handled, and a run that was to return after a source does not (CFRunLoop.c:2265).
    /// False unless set. Callable from any thread.
    public var strictCF: Bool {
        get { isStrict.load(ordering: .relaxed) }
        set { isStrict.store(newValue, ordering: .relaxed) }
    }

    /// Says whether a run of a mode would end at once because there is nothing in it.
    ///
    /// Observers do not count; queued blocks do. A common mode of the main loop is never empty in a process with libdispatch,
    /// which every Swift program has that uses tasks, except inside the callout of the main dispatch queue.
    ///
    /// - Parameter mode: The mode.
    /// - Returns: Whether it is empty or does not exist.
    public func isEmpty(_ mode: Mode) -> Bool {
        guard let loopMode = lock.withLock({ loopMode(named: mode) }) else { return true }
        return isEmpty(loopMode) && !willHostMainQueue(in: loopMode)
    }

    func isEmpty(_ mode: LoopMode) -> Bool {
        mode.itemCount.load(ordering: .relaxed) == 0 && !hasBlocks(for: mode) && !hostsMainQueue(in: mode)
    }

    // MARK: Waking and stopping

    /// Wakes the loop if it sleeps, or makes its next wait return at once.
    ///
    /// Any number of calls before that are one. The call is dropped while the loop does not run, and between its wake and
    /// the next pass, as in CFRunLoop.
    public func wakeUp() {
        // This thread's own are dropped without trace, as CFRunLoop does it.
        if !isInheritedByFork, wakeState.requestWake(isRemembered: !isCurrent) {
            descriptors.notify()
        }
    }

    /// Notes what another thread leaves for the loop, after it was left: a nested run may take the wake-up for it.
    func noteForeignWork() {
        guard !hasForeignWork.load(ordering: .relaxed), !isCurrent else { return }
        hasForeignWork.store(true, ordering: .releasing)
    }

    /// Ends the innermost run at the end of its pass, and wakes it.
    ///
    /// Nothing happens while the loop does not run.
    public func stop() {
        guard !isInheritedByFork else { return }
        let isRunning = lock.withLock {
            guard runningMode != nil else { return false }
            isStopped.store(true, ordering: .sequentiallyConsistent)
            return true
        }
        if isRunning {
            wakeUp()
        }
    }

    /// Makes a sleeping loop compute the length of its sleep again if that would end after a new deadline.
    func interruptSleep(ifLaterThan deadline: @autoclosure () -> Int64) {
        guard
            wakeState.isSleeping, sleepDeadline.load(ordering: .sequentiallyConsistent) > deadline(),
            !isInheritedByFork, wakeState.requestRecheck()
        else { return }
        descriptors.notify()
    }
}
