import FaultInjection
import Glibc
import Holdfast

extension Probe {
    private struct ThreadState: Equatable {
        var blocked: [CInt]
        var stackAddress: UInt
        var stackSize: Int
        var stackFlags: CInt

        static var current: ThreadState {
            var mask = sigset_t()
            pthread_sigmask(SIG_BLOCK, nil, &mask)
            var stack = stack_t()
            sigaltstack(nil, &stack)
            return ThreadState(
                blocked: (1...64).filter { sigismember(&mask, $0) == 1 },
                stackAddress: UInt(bitPattern: stack.ss_sp),
                stackSize: stack.ss_size,
                stackFlags: stack.ss_flags
            )
        }
    }

    /// Faults of several signals; the thread's mask and alternate stack afterwards are those from before.
    func threadState() {
        var blocked = sigset_t()
        sigemptyset(&blocked)
        sigaddset(&blocked, SIGUSR2)
        pthread_sigmask(SIG_BLOCK, &blocked, nil)
        let before = ThreadState.current
        Probe.say("blocked \(before.blocked) stack \(before.stackAddress != 0 && before.stackFlags == 0)")
        for fault in [Fault.nilUnwrap, .nullRead, .divideByZero, .abort, .int3, .nullCall] {
            perform(
                { fault.commit() },
                { Probe.say("\(fault.rawValue) \(ThreadState.current == before ? "same" : "\(ThreadState.current)")") }
            )
        }
        finish()
    }

    /// A nested run whose callout faults goes on, and so does the outer callout; the sweep waits for the top.
    func nestedRun() {
        let loop = host.loop
        var notices = 0
        var hasEnded = false
        /// Ends when both faults were told of and the outer callout is over, whichever is later.
        let finishWhenDone = {
            guard notices == 2, hasEnded else { return }
            self.perform { Probe.say("nesting \(loop.nesting)") }
            self.finish()
        }
        host.onFault { notice in
            Probe.say("notice \(notice.number)")
            notices += 1
            finishWhenDone()
        }
        perform {
            self.perform(
                { Fault.nilUnwrap.commit() },
                {
                    self.perform({ Fault.nullRead.commit() }, { Probe.say("nesting \(loop.nesting)") })
                    loop.run(in: .default, for: .zero)
                    Probe.say("nesting \(loop.nesting)")
                }
            )
            loop.run(in: .default, for: .zero)
            Probe.say("nesting \(loop.nesting)")
            hasEnded = true
            finishWhenDone()
        }
    }

    /// The handler of faults faults itself, once.
    func faultInFaultHandler() {
        host.onFault { notice in
            Probe.say("notice \(notice.number)")
            switch notice.number {
            case 1:
                self.perform { Fault.overflow.commit() }
                Fault.nilUnwrap.commit()
            default: self.host.stop()
            }
        }
        perform { Fault.nullRead.commit() }
    }

    /// The handler of one signal faults while another signal waits.
    func faultInSignalHandler() throws {
        try host.onSignal(SIGUSR1) { _ in
            Probe.say("first")
            Fault.nilUnwrap.commit()
        }
        try host.onSignal(SIGUSR2) { _ in
            Probe.say("second")
            self.host.stop()
        }
        // Both have arrived before the loop serves its ports.
        perform {
            kill(getpid(), SIGUSR1)
            kill(getpid(), SIGUSR2)
        }
        let late = HostRunLoop.Timer(label: "late", after: .seconds(15)) { [host] _ in
            Probe.say("late")
            host.stop()
        }
        host.loop.add(late, to: .common)
    }
}
