import LinuxSystem
import Synchronization

/// What a loop does in a child of `fork` that did not exec.
///
/// The child has copies of the descriptors, but they name the same epoll instances and the same eventfd: what it did with
/// them would reach the parent. And it has one thread: a lock that another one held is never released. So a loop that was
/// made before the fork serves nobody in the child. What would use it ends in an error that says so; what would only take
/// something down does nothing. `HostRunLoop.current` and `HostRunLoop.main` are new loops there.
extension HostRunLoop {
    /// Whether the loop was made before this process was forked off.
    ///
    /// Callable from any thread.
    public var isInheritedByFork: Bool {
        @inline(__always) get { ForkCount.current != madeAtFork }
    }

    /// Ends the process if the loop belongs to the parent.
    ///
    /// - Parameter use: What was to be done with the loop, as a verb.
    @inline(__always)
    func requireOwnProcess(to use: StaticString) {
        if isInheritedByFork {
            Misuse.endProcessForInheritedLoop(use)
        }
    }

    /// The loop of the main thread in the process that began.
    private static let original = HostRunLoop(isMain: true)
    /// The address of the loop of the main thread in a forked child, which is never released.
    ///
    /// No lock: one that another thread held during the fork is held for ever.
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
