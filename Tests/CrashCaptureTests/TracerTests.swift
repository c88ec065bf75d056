import CCrashCapture
import Glibc
import RecoveryTestSupport
import TestSupport
import Testing

/// Whether a debugger holds the process.
@Suite(.timeLimit(.minutes(10))) struct TracerTests {
    /// In a child of the child: whoever traces a thread has to wait for it (ptrace(2)), and the test runner, which waits for processes
    /// only, would be told of a dead thread for ever.
    @Test func `A process knows whether it is traced`() async {
        await #expect(processExitsWith: .success) {
            #expect(!hf_async_is_traced())
            let child = hf_test_fork()
            if child == 0 {
                // Its arguments vary, so that Swift cannot call it by its declaration. PTRACE_TRACEME is 0: by the parent.
                typealias Trace = @convention(c) (CInt, CInt, Int, Int) -> Int
                guard let symbol = dlsym(nil, "ptrace"), unsafeBitCast(symbol, to: Trace.self)(0, 0, 0, 0) == 0 else {
                    _exit(2)
                }
                _exit(hf_async_is_traced() ? 0 : 1)
            }
            #expect(hf_test_wait(child) == 0)
        }
    }
}
