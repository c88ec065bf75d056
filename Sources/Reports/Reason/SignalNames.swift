/// Names for numbers of signals and of their causes, as Linux on x86-64 has them.
package enum SignalNames {
    /// Names a signal.
    ///
    /// - Parameter number: The number of the signal.
    /// - Returns: Such as `SIGSEGV`, `SIGRTMIN+3`, or `signal 99` for a number that is no signal.
    package static func signal(_ number: Int) -> String {
        if (1...standard.count).contains(number) { return "SIG" + standard[number - 1] }
        // glibc keeps 32 and 33 for itself.
        if (34...64).contains(number) { return number == 34 ? "SIGRTMIN" : "SIGRTMIN+\(number - 34)" }
        return "signal \(number)"
    }

    /// Names the cause of a signal.
    ///
    /// - Parameters:
    ///   - number: The `si_code`.
    ///   - signal: The number of the signal, on which the meaning of positive codes depends.
    /// - Returns: Such as `SEGV_MAPERR`, or the number again where it has no name.
    package static func code(_ number: Int, ofSignal signal: Int) -> String {
        if let name = generalCodes[number] { return name }
        guard let family = families[signal], (1...family.codes.count).contains(number) else { return String(number) }
        return "\(family.prefix)_\(family.codes[number - 1])"
    }

    /// In the order of `asm/signal.h`, from 1.
    private static let standard = [
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM",
        "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF",
        "WINCH", "IO", "PWR", "SYS",
    ]

    /// Codes that every signal can have.
    private static let generalCodes = [
        0: "SI_USER", -1: "SI_QUEUE", -2: "SI_TIMER", -3: "SI_MESGQ", -4: "SI_ASYNCIO", -5: "SI_SIGIO",
        -6: "SI_TKILL", -7: "SI_DETHREAD", -60: "SI_ASYNCNL", 0x80: "SI_KERNEL",
    ]

    /// Codes of one signal, in the order of `asm-generic/siginfo.h`, from 1.
    private static let families: [Int: (prefix: String, codes: [String])] = [
        4: ("ILL", ["ILLOPC", "ILLOPN", "ILLADR", "ILLTRP", "PRVOPC", "PRVREG", "COPROC", "BADSTK", "BADIADDR"]),
        5: ("TRAP", ["BRKPT", "TRACE", "BRANCH", "HWBKPT", "UNK", "PERF"]),
        7: ("BUS", ["ADRALN", "ADRERR", "OBJERR", "MCEERR_AR", "MCEERR_AO"]),
        8: (
            "FPE",
            [
                "INTDIV", "INTOVF", "FLTDIV", "FLTOVF", "FLTUND", "FLTRES", "FLTINV", "FLTSUB", "DECOVF", "DECDIV",
                "DECERR", "INVASC", "INVDEC", "FLTUNK", "CONDTRAP",
            ]
        ),
        11: (
            "SEGV",
            [
                "MAPERR", "ACCERR", "BNDERR", "PKUERR", "ACCADI", "ADIDERR", "ADIPERR", "MTEAERR", "MTESERR", "CPERR",
            ]
        ),
        17: ("CLD", ["EXITED", "KILLED", "DUMPED", "TRAPPED", "STOPPED", "CONTINUED"]),
        29: ("POLL", ["IN", "OUT", "MSG", "ERR", "PRI", "HUP"]),
        31: ("SYS", ["SECCOMP", "USER_DISPATCH"]),
    ]
}
