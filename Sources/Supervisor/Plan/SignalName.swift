internal import Glibc

/// The names of signals, as signal(7) has them.
package enum SignalName {
    private static let names: KeyValuePairs<String, CInt> = [
        "HUP": SIGHUP, "INT": SIGINT, "QUIT": SIGQUIT, "ILL": SIGILL, "TRAP": SIGTRAP, "ABRT": SIGABRT, "BUS": SIGBUS,
        "FPE": SIGFPE, "KILL": SIGKILL, "USR1": SIGUSR1, "SEGV": SIGSEGV, "USR2": SIGUSR2, "PIPE": SIGPIPE,
        "ALRM": SIGALRM, "TERM": SIGTERM, "STKFLT": SIGSTKFLT, "CHLD": SIGCHLD, "CONT": SIGCONT, "STOP": SIGSTOP,
        "TSTP": SIGTSTP, "TTIN": SIGTTIN, "TTOU": SIGTTOU, "URG": SIGURG, "XCPU": SIGXCPU, "XFSZ": SIGXFSZ,
        "VTALRM": SIGVTALRM, "PROF": SIGPROF, "WINCH": SIGWINCH, "IO": SIGIO, "PWR": SIGPWR, "SYS": SIGSYS,
    ]

    /// The name of a signal, such as `SIGTERM`; nil for a real-time one and for what is none.
    package static func of(_ number: CInt) -> String? {
        names.first { $0.value == number }.map { "SIG\($0.key)" }
    }

    /// The signal of a text: `SIGTERM`, `TERM`, `15`; nil if there is none of that name.
    package static func number(of text: String) -> CInt? {
        if let number = CInt(text) { return (1...64).contains(number) ? number : nil }
        let name = text.uppercased()
        return names.first { $0.key == name || "SIG\($0.key)" == name }?.value
    }

    /// The same for a signal that a program can take: not SIGKILL and SIGSTOP.
    package static func takenNumber(of text: String) -> CInt? {
        number(of: text).flatMap { $0 == SIGKILL || $0 == SIGSTOP ? nil : $0 }
    }
}
