import CLinuxShims

/// What the calling thread is to the kernel.
public enum ThreadIdentity {
    /// Whether the calling thread is the one that the process started with.
    public static var isMain: Bool { hf_is_main_thread() }
}
