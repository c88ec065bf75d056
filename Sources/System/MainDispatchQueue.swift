import CLinuxShims

/// The main dispatch queue, as far as a run loop hosts it.
public enum MainDispatchQueue {
    /// Whether the process has libdispatch.
    public static var isPresent: Bool { hf_has_main_queue() }

    /// Binds the main queue to a run loop and returns the eventfd that is readable while the queue has work.
    ///
    /// - Returns: A descriptor that belongs to libdispatch, or `nil` when the process has no libdispatch.
    public static func handle() -> CInt? {
        let handle = hf_main_queue_handle()
        return handle >= 0 ? handle : nil
    }

    /// Runs what is queued.
    ///
    /// To be called on the main thread, never from inside itself.
    public static func drain() {
        hf_main_queue_drain()
    }
}
