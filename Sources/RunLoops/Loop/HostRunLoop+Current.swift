import Glibc
import LinuxSystem
import Synchronization

/// One loop per thread, made on first use and taken down with the thread (run-loop items 1, 14 and 15).
extension HostRunLoop {
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let error = unsafe pthread_key_create(&key) { pointer in
            guard let pointer = unsafe pointer else { return }
            let loop = unsafe Unmanaged<HostRunLoop>.fromOpaque(pointer).takeRetainedValue()
            loop.tearDownAtThreadExit()
        }
        precondition(error == 0, "no thread-specific key left for run loops")
        return key
    }()

    /// The main thread's loop.
    public static let main = HostRunLoop(isMain: true)

    /// The calling thread's loop, made now if it has none.
    public static var current: HostRunLoop {
        if let pointer = unsafe pthread_getspecific(key) {
            return unsafe Unmanaged<HostRunLoop>.fromOpaque(pointer).takeUnretainedValue()
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

    private func tearDownAtThreadExit() {
        // `cancel` closures may ask for the current loop: that is still this one.
        unsafe pthread_setspecific(Self.key, Unmanaged.passUnretained(self).toOpaque())
        removeEverything()
        pthread_setspecific(Self.key, nil)
    }

    /// Removes all items: sources are told, timers and observers stay valid, blocks are released unrun.
    private func removeEverything() {
        var released: [any LoopItem] = []
        var releasedBlocks: [QueuedBlock] = []
        let left = lock.withLock { () -> [(item: any LoopItem, mode: LoopMode)] in
            isTornDown = true
            released = Array(commonItems.values)
            commonItems = [:]
            swap(&releasedBlocks, &blocks)
            blockCount.store(0, ordering: .releasing)
            var left: [(item: any LoopItem, mode: LoopMode)] = []
            for mode in modes.values {
                var items: [any LoopItem] = []
                mode.sources.visitAll { items.append($0) }
                mode.ports.visitAll { items.append($0) }
                mode.timers.visitAll { items.append($0) }
                items.append(contentsOf: mode.observers as [any LoopItem])
                for item in items where take(item, outOf: mode) {
                    left.append((item, mode))
                }
            }
            return left
        }
        for (item, mode) in left {
            item.didLeave(mode, of: self)
        }
        stackPool.destroyAll()
        released.removeAll()
        releasedBlocks.removeAll()
    }
}
