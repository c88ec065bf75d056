import CCrashCapture
import Glibc
import TestSupport
import Testing

/// Whether a debugger holds the process.
@Suite(.timeLimit(.minutes(10))) struct TracerTests {
    @Test func `A process knows whether it is traced`() async {
        await #expect(processExitsWith: .success) {
            #expect(!hf_async_is_traced())
            // Its arguments vary, so that Swift cannot call it by its declaration. PTRACE_TRACEME is 0: this thread, by whoever
            // started the process.
            typealias Trace = @convention(c) (CInt, CInt, Int, Int) -> Int
            let symbol = try #require(dlsym(nil, "ptrace"))
            #expect(unsafeBitCast(symbol, to: Trace.self)(0, 0, 0, 0) == 0)
            #expect(hf_async_is_traced())
            _exit(0)
        }
    }
}
