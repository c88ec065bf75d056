internal import CCrashCapture

/// Interrupting callouts that run for longer than their deadline.
extension CrashThread {
    /// Has a callout's thread stand still, and sends it the way of a fault if it may be abandoned where it stands.
    ///
    /// Whoever is not sent goes on as if nothing had been.
    func interrupt(_ look: UnsafeMutablePointer<HFThreadLook>) {
        guard let attempt = unsafe look.pointee.interruption else { return }
        unsafe attempt.pointee.outcome = UInt32(HF_INTERRUPTION_NOT_NOW)
        // Whoever finds no room for a record is not resumed, and this one did nothing wrong.
        guard unsafe attempt.pointee.is_last || hf_capture_has_room() else { return }
        guard unsafe sampler.stopOverdue(look, attempt, hasWalker: walker != nil) else { return }
        guard unsafe hf_async_is_same_callout(attempt) else {
            unsafe attempt.pointee.outcome = UInt32(HF_INTERRUPTION_GONE)
            hf_async_release_thread(hf_async_overdue_index())
            return
        }
        let isLast = unsafe attempt.pointee.is_last
        if unsafe isLast || mayBeAbandoned(hf_async_interrupted_record()) {
            let isInterrupted = unsafe hf_async_interrupt_thread(attempt.pointee.deadline)
            unsafe attempt.pointee.outcome = UInt32(
                isInterrupted ? HF_INTERRUPTION_DONE : HF_INTERRUPTION_SILENT
            )
        } else {
            hf_async_release_thread(hf_async_overdue_index())
        }
    }

    /// Whether the verdict would be to abandon the callout of a thread that stands still.
    func mayBeAbandoned(_ record: UnsafeMutablePointer<HFRecord>) -> Bool {
        var fault = unsafe walkAndSummarize(record)
        guard fault.mayBeResumed, mayAbandon(fault) else { return false }
        unsafe lookForInitialiser(record, &fault)
        unsafe lookForMutex(record, &fault)
        return !fault.isInLockFrame && !fault.isInInitialiser
    }
}
