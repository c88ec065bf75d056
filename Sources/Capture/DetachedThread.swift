internal import CCrashCapture
internal import LinuxSystem
package import SystemPackage

/// A thread of Holdfast's own, outside of all pools that nobody joins, with a guarded signal stack, and with few signals unblocked.
package enum DetachedThread {
    /// Starts a thread.
    ///
    /// - Parameters:
    ///   - name: Its name, for reports; up to 15 bytes count.
    ///   - withoutFaultSignals: Whether it begins with the fault signals blocked, too: another process may send one at any time, and the
    ///     kernel chooses a thread for it.
    ///   - body: What it runs; the thread ends with it.
    /// - Throws: The error of pthread_create(3).
    package static func start(
        name: String,
        withoutFaultSignals: Bool = false,
        _ body: @escaping @Sendable () -> Void
    ) throws(Errno) {
        let mask = hf_signal_block_for_service(withoutFaultSignals)
        defer { hf_signal_set_mask(mask) }
        _ = try NativeThread(name: name) {
            // Without a signal stack, an overflow of this thread's stack has no record. Nothing else depends on it.
            _ = hf_capture_prepare_thread()
            hf_own_thread_begin()
            body()
            hf_own_thread_end()
        }
    }

    /// Waits for work: meanwhile a fault of another thread does not look at this one.
    ///
    /// On any thread; says nothing of those that `start` has not started.
    package static func rest<Value>(_ wait: () -> Value) -> Value {
        hf_own_thread_rests(true)
        defer { hf_own_thread_rests(false) }
        return wait()
    }
}
