import Glibc
import RunLoops
import SystemPackage
import TestSupport
import Testing

/// What libuv asserts of signals (test-signal*.c), with the kernel's own way to wait for them.
///
/// A signalfd(2) is a descriptor like others. Signals are sent to the thread that blocks them, so that tests do not meet.
///
/// Left out: several watchers of one signal in one loop, which is for whoever reads the signalfd to hand out; the rest of
/// `fork_*`, which asserts that a loop is of use in a forked child.
@Suite("libuv's tests: signals", .timeLimit(.minutes(10)))
struct LibuvSignalTests {
    /// A signalfd of the thread that made it, which blocks its signals.
    private final class SignalDescriptor: Sendable {
        let rawValue: CInt

        init(_ signals: [CInt]) {
            var set = sigset_t()
            sigemptyset(&set)
            for signal in signals { sigaddset(&set, signal) }
            pthread_sigmask(SIG_BLOCK, &set, nil)
            // The overlay has no signalfd(2).
            typealias Function = @convention(c) (CInt, UnsafePointer<sigset_t>, CInt) -> CInt
            let address = dlsym(nil, "signalfd")
            rawValue = unsafeBitCast(address, to: Function.self)(-1, &set, O_NONBLOCK | O_CLOEXEC)
            precondition(rawValue >= 0, "no signalfd")
        }

        deinit {
            close(rawValue)
        }

        /// Takes a signal, if one is pending.
        func take() -> CInt? {
            // A signalfd_siginfo has 128 bytes and begins with the number.
            var bytes = [UInt32](repeating: 0, count: 32)
            guard read(rawValue, &bytes, 128) == 128 else { return nil }
            return CInt(bytes[0])
        }

        /// Makes a source that takes a signal in every callout.
        func portSource(_ perform: @escaping @Sendable (CInt) -> Void) -> HostRunLoop.PortSource {
            HostRunLoop.PortSource(label: "signal", descriptor: FileDescriptor(rawValue: rawValue)) { [self] _, _ in
                if let signal = take() { perform(signal) }
            }
        }
    }

    private func sendToThisThread(_ signal: CInt) {
        precondition(pthread_kill(pthread_self(), signal) == 0)
    }

    @Test("we_get_signal: a signal arrives each time that it is sent")
    func signal() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let signals = SignalDescriptor([SIGUSR1])
            let source = signals.portSource { signal in
                trace.add("\(signal == SIGUSR1)")
                if trace.entries.count < 3 { sendToThisThread(SIGUSR1) } else { loop.stop() }
            }
            try loop.add(source)
            sendToThisThread(SIGUSR1)
            loop.run(in: .default, for: .seconds(20))
            source.invalidate()
            return trace.entries
        }
        #expect(entries == ["true", "true", "true"])
    }

    @Test("we_get_signals, mixed: each signal reaches the source that waits for it, once")
    func mixed() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let sources = [SIGUSR1, SIGUSR2].map { wanted in
                SignalDescriptor([wanted]).portSource { signal in trace.add("\(signal == wanted)") }
            }
            for source in sources { try loop.add(source) }
            for signal in [SIGUSR1, SIGUSR2, SIGUSR2] { sendToThisThread(signal) }
            for _ in 0..<5 { loop.run(in: .default, for: .zero) }
            for source in sources { source.invalidate() }
            return trace.entries
        }
        // A standard signal that is pending already is not queued again: signal(7).
        #expect(entries == ["true", "true"])
    }

    @Test("we_get_signal_one_shot: a source that invalidates itself gets one signal; it does not keep the loop alive")
    func oneShot() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let own = Cell<HostRunLoop.PortSource?>(nil)
            let signals = SignalDescriptor([SIGUSR1])
            own.value = signals.portSource { _ in
                trace.add("signal")
                sendToThisThread(SIGUSR1)
                own.value?.invalidate()
            }
            if let source = own.value { try loop.add(source) }
            sendToThisThread(SIGUSR1)
            trace.add("\(loop.run(in: .default, for: .seconds(20)))")
            own.value = nil
            // The second one was left where it was.
            trace.add("\(signals.take() == SIGUSR1)")
            return trace.entries
        }
        #expect(entries == ["signal", "finished", "true"])
    }

    @Test("signal_multiple_loops: each of several loops gets the signals of its thread")
    func multipleLoops() throws {
        let counts = try (0..<3).map { number in
            NewThread { loop in
                let trace = Trace()
                let source = SignalDescriptor([SIGUSR1]).portSource { _ in
                    trace.add("signal")
                    if trace.entries.count <= number { sendToThisThread(SIGUSR1) } else { loop.stop() }
                }
                try loop.add(source)
                sendToThisThread(SIGUSR1)
                loop.run(in: .default, for: .seconds(20))
                source.invalidate()
                return trace.entries.count
            }
        }.map { try $0.join() }
        #expect(counts == [1, 2, 3])
    }

    @Test(
        "signal_pending_on_close, signal_close_loop_alive: a source that is invalidated with a signal pending is not called"
    )
    func pendingOnClose() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let signals = SignalDescriptor([SIGUSR1])
            let source = signals.portSource { _ in trace.add("signal") }
            try loop.add(source)
            sendToThisThread(SIGUSR1)
            source.invalidate()
            trace.add("\(loop.isEmpty(.default)) \(loop.run(in: .default, for: .seconds(20)))")
            return trace.entries
        }
        #expect(entries == ["true finished"])
    }

    @Test("fork_signal_to_child: the loop of a program that was started gets a signal that is sent to the process")
    func signalToChild() throws {
        let process = try ChildProcess(BuiltProduct.path(of: "main-loop-probe"), ["signal"])
        #expect(try process.output.next() == "ready")
        process.kill(SIGUSR1)
        #expect(try process.output.next() == "signal \(SIGUSR1) main")
        #expect(try process.wait() == .exited(0))
    }
}
