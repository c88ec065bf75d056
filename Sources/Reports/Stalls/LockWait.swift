/// Tells a thread that waits for a lock from one that waits for anything else.
package enum LockWait {
    /// Parts of the names of functions that return only with a lock: of glibc, of Swift's `Synchronization`, of libdispatch, of libstdc++.
    private static let names = [
        "pthread_mutex_lock", "pthread_mutex_timedlock", "pthread_mutex_clocklock", "lll_lock_wait",
        "pthread_rwlock_rdlock", "pthread_rwlock_wrlock", "pthread_rwlock_timed", "pthread_rwlock_clock", "mtx_lock",
        "_MutexHandle", "_dispatch_unfair_lock_lock", "_dispatch_sync_f_slow", "__DISPATCH_WAIT_FOR_QUEUE__",
        "_dispatch_once_wait", "__cxa_guard_acquire",
    ]
    /// Frames that are looked at: the wait itself lies inside.
    private static let depth = 8

    /// Whether it does, by the names of its calls.
    ///
    /// - Parameters:
    ///   - systemCall: The name of the system call that it is in; every lock of user space waits in `futex`.
    ///   - frames: Its stack, the innermost frame first.
    /// - Returns: False where the names are not known.
    package static func isOne(systemCall: String?, frames: [CrashReport.Frame]) -> Bool {
        guard systemCall == "futex" else { return false }
        return frames.prefix(depth).contains { frame in
            guard let function = frame.function ?? frame.rawName else { return false }
            return names.contains(where: function.contains)
        }
    }
}
