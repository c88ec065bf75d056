internal import CCrashCapture
internal import LinuxSystem
package import SystemPackage

/// A thread outside of all pools that nobody joins, with a guarded signal stack, and with few signals unblocked.
package enum DetachedThread {
    /// Starts a thread.
    ///
    /// - Parameters:
    ///   - name: Its name, for reports; up to 15 bytes count.
    ///   - body: What it runs; the thread ends with it.
    /// - Throws: The error of pthread_create(3).
    package static func start(name: String, _ body: @escaping @Sendable () -> Void) throws(Errno) {
        let mask = hf_signal_block_for_service()
        defer { hf_signal_set_mask(mask) }
        _ = try NativeThread(name: name) {
            // Without a signal stack, an overflow of this thread's stack has no record. Nothing else depends on it.
            _ = hf_capture_prepare_thread()
            body()
        }
    }
}
