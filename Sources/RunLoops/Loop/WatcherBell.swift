import LinuxSystem
import Synchronization

extension HostRunLoop.Progress {
    /// Where the one who watches loops sleeps while there is nothing to see.
    ///
    /// A process has one watcher. It costs a watched loop that wakes a load, and a system call if the watcher sleeps.
    package enum WatcherBell {
        /// 1 while the watcher is about to sleep, or sleeps, until a loop becomes busy.
        private static let word = Atomic<UInt32>(0)

        /// Sleeps until a loop becomes busy, `ring()` is called, or the time has come; may return for no reason.
        ///
        /// For the watcher's thread.
        ///
        /// - Parameters:
        ///   - deadline: Nanoseconds on the monotonic clock; `Int64.max` for never.
        ///   - isNeeded: Whether there is something to see all the same, asked when loops ring already.
        package static func sleep(before deadline: Int64 = .max, unless isNeeded: () -> Bool) {
            word.store(1, ordering: .sequentiallyConsistent)
            if !isNeeded() { Futex.wait(on: word, while: 1, before: deadline) }
            word.store(0, ordering: .relaxed)
        }

        /// Ends the watcher's sleep, if it sleeps until a loop becomes busy.
        package static func ring() {
            guard word.load(ordering: .sequentiallyConsistent) != 0,
                word.exchange(0, ordering: .acquiringAndReleasing) != 0
            else { return }
            Futex.wakeOne(waitingOn: word)
        }
    }
}
