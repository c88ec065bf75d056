internal import CCrashCapture

/// Threads that nobody shall wait for.
extension CrashCapture {
    /// Has all threads of the process give way to others, for ever, because another process serves.
    package static func leaveProcessors() { hf_async_all_give_way(HF_WAY_AT_ONCE) }

    /// How a thread gives way to others; each way includes those before.
    package enum Way {
        /// It does not preempt them.
        case atWake
        /// They preempt it when they wake up.
        case atOnce
        /// It has a tenth of their share where processors are scarce.
        case withShare
    }

    /// Has the calling thread give way to others, for ever (sched(7)).
    ///
    /// Threads that it starts are like it.
    package static func giveWay(_ way: Way) {
        switch way {
        case .atWake: hf_async_give_way(HF_WAY_AT_WAKE)
        case .atOnce: hf_async_give_way(HF_WAY_AT_ONCE)
        case .withShare: hf_async_give_way(HF_WAY_WITH_SHARE)
        }
    }
}
