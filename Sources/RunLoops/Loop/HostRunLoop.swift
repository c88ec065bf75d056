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
    var modes: [Mode: LoopMode] = [:]
    var commonModes: Set<Mode> = [.default]
    /// What was added to the common modes, by item identifier: that is the order in which the items were made.
    var commonItems: [UInt64: any LoopItem] = [:]
    var blocks: [QueuedBlock] = []
    /// The mode of the innermost run.
    var runningMode: LoopMode?
    /// Set when the thread has ended: nothing can be added any more.
    var isTornDown = false
    var abandonHandler: (@Sendable (AbandonedCallout) -> Void)?

    // MARK: Callable from any thread

    let wakeState = WakeState()
    let wakeDescriptor: EventDescriptor
    /// Whether the innermost run was told to stop.
    ///
    /// Written with the lock held.
    let isStopped = Atomic<Bool>(false)
    /// How many blocks are queued.
    ///
    /// Written with the lock held.
    let blockCount = Atomic<Int>(0)
    /// When the present sleep ends by itself; `Int64.max` while that is not known.
    let sleepDeadline = Atomic<Int64>(.max)
    let isBlocked = Atomic<Bool>(false)
    let depth = Atomic<Int>(0)
    let passes = Atomic<UInt64>(0)
    let stackSize = Atomic<Int>(1 << 20)
    /// The descriptor of the main dispatch queue, or -1 while this loop does not host it.
    let mainQueueDescriptor = Atomic<CInt>(-1)
    let isInMainQueueCallout = Atomic<Bool>(false)

    // MARK: Touched by the loop's thread only

    var stackPool = CalloutStackPool()
    /// The stage that the innermost run is in.
    var stage: Activity = []
    /// Counts the beginnings and ends of runs: tells whether harvested events are of this run.
    var runNumber: UInt64 = 0
    /// The deadlines of all runs on the stack.
    var deadlines: [RunDeadline] = []
    var spareBlocks: [QueuedBlock] = []
    var spareSources: [SignalledSource] = []
    var spareTimers: [DueTimer] = []
    /// What was served last, of the kinds that take turns.
    var lastTurn = LoopEvent.Turn.ports
    /// Waits for all modes at once; made on first use.
    var sweepPoller: SweepPoller?

    /// Whether this is the main thread's loop.
    let isMain: Bool

    init(isMain: Bool) {
        self.isMain = isMain
        do {
            wakeDescriptor = try EventDescriptor()
        } catch {
            // A loop that nobody can wake is of no use: as fatal as it is for CFRunLoop.
            fatalError("no eventfd for a run loop: \(error)")
        }
        modes[.default] = LoopMode(name: .default, wakeDescriptor: wakeDescriptor.rawValue)
    }

    // MARK: State

    /// The mode of the innermost run, or `nil` while the loop does not run.
    public var currentMode: Mode? { lock.withLock { runningMode?.name } }

    /// All modes that anything was ever added to, and the default mode.
    public var allModes: Set<Mode> { lock.withLock { Set(modes.keys) } }

    /// Whether the loop's thread sleeps, waiting for something to happen.
    public var isWaiting: Bool { isBlocked.load(ordering: .acquiring) }

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

    /// Says whether a run of a mode would end at once because there is nothing in it.
    ///
    /// Observers do not count; queued blocks do. A common mode of the main loop is never empty in a process that uses the
    /// main dispatch queue, except inside that queue's own callout.
    ///
    /// - Parameter mode: The mode.
    /// - Returns: Whether it is empty or does not exist.
    public func isEmpty(_ mode: Mode) -> Bool {
        guard let loopMode = lock.withLock({ modes[mode] }) else { return true }
        return isEmpty(loopMode)
    }

    /// Sets what is called after a callout was abandoned, on the loop's thread, outside every callout.
    ///
    /// Without it the abandoned stack is buried. The handler should return soon; it may add, remove and invalidate, but
    /// not run the loop.
    ///
    /// - Parameter handler: The handler, or `nil` for none.
    public func setAbandonHandler(_ handler: (@Sendable (AbandonedCallout) -> Void)?) {
        let old = lock.withLock {
            let old = abandonHandler
            abandonHandler = handler
            return old
        }
        // Released here, after unlocking.
        _ = old
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
        if wakeState.requestWake() {
            wakeDescriptor.notify()
        }
    }

    /// Ends the innermost run at the end of its pass, and wakes it.
    ///
    /// Nothing happens while the loop does not run.
    public func stop() {
        let isRunning = lock.withLock {
            guard runningMode != nil else { return false }
            isStopped.store(true, ordering: .releasing)
            return true
        }
        if isRunning {
            wakeUp()
        }
    }

    /// Makes a sleeping loop compute the length of its sleep again if that would end after a new deadline.
    func interruptSleep(ifLaterThan deadline: Int64) {
        guard sleepDeadline.load(ordering: .sequentiallyConsistent) > deadline, wakeState.requestRecheck() else {
            return
        }
        wakeDescriptor.notify()
    }
}
