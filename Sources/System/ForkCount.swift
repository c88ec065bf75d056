import CLinuxShims

/// Tells a process from its forked children.
public enum ForkCount {
    /// Begins to count, once per process.
    ///
    /// The corresponding C function is `pthread_atfork`.
    public static func watch() {
        hf_fork_count_watch()
    }

    /// How many forks lie between the process that began to count and this one.
    ///
    /// If something was made at one number and is used at another, it was inherited.
    @inline(__always)
    public static var current: UInt32 { hf_fork_count() }
}
