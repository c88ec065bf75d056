internal import CCrashCapture

extension ThreadSampler {
    /// Has a thread stand still whose callout takes too long, unless what the kernel says of it speaks against that.
    ///
    /// - Returns: Whether it stands still; if not, the attempt says why.
    func stopOverdue(
        _ look: UnsafeMutablePointer<HFThreadLook>,
        _ attempt: UnsafeMutablePointer<HFInterruption>,
        hasWalker: Bool
    ) -> Bool {
        let obstacle = hf_async_sampling_obstacle()
        unsafe look.pointee.obstacle = obstacle
        guard obstacle == UInt32(HF_SAMPLING_DONE), hasWalker else {
            unsafe attempt.pointee.outcome = UInt32(HF_INTERRUPTION_IMPOSSIBLE)
            return false
        }
        let entry = unsafe lookedEntry(look)
        unsafe hf_async_describe_thread(entry)
        if unsafe !attempt.pointee.is_last, unsafe !isWorthwhile(entry, attempt) { return false }
        unsafe attempt.pointee.outcome = UInt32(HF_INTERRUPTION_SILENT)
        let index = hf_async_overdue_index()
        let now = hf_async_monotonic_nanoseconds()
        // What is judged may have files read.
        guard unsafe hf_async_ask_overdue_thread(entry, now + 10 * Self.overduePatience) else { return false }
        waitFor(index, since: now, atMost: Self.overduePatience)
        guard unsafe hf_async_begin_walk(index, entry) != nil else {
            hf_async_release_thread(index)
            return false
        }
        unsafe hf_async_copy_callout(index, lookedCallout(look))
        // Without frames, but with a callout.
        unsafe entry.pointee.outcome = UInt32(HF_THREAD_WALK_BROKEN)
        unsafe attempt.pointee.outcome = UInt32(HF_INTERRUPTION_NOT_NOW)
        return true
    }

    /// Whether a thread may be somewhere now where it can be abandoned: a system call that a signal ends is not ended in vain.
    private func isWorthwhile(
        _ entry: UnsafeMutablePointer<HFThreadEntry>,
        _ attempt: UnsafeMutablePointer<HFInterruption>
    ) -> Bool {
        let number = unsafe entry.pointee.system_call
        guard number >= 0 else { return true }
        guard hf_async_is_plain_system_call(number) else { return false }
        let place = unsafe hf_async_kernel_place(entry.pointee.id)
        guard place != 0 else { return true }
        let wasThere = unsafe attempt.pointee.place == place
        unsafe attempt.pointee.place = place
        return !wasThere
    }
}
