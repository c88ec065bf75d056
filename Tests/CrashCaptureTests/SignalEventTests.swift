import CCrashCapture
import CrashCapture
import Glibc
import LinuxSystem
import Testing

/// Asynchronous signals through their ring, each test in a process of its own: handlers are process-wide.
@Suite(.timeLimit(.minutes(10))) struct SignalEventTests {

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

    @Test func `What finds no room is counted in the next event of its signal, or in one of its own`() async {
        await #expect(processExitsWith: .success) {
            let event = try EventDescriptor()
            let signal = __libc_current_sigrtmin() + 4
            let other = signal + 1
            try SignalEvents.observe(signal, on: event.rawValue)
            try SignalEvents.observe(other, on: event.rawValue)
            try SignalChild.whileBlocked(signal) {
                for value in 0..<4140 { SignalChild.queue(signal, value) }
            }
            try SignalChild.whileBlocked(other) { for _ in 0..<3 { SignalChild.queue(other, 1) } }
            for value in 0..<4096 {
                let event = SignalEvents.next()
                #expect(event?.value == Int64(value))
                #expect(event?.lost == 0)
                // There is room again: the count comes with what fills it.
                if value == 0 { try SignalChild.whileBlocked(signal) { SignalChild.queue(signal, 9999) } }
            }
            let next = try #require(SignalEvents.next())
            #expect((next.signal, next.value, next.lost) == (signal, 9999, 44))
            #expect(!next.isCountOnly)
            let count = try #require(SignalEvents.next())
            #expect((count.signal, count.lost) == (other, 3))
            #expect(count.isCountOnly)
            #expect(SignalEvents.next() == nil)
        }
    }

    @Test func `The ring goes round many times`() async {
        await #expect(processExitsWith: .success) {
            let event = try EventDescriptor()
            let signal = __libc_current_sigrtmin() + 5
            try SignalEvents.observe(signal, on: event.rawValue)
            var expected = 0
            for round in 0..<100 {
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
        }
    }

    @Test(arguments: [
        (SIGSEGV, "onFault"), (SIGILL, "onFault"), (SIGABRT, "onFault"), (SIGBUS, "onFault"), (SIGFPE, "onFault"),
        (SIGTRAP, "onFault"), (SIGSYS, "onFault"), (SIGKILL, "SIGTERM"), (SIGSTOP, "SIGTERM"),
        (32, "SIGRTMIN"), (33, "SIGRTMIN"), (0, "1 to 64"), (65, "1 to 64"), (-1, "1 to 64"), (CInt.min, "1 to 64"),
    ])
    func `What cannot be observed is refused, with what to do instead`(signal: CInt, advice: String) {
        let error = #expect(throws: CrashCaptureError.self) { try SignalEvents.observe(signal, on: STDERR_FILENO) }
        #expect(error?.code == .signal)
        #expect(error?.description.contains(advice) == true)
    }

    @Test func `Every signal that can be observed is, and given back`() async {
        await #expect(processExitsWith: .success) {
            let event = try EventDescriptor()
            let refused = [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS, SIGKILL, SIGSTOP, 32, 33]
            for signal: CInt in 1...64 where !refused.contains(signal) {
                try SignalEvents.observe(signal, on: event.rawValue)
                pthread_kill(pthread_self(), signal)
                #expect(SignalEvents.next()?.signal == signal)
                SignalEvents.stop(signal)
                var action = sigaction()
                sigaction(signal, nil, &action)
                #expect(unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) <= 1)
            }
            #expect(SignalEvents.next() == nil)
        }
    }

    @Test func `A handler that somebody set meanwhile is left in place`() async {
        await #expect(processExitsWith: .success) {
            let event = try EventDescriptor()
            try SignalEvents.observe(SIGUSR1, on: event.rawValue)
            signal(SIGUSR1) { _ in _exit(3) }
            SignalEvents.stop(SIGUSR1)
            var action = sigaction()
            sigaction(SIGUSR1, nil, &action)
            #expect(unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) > 1)
        }
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
