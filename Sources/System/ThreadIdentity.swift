import CLinuxShims

/// The kernel's view of the calling thread.
public enum ThreadIdentity {
    /// Whether the calling thread is the process's first.
    public static var isMain: Bool { hf_is_main_thread() }

    /// The id of the calling thread, which no other thread of the machine has now.
    ///
    /// The corresponding C function is `gettid`.
    public static var id: CInt { hf_thread_id() }

    /// Names the calling thread, as `/proc` and debuggers show it.
    ///
    /// - Parameter name: The name, cut between two characters after 15 bytes at most.
    public static func setName(_ name: String) {
        // TASK_COMM_LEN of the kernel is 16, with the NUL.
        var short = name
        while short.utf8.count > 15 {
            short.removeLast()
        }
        unsafe hf_thread_set_name(short)
    }

    /// Has the calling thread give way to others, for ever: it does not preempt them, and has slices of its own (sched(7), SCHED_BATCH).
    ///
    /// - Parameter slice: How long it may run before another thread that woke up does, in nanoseconds; 100,000 at least. A kernel before
    ///   6.12 has slices of 3 ms, whatever is asked for.
    public static func giveWay(slice: UInt64) { hf_thread_give_way(slice) }
}
