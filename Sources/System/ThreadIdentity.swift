import CLinuxShims

/// What the calling thread is to the kernel.
public enum ThreadIdentity {
    /// Whether the calling thread is the one that the process started with.
    public static var isMain: Bool { hf_is_main_thread() }

    /// The identifier of the calling thread, which no other thread of the machine has now.
    ///
    /// The corresponding C function is `gettid`.
    public static var id: CInt { hf_thread_id() }

    /// Names the calling thread, as `/proc` and debuggers show it.
    ///
    /// - Parameter name: The name; what goes beyond 15 bytes is cut off between two characters.
    public static func setName(_ name: String) {
        // TASK_COMM_LEN of the kernel is 16, with the NUL.
        var short = name
        while short.utf8.count > 15 {
            short.removeLast()
        }
        unsafe hf_thread_set_name(short)
    }
}
