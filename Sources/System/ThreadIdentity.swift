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
}
