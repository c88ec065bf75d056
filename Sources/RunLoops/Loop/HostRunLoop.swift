import CRecoveryPoint
import LinuxSystem
import Synchronization

/// Runs a thread's sources, timers, observers and blocks, with the semantics of CFRunLoop.
///
/// There is one per thread. Every call into user code runs on a callout stack above a recovery point: a fault in it can be
/// abandoned, and the loop goes on as if the call had returned. No lock is held during such a call.
///
/// `run(in:for:returnAfterSourceHandled:)` belongs to the loop's thread; everything else is callable from any thread unless
/// it says otherwise.
public final class HostRunLoop: @unchecked Sendable {
    // Each part keeps its state private and says what protects it. The lock, or the thread, keeps accesses apart, so the runtime's
    // own checks would find nothing.

    // MARK: Protected by `lock`

    let lock = OwnedLock()
    @safe @exclusivity(unchecked) var modes: ModeTable
    let blocks = BlockQueue()
    let withdrawals = WithdrawalList()

    // MARK: Callable from any thread

    let runs = RunStack()
    let waker = Waker()
    let mainQueue = MainQueue()
    /// The jobs of tasks and actors that run on this loop.
    let jobs = JobQueue()
    /// The handler of its abandoned callouts.
    let abandonHandler = AbandonHandler()
    /// How far the loop has come, for watchers.
    package let progress = Progress()
    private let stackSize = Atomic<Int>(1 << 20)
    private let isStrict = Atomic<Bool>(false)

    // MARK: Touched by the loop's thread only

    @safe @exclusivity(unchecked) var timers = TimerService()
    @safe @exclusivity(unchecked) var stackPool = CalloutStackPool()
    @safe @exclusivity(unchecked) var spareSources = SpareArray<SignalledSource>()
    /// An empty list kept for its memory, for the next blocks that are taken.
    @safe @exclusivity(unchecked) var spareBlocks = BlockList()
    @safe @exclusivity(unchecked) var blockIdentifiers = BlockIdentifiers()
    /// Not a static property: each use of one asks whether it was made.
    let plainBlockName = ItemName(PlainBlock.label)
    /// Called after each callout that may have served the program: a port's, a source's, a timer's, or the main queue's.
    ///
    /// It is not called after an observer's or a block's callout, because programs use these to start themselves, nor after a
    /// callout of the host's own items. Its argument says whether the callout was the main queue's. Set and called on the loop's
    /// thread; it sets itself to nil when it has seen enough.
    @safe @exclusivity(unchecked) package var serviceWitness: (@Sendable (_ isMainQueue: Bool) -> Void)?

    /// Whether this is the main thread's loop.
    let isMain: Bool
    /// The number of forks when the loop was made.
    ///
    /// With a different number, the loop belongs to the parent.
    let madeAtFork: UInt32

    init(isMain: Bool) {
        self.isMain = isMain
        ForkCount.watch()
        madeAtFork = ForkCount.current
        modes = ModeTable(waker.descriptors)
        if !isMain || ThreadIdentity.isMain { lock.own() }
    }

    // MARK: State

    /// The mode of the innermost run, or `nil` while the loop does not run.
    public var currentMode: Mode? { lock.withLock { runs.mode?.name } }

    /// All modes that anything was ever added to, and the default mode.
    public var allModes: Set<Mode> { lock.withLock { modes.names } }

    /// The modes in which a run was asked for while they existed, and the common modes that exist.
    package var usedModes: Set<Mode> {
        lock.withLock {
            let used = modes.all.filter { $0.wasRun || modes.isCommon($0.name) }
            return Set(used.map(\.name))
        }
    }

    /// Whether the loop's thread sleeps, waiting for something to happen.
    public var isWaiting: Bool { progress.reading.state == .waiting }

    /// How many runs are active, one inside the other; 0 while the loop does not run.
    package var nesting: Int { runs.depth }

    /// How many passes were begun in the life of the loop.
    package var passCount: UInt64 { runs.passCount }

    /// The size in bytes of the stacks on which callouts run; 1 MiB unless set.
    ///
    /// Stacks that are in use keep their size. At least 64 KiB.
    public var calloutStackSize: Int {
        get { stackSize.load(ordering: .relaxed) }
        set { stackSize.store(max(newValue, 64 << 10), ordering: .relaxed) }
    }

    /// Whether the loop copies a flaw of CFRunLoop that can lose an event, for a program that depends on it.
    ///
    /// In a batch of signalled sources, CFRunLoop lets the last one stand for all. If an earlier one has invalidated it, the pass goes to
    /// sleep as if no source had been handled, and a run that was to return after a source does not (CFRunLoop.c:2265). False unless set.
    /// Callable from any thread.
    package var strictCF: Bool {
        get { isStrict.load(ordering: .relaxed) }
        set { isStrict.store(newValue, ordering: .relaxed) }
    }

    /// Whether a run of a mode would end at once because there is nothing in it.
    ///
    /// Observers do not count; queued blocks do. In a process with libdispatch, a common mode of the main loop is never empty,
    /// except inside the callout of the main dispatch queue. Every Swift program that uses tasks has libdispatch.
    ///
    /// - Parameter mode: The mode.
    /// - Returns: Whether it is empty or does not exist.
    public func isEmpty(_ mode: Mode) -> Bool {
        guard let loopMode = lock.withLock({ modes.find(mode) }) else { return true }
        return isEmpty(loopMode) && !willHostMainQueue(in: loopMode)
    }

    func isEmpty(_ mode: LoopMode) -> Bool {
        mode.itemCount == 0 && !hasBlocks(for: mode) && !hostsMainQueue(in: mode)
    }

    // MARK: Waking and stopping

    /// Wakes the loop if it sleeps, or makes its next wait return at once.
    ///
    /// Several calls before that count as one. As in CFRunLoop, the call is dropped while the loop does not run, and between its
    /// wake and the next pass.
    public func wakeUp() {
        // A wake-up that is dropped on the loop's own thread is forgotten, as in CFRunLoop.
        if !isInheritedByFork { waker.wakeUp(isRemembered: !isCurrent) }
    }

    /// Records that another thread has left work for the loop: a nested run may consume the wake-up for it.
    @inline(__always)
    func noteForeignWork() { waker.noteForeignWork(unless: isCurrent) }

    /// Ends the innermost run at the end of its pass, and wakes it.
    ///
    /// Nothing happens while the loop does not run.
    public func stop() {
        guard !isInheritedByFork else { return }
        if lock.withLock({ runs.stop() }) {
            wakeUp()
        }
    }

    /// If the loop's sleep would end after a new deadline, makes it compute the length of the sleep again.
    func interruptSleep(ifLaterThan deadline: @autoclosure () -> Int64) {
        if waker.sleepsBeyond(deadline()), !isInheritedByFork { waker.recheckSleep() }
    }
}
