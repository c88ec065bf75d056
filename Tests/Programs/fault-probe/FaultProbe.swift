import FaultInjection
import Glibc

/// A program that commits a cause with nobody there to handle it: `fault-probe CAUSE`, or that takes its time while signals interrupt it:
/// `fault-probe stall KIND MILLISECONDS`.
///
/// After a stall it says how many milliseconds went by, and how many signals came. It exits with 0 when a fault came back.
@main
enum FaultProbe {
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.count == 1, let cause = Cause(name: arguments[0]) {
            // What is looked at is the signal; this program has no Foundation.
            Hazard.lockingCondition = { $0() }
            cause.commit()
        } else if arguments.count == 3, arguments[0] == "stall", let stall = InjectedStall(rawValue: arguments[1]),
            let milliseconds = Int(arguments[2])
        {
            InterruptedStall.play(stall, milliseconds: milliseconds)
        } else {
            exit(EX_USAGE)
        }
    }
}

/// A stall of a thread that a signal interrupts every millisecond.
enum InterruptedStall {
    /// Signals so far.
    ///
    /// Protected by: only the handler changes it, and it is read when no more signals come.
    private nonisolated(unsafe) static var signals = 0

    static func play(_ stall: InjectedStall, milliseconds: Int) {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in InterruptedStall.signals += 1 }
        // Without SA_RESTART (sigaction(2)): a system call that is interrupted fails.
        action.sa_flags = 0
        sigaction(SIGALRM, &action, nil)
        let millisecond = timeval(tv_sec: 0, tv_usec: 1000)
        var setting = itimerval(it_interval: millisecond, it_value: millisecond)
        setitimer(__itimer_which_t(ITIMER_REAL.rawValue), &setting, nil)
        let start = ContinuousClock.now
        stall.commit(milliseconds: milliseconds)
        let elapsed = ContinuousClock.now - start
        setting = itimerval()
        setitimer(__itimer_which_t(ITIMER_REAL.rawValue), &setting, nil)
        print(Int(elapsed / .milliseconds(1)), signals)
    }
}
