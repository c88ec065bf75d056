internal import CCrashCapture

/// When threads whose faults restart the process may do so.
extension CrashCapture {
    /// When the main loop must have drained, in nanoseconds of the monotonic clock: the threads that wait for it go by the same time.
    ///
    /// Meaningful once a decision with `drains` was handed over.
    public static var drainDeadline: Int64 { Int64(clamping: hf_capture_drain_deadline()) }

    /// Tells the threads whose faults wait for the main loop to drain that it has.
    ///
    /// They carry out their verdicts at once.
    public func endDrain() {
        hf_capture_end_drain()
    }

    /// Has no fault restart the process any more, because it was told to end; threads that waited for a drain stand still from then on.
    ///
    /// Callable from any thread. A second call finds nothing new.
    ///
    /// - Returns: The slots of the faults that were to restart the process after a drain: nobody else makes their reports.
    public func forgoRestart() -> [UInt32] {
        hf_capture_forgo_restart()
        let count = unsafe spool.assumingMemoryBound(to: HFSpoolHeader.self).pointee.slot_count
        return (0..<count).filter { hf_capture_forgo_restart_of($0) }
    }

    /// Lets faults to come restart the process again, after a drain of their own.
    public func allowRestart() {
        hf_capture_allow_restart()
    }

    /// Sets how long no fault restarts the process, whatever thread faults: it stands still until then.
    ///
    /// - Parameter end: In nanoseconds of the monotonic clock.
    public func deferRestarts(until end: Int64) {
        hf_capture_set_earliest_restart(UInt64(max(0, end)))
    }

    /// Whether a thread that faulted waits until it may restart the process.
    public var awaitsRestart: Bool { hf_capture_awaits_restart() }

    /// Whether a thread that faulted stands still because the process was told to end, with whatever it holds.
    public var hasThreadThatStandsStill: Bool { hf_capture_stands_still() }
}
