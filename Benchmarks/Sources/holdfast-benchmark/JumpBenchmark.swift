import CRecoveryPoint
import FaultInjection
import Glibc

/// What a signal and a jump cost alone: the least that any way of coming back from a fault takes.
///
/// The handler does nothing but to rewrite the ucontext to the landing of a recovery point: no record, no walk, no verdict.
struct JumpBenchmark {
    let rounds: Int

    /// Times from the fault to what follows it, in nanoseconds; has to come before a host has handlers.
    func measure() -> Sample {
        let altStack = UnsafeMutableRawPointer.allocate(byteCount: 64 * 1024, alignment: 4096)
        defer { unsafe altStack.deallocate() }
        var new = unsafe stack_t(ss_sp: altStack, ss_flags: 0, ss_size: 64 * 1024)
        var old = unsafe stack_t()
        unsafe sigaltstack(&new, &old)
        defer { unsafe sigaltstack(&old, nil) }
        var action = sigaction()
        unsafe action.__sigaction_handler.sa_sigaction = jump
        action.sa_flags = SA_SIGINFO | SA_ONSTACK
        var previous = sigaction()
        unsafe sigaction(SIGILL, &action, &previous)
        defer { unsafe sigaction(SIGILL, &previous, nil) }

        var info = unsafe HFCalloutInfo()
        let body: HFBody = { _ in
            unsafe faultTime = now()
            Fault.nilUnwrap.commit()
        }
        var times: [Double] = []
        for _ in 0..<rounds {
            guard let stack = unsafe hf_callout_stack_create(64 * 1024) else { break }
            _ = unsafe hf_recovery_run(stack, &info, body, nil)
            unsafe times.append(now() - faultTime)
            _ = unsafe hf_callout_stack_bury(stack)
        }
        return Sample(Array(times.dropFirst(times.count / 10)))
    }
}

/// When the last fault began.
///
/// Protected by: one thread.
private nonisolated(unsafe) var faultTime = 0.0

/// Sends the thread to its recovery point.
private func jump(_ signal: CInt, _ info: UnsafeMutablePointer<siginfo_t>?, _ context: UnsafeMutableRawPointer?) {
    // The two together read what is current.
    let point = unsafe hf_recovery_suspend()
    unsafe hf_recovery_restore(point)
    guard let point = unsafe point, let context = unsafe context?.assumingMemoryBound(to: ucontext_t.self) else {
        _exit(70)
    }
    unsafe withUnsafeMutableBytes(of: &context.pointee.uc_mcontext.gregs) { bytes in
        let registers = unsafe bytes.bindMemory(to: UInt.self)
        // sys/ucontext.h: 16 is rip, 15 rsp, 10 rbp.
        unsafe point.pointee.stack.pointee.abandoned_at = registers[15]
        unsafe registers[16] = UInt(hf_recovery_landing_address())
        unsafe registers[15] = UInt(hf_recovery_stack_pointer(point))
        unsafe registers[10] = UInt(hf_recovery_frame_pointer(point))
    }
}
