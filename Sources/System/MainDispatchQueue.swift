import CLinuxShims

/// The hooks of the main dispatch queue for a run loop.
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

    /// Runs the queued blocks.
    ///
    /// Call it on the main thread, never from inside itself.
    public static func drain() {
        hf_main_queue_drain()
    }
}
