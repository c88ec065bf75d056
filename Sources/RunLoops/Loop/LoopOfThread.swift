import CLinuxShims
import CRecoveryPoint
import Glibc
import LinuxSystem
import Synchronization

/// One loop per thread, made on first use and taken down with the thread.
extension HostRunLoop {
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let error = unsafe pthread_key_create(&key) { pointer in
            guard let pointer = unsafe pointer else { return }
            let unmanaged = unsafe Unmanaged<HostRunLoop>.fromOpaque(pointer)
            // Not released in a forked child: items of the parent may still refer to it.
            guard unsafe !unmanaged.takeUnretainedValue().isInheritedByFork else { return }
            let loop = unsafe unmanaged.takeRetainedValue()
            loop.tearDownAtThreadExit()
        }
        precondition(error == 0, "no thread-specific key left for run loops")
        return key
    }()

    /// The main thread's loop; in a forked child, that of the thread that forked.
    public static var main: HostRunLoop { ofMainThread }

    /// The calling thread's loop, made now if it has none.
    ///
    /// In a forked child it is never one of the parent's.
    @available(*, noasync, message: "a task has no thread of its own: pass the loop, or use HostRunLoop.main")
    public static var current: HostRunLoop {
        if let pointer = unsafe pthread_getspecific(key) {
            let loop = unsafe Unmanaged<HostRunLoop>.fromOpaque(pointer).takeUnretainedValue()
            if !loop.isInheritedByFork { return loop }
        }
        let loop = ThreadIdentity.isMain ? main : HostRunLoop(isMain: false)
        unsafe pthread_setspecific(key, Unmanaged.passRetained(loop).toOpaque())
        return loop
    }

    /// Whether this is the calling thread's loop.
    public var isCurrent: Bool {
        if let pointer = unsafe pthread_getspecific(Self.key) {
            return unsafe pointer == Unmanaged.passUnretained(self).toOpaque()
        }
        return isMain && ThreadIdentity.isMain
    }

    /// Takes down the calling thread's loop now, rather than at the end of the thread.
    static func tearDownCurrent() {
        guard let pointer = unsafe pthread_getspecific(key) else { return }
        unsafe Unmanaged<HostRunLoop>.fromOpaque(pointer).takeRetainedValue().tearDownAtThreadExit()
    }

    private func tearDownAtThreadExit() {
        // `cancel` closures may ask for the current loop, which is still this one.
        unsafe pthread_setspecific(Self.key, Unmanaged.passUnretained(self).toOpaque())
        _ = progress.begin()
        removeEverything()
        // No callout will follow. The handler may refer to the loop, which would then never be freed.
        abandonHandler.set(nil)
        progress.endForEver()
        pthread_setspecific(Self.key, nil)
        hf_loop_events_release()
        lock.disown()
    }

    /// Removes all items: sources are told, timers and observers stay valid, blocks are released without being run.
    private func removeEverything() {
        var released: [any LoopItem] = []
        var droppedBlocks = BlockList()
        var droppedPerforms: [QueuedBlock] = []
        var withdrawn: [Withdrawal] = []
        let left = lock.withLock { () -> [(item: any LoopItem, mode: LoopMode)] in
            withdrawn = withdrawals.removeAll(of: self)
            released = modes.close()
            abandonHandler.close()
            for item in released {
                item.withItemLock { item.memberships.endCommon(of: self) }
            }
            droppedBlocks = blocks.close()
            droppedPerforms = blocks.unlistAll()
            var left: [(item: any LoopItem, mode: LoopMode)] = []
            for mode in modes.all.sorted(by: { $0.number < $1.number }) {
                var items: [any LoopItem] = []
                mode.visitItems { items.append($0) }
                for item in items where take(item, outOf: mode) {
                    left.append((item, mode))
                }
            }
            return left
        }
        // Done first: a `cancel` closure may wait for a thread that waits for one of them.
        while let block = droppedBlocks.popFirst() { block.drop() }
        for block in droppedPerforms { block.drop() }
        for (item, mode) in left {
            item.didLeave(mode, of: self)
        }
        for item in left.map(\.item) + withdrawn.map(\.item) {
            (item as? PortSource)?.noteEndOfLoop()
        }
        stackPool.destroyAll()
        released.removeAll()
        withdrawn.removeAll()
    }
}

/// The behaviour of a loop in a child of `fork` that has not called exec.
///
/// The child has copies of the descriptors, but they name the same epoll instances and the same eventfd: whatever it did with them would
/// reach the parent. And the child has one thread: a lock that another thread held is never released. So a loop that was made before the
/// fork does not work in the child. Calls that would use it end the process with a message; calls that only take something down do nothing.
/// `HostRunLoop.current` and `HostRunLoop.main` are new loops there.
extension HostRunLoop {
    /// Whether the loop was made before this process was forked off.
    ///
    /// Callable from any thread. Asked by nearly every call, so without a call of `ForkCount`.
    package var isInheritedByFork: Bool {
        @inline(__always) get { hf_fork_count() != madeAtFork }
    }

    /// Ends the process if the loop belongs to the parent.
    ///
    /// - Parameter use: The use of the loop, as a verb.
    @inline(__always)
    func requireOwnProcess(to use: StaticString) {
        if isInheritedByFork {
            Misuse.endProcessForInheritedLoop(use)
        }
    }

    /// The main thread's loop in the process that was not forked.
    private static let original = HostRunLoop(isMain: true)
    /// The address of the main thread's loop in a forked child, which is never released.
    ///
    /// Not protected by a lock: one that another thread held during the fork is held for ever.
    private static let ofChild = Atomic<UInt>(0)

    /// The main thread's loop in this process.
    static var ofMainThread: HostRunLoop {
        original.isInheritedByFork ? ofMainThreadOfChild : original
    }

    private static var ofMainThreadOfChild: HostRunLoop {
        let address = ofChild.load(ordering: .acquiring)
        if let loop = loop(at: address), !loop.isInheritedByFork { return loop }
        let new = unsafe Unmanaged.passRetained(HostRunLoop(isMain: true))
        let (isFirst, present) = ofChild.compareExchange(
            expected: address,
            desired: unsafe UInt(bitPattern: new.toOpaque()),
            ordering: .acquiringAndReleasing
        )
        if !isFirst, let loop = loop(at: present) {
            unsafe new.release()
            return loop
        }
        return unsafe new.takeUnretainedValue()
    }

    private static func loop(at address: UInt) -> HostRunLoop? {
        guard let pointer = unsafe UnsafeRawPointer(bitPattern: address) else { return nil }
        return unsafe Unmanaged<HostRunLoop>.fromOpaque(pointer).takeUnretainedValue()
    }
}
