import CCrashCapture
import CrashCapture
import Glibc
import LinuxSystem
import Testing

/// Asynchronous signals through their ring, each test in a process of its own: handlers are process-wide.
@Suite(.timeLimit(.minutes(1))) struct SignalEventTests {

    @Test func `Values that were queued come in their order, with their sender`() async {
        await #expect(processExitsWith: .success) {
            let event = try EventDescriptor()
            let signal = __libc_current_sigrtmin() + 3
            try SignalEvents.observe(signal, on: event.rawValue)
            try SignalChild.whileBlocked(signal) {
                for value in 0..<100 { SignalChild.queue(signal, value) }
            }
            for value in 0..<100 {
                let received = try #require(SignalEvents.next())
                #expect(received.signal == signal)
                #expect(received.value == Int64(value))
                // SI_QUEUE
                #expect(received.code == -1)
                #expect(received.senderPid == getpid())
                #expect(received.senderUid == getuid())
                #expect(received.unixNanoseconds > 1_700_000_000_000_000_000)
            }
            #expect(SignalEvents.next() == nil)
            #expect(SignalEvents.takeDropped() == 0)
        }
    }

    @Test func `Each signal is counted on the descriptor`() async {
        await #expect(processExitsWith: .success) {
            let event = try EventDescriptor()
            try SignalEvents.observe(SIGUSR1, on: event.rawValue)
            try SignalChild.whileBlocked(SIGUSR1) {}
            for count in 1...3 {
                // To this thread, so that its handler has returned when this does.
                pthread_kill(pthread_self(), SIGUSR1)
                let received = try #require(SignalEvents.next(), "number \(count)")
                #expect(received.signal == SIGUSR1)
                #expect(received.value == 0)
                #expect(received.senderPid == getpid())
            }
            var sum: UInt64 = 0
            #expect(read(event.rawValue, &sum, 8) == 8)
            #expect(sum == 3)
        }
    }

    @Test func `What finds the ring full is counted, and what is in it stays in order`() async {
        await #expect(processExitsWith: .success) {
            let event = try EventDescriptor()
            let signal = __libc_current_sigrtmin() + 4
            try SignalEvents.observe(signal, on: event.rawValue)
            try SignalChild.whileBlocked(signal) {
                for value in 0..<300 { SignalChild.queue(signal, value) }
            }
            for value in 0..<256 { #expect(SignalEvents.next()?.value == Int64(value)) }
            #expect(SignalEvents.next() == nil)
            #expect(SignalEvents.takeDropped() == 44)
            #expect(SignalEvents.takeDropped() == 0)
        }
    }

    @Test func `The ring goes round many times`() async {
        await #expect(processExitsWith: .success) {
            let event = try EventDescriptor()
            let signal = __libc_current_sigrtmin() + 5
            try SignalEvents.observe(signal, on: event.rawValue)
            var expected = 0
            for round in 0..<20 {
                let count = 100 + round
                try SignalChild.whileBlocked(signal) {
                    for value in 0..<count { SignalChild.queue(signal, expected + value) }
                }
                for _ in 0..<count {
                    #expect(SignalEvents.next()?.value == Int64(expected))
                    expected += 1
                }
                #expect(SignalEvents.next() == nil)
            }
            #expect(SignalEvents.takeDropped() == 0)
        }
    }

    @Test(arguments: [SIGSEGV, SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGTRAP, SIGKILL, SIGSTOP, 0, 65, -1])
    func `Faults and what belongs to the kernel cannot be observed`(signal: CInt) {
        let error = #expect(throws: CrashCaptureError.self) { try SignalEvents.observe(signal, on: STDERR_FILENO) }
        #expect(error?.code == .signal)
    }
}

/// What the children do with signals.
enum SignalChild {
    /// Blocks a signal in this thread while it is sent, then lets in what is pending: the thread that runs an exit test's body
    /// may block it anyway.
    static func whileBlocked(_ signal: CInt, _ send: () -> Void) throws {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, signal)
        try #require(pthread_sigmask(SIG_BLOCK, &set, nil) == 0)
        send()
        try #require(pthread_sigmask(SIG_UNBLOCK, &set, nil) == 0)
    }

    private typealias Queue = @convention(c) (pthread_t, CInt, sigval) -> CInt

    /// Sends a signal with a value to this very thread: pthread_sigqueue(3), which the overlay lacks.
    static func queue(_ signal: CInt, _ value: Int) {
        guard let symbol = dlsym(nil, "pthread_sigqueue") else { preconditionFailure("no pthread_sigqueue") }
        let function = unsafeBitCast(symbol, to: Queue.self)
        let result = function(pthread_self(), signal, sigval(sival_ptr: UnsafeMutableRawPointer(bitPattern: value)))
        precondition(result == 0)
    }
}
