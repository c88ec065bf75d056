import FoundationEssentials
import Glibc

/// What the output goes to.
struct Terminal {
    /// How many characters fit in a line; any number when it is no terminal.
    let width: Int?
    /// Whether colours are wanted.
    let usesColor: Bool

    /// What the standard output goes to.
    static var standardOutput: Terminal {
        guard isatty(STDOUT_FILENO) == 1 else { return Terminal(width: nil, usesColor: false) }
        let environment = ProcessInfo.processInfo.environment
        let isRefused = environment["NO_COLOR"].map { !$0.isEmpty } ?? false
        var size = winsize()
        let isKnown = unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
        return Terminal(width: isKnown ? Int(size.ws_col) : 80, usesColor: !isRefused && environment["TERM"] != "dumb")
    }
}
